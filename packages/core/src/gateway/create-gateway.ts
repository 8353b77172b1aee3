import { createCallRecord } from '../accounting/call-record.ts'
import { observe } from '../base/callbacks.ts'
import { GatewayError } from '../base/errors.ts'
import { newId } from '../base/ids.ts'
import { maxTimerMs } from '../base/sleep.ts'
import { isThenable } from '../base/thenable.ts'
import { errorReply } from '../calls/reply.ts'
import { finalErrorGraceMs } from '../calls/timeout-errors.ts'
import type { GatewayConfig } from '../config/config.ts'
import type { Explanation } from '../config/explanation.ts'
import type { Identity } from '../config/identity.ts'
import type { Plugin } from '../config/plugin.ts'
import type { RealtimeOpening, RealtimeSession, RealtimeTransport } from '../config/realtime.ts'
import { fetchTransport } from '../http/fetch-transport.ts'
import type { Inbound, Reply } from '../http/inbound.ts'
import type { Transport } from '../http/transport.ts'
import { requestOf, toInbound, toResponse } from '../http/web-request.ts'
import type { Route, RouteMatch } from '../operations/route.ts'
import { codecFor } from '../operations/routes.ts'
import { preload } from './preload.ts'
import { ActiveCalls, authenticateCall, beginCall, GatewayCall, runCall, transportFor } from './run-call.ts'
import { createSnapshot, warnOfMemory } from './snapshot.ts'

/**
 * Makes a gateway. The configuration is checked here, once; a TypeError says what to write instead.
 * Translators and the checks of bodies (zod) begin to load in the background; a call that comes before them waits for those it
 * needs (docs/decisions/0018).
 *
 * @example
 * const gateway = createGateway({
 *   auth: (token) => (token === process.env.TOKEN ? { id: 'me' } : null),
 *   upstreams: { openai: openai({ apiKey }), claude: anthropic({ apiKey }) },
 *   models: { 'gpt-*': 'openai', 'claude-*': 'claude' },
 * })
 */
export function createGateway<const U extends string, I extends Identity = Identity>(
  options: GatewayConfig<U, I>,
): Gateway {
  // Functions of the configuration get the identities that its own `auth` returned.
  const config = options as GatewayConfig
  /** What calls that arrive now begin under. */
  let current = createSnapshot(config)
  const webTransport = fetchTransport()
  const running = new ActiveCalls()
  let closing: Promise<void> | undefined

  let called = false
  // No async function: it would add a promise to each call.
  const handle: Gateway['handle'] = (inbound, transport = webTransport) => {
    called = true
    const setup = current
    const requestId = newId('req_')
    const found = setup.match(inbound.method, inbound.path)
    const codec = codecFor(found, inbound)
    if (found !== null && closing === undefined) {
      const call = beginCall(running, setup, found, codec, requestId, inbound, transportFor(setup, transport))
      return runCall(call, found)
    }
    const error =
      found === null
        ? new GatewayError('not_found', `There is no ${inbound.method} ${inbound.path.slice(0, 200)} here.`)
        : shuttingDown()
    return Promise.resolve(errorReply(error, codec, requestId))
  }

  const gateway: Gateway = Object.freeze({
    match: (method: string, path: string) => current.match(method, path),
    handle,
    get routes() {
      return current.routes
    },
    async fetch(input: Request | URL | string, init?: RequestInit): Promise<Response> {
      const request = requestOf(input, init)
      const response = toResponse(await handle(toInbound(request)), request.method, request.signal)
      // An SDK that calls this in place of `fetch`, and leaves, expects of it what `fetch` does then.
      if (init?.signal?.aborted) throw init.signal.reason
      return response
    },
    async explain(
      input: Request | URL | string,
      init?: RequestInit,
      options: ExplainOptions = {},
    ): Promise<Explanation> {
      const inbound = toInbound(requestOf(input, init))
      const setup = current
      const found = setup.match(inbound.method, inbound.path)
      if (found?.route.operation !== 'generate' || found.allow !== undefined || found.actions !== undefined)
        throw new GatewayError(
          'not_found',
          `${inbound.method} ${inbound.path} is no generation: there is nothing to explain.`,
        )
      const codec = codecFor(found, inbound)
      const record = createCallRecord('', found.route.operation, codec.format)
      const { signal } = inbound
      const call = new GatewayCall(
        setup,
        found,
        codec,
        inbound,
        record,
        transportFor(setup, webTransport),
        signal,
        () => {},
      )
      await authenticateCall(call)
      const request = await call.readBody(codec.validation())
      const { explain } = await import('../operations/explain.ts')
      return explain(call, request, options.hideConfigured === true)
    },
    async realtime<Socket>(inbound: Inbound, dial: RealtimeTransport<Socket>): Promise<RealtimeOpening<Socket>> {
      const setup = current
      const requestId = newId('req_')
      const found = setup.match(inbound.method, inbound.path)
      const codec = codecFor(found, inbound)
      const refuse = (error: GatewayError) => ({ ok: false, reply: errorReply(error, codec, requestId) }) as const
      if (found?.route.operation !== 'realtime' || found.allow !== undefined)
        return refuse(new GatewayError('not_found', 'There is no WebSocket on this path.'))
      const { openRealtime } = await import('../operations/realtime/realtime.ts')
      if (closing !== undefined) return refuse(shuttingDown())
      const call = beginCall(running, setup, found, codec, requestId, inbound, webTransport)
      const opened: { session?: RealtimeSession<Socket> } = {}
      const reply = await runCall(call, found, async () => {
        opened.session = await openRealtime(call, dial)
        return { status: 101, headers: opened.session.headers, body: null }
      })
      return opened.session === undefined ? { ok: false, reply } : { ok: true, session: opened.session }
    },
    async upgrade(request: Request): Promise<Response> {
      const { pathname } = new URL(request.url)
      const { basePath = '' } = current.config
      const below = basePath === '' || pathname.startsWith(`${basePath}/`)
      const { upgradeResponse } = await import('./upgrade-response.ts')
      return upgradeResponse(below ? pathname.slice(basePath.length) : '')
    },
    reconfigure<const V extends string, J extends Identity = Identity>(nextOptions: GatewayConfig<V, J>) {
      const next = nextOptions as GatewayConfig
      if (closing !== undefined) throw new Error('reconfigure: the gateway is closed; make another with createGateway')
      const before = current
      current = createSnapshot(next, before)
      try {
        start()
      } catch (cause) {
        current = before
        throw cause
      }
    },
    close({ graceMs = 30_000 } = {}) {
      closing ??= new Promise<void>((resolve) => {
        if (running.none) return resolve()
        let timer = setTimeout(
          () => {
            running.abortAll(shuttingDown())
            // Clients that do not even read their error are not waited for. Their streams were told first, so that all are
            // settled by then.
            timer = setTimeout(resolve, finalErrorGraceMs)
          },
          Math.min(graceMs, maxTimerMs),
        )
        running.onIdle = () => {
          clearTimeout(timer)
          resolve()
        }
      })
      return closing
    },
    [Symbol.asyncDispose]: () => gateway.close(),
  })
  const started = new WeakSet<Plugin>()
  const start = (): void => {
    const setup = current
    warnOfMemory(setup)
    // What the one before has loaded is there already.
    if (!called) preload(setup.config.upstreams, () => called || current !== setup)
    for (const plugin of setup.shared.plugins) {
      if (started.has(plugin)) continue
      const result: unknown = plugin.onStart?.(gateway)
      // It has returned, so that the gateway starts; what an async one fails with later can only be logged.
      if (isThenable(result)) observe(setup.shared.logger, 'onStart', () => result, plugin)
      started.add(plugin)
    }
  }
  start()
  return gateway
}

const shuttingDown = (): GatewayError => new GatewayError('overloaded', 'The gateway is shutting down; try again.')

/** What `gateway.explain` shows. */
export interface ExplainOptions {
  /**
   * Replaces the values that a target's `defaults` and `overrides` put into a body by a placeholder, as in explanations over
   * HTTP. Set it if you show the explanation to somebody who must not see the configuration. Default: false.
   */
  readonly hideConfigured?: boolean
}

/** What `createGateway` returns: a frozen object of bound functions. */
export interface Gateway {
  /**
   * Answers any request; a path the gateway does not know gets a JSON 404. Takes what the global `fetch` takes, so that it
   * can be given to an SDK in its place, and what runtimes give their handlers (`export default { fetch: gateway.fetch }`).
   * Rejects only for arguments that are no request, and like `fetch` with the reason of `init.signal` once that is aborted.
   */
  fetch(input: Request | URL | string, init?: RequestInit): Promise<Response>
  /** Whether the gateway answers this method and path; null: the host goes on. A known path with a wrong method matches and is answered 405. */
  match(method: string, path: string): RouteMatch | null
  /**
   * Answers a WebSocket upgrade with a plain response, where there is nobody to hold the sockets: 426 where the same path
   * takes POST, 501 on realtime, 404 elsewhere. With sockets, see `realtime`.
   */
  upgrade(request: Request): Promise<Response>
  /**
   * What a generation request would do: the targets in order, the request each would be sent with secrets masked, and what
   * would be lost. Nobody is called. Rejects with the GatewayError that the call would be refused with. The credential is
   * checked as for the call itself.
   */
  explain(input: Request | URL | string, init?: RequestInit, options?: ExplainOptions): Promise<Explanation>
  /**
   * For adapters: opens a realtime session for an upgrade request on a path that `match` says is `realtime`. The upstream is
   * dialled first, with `dial`; the client is to be accepted only after. Never rejects: what is wrong is a reply to send.
   */
  realtime<Socket>(inbound: Inbound, dial: RealtimeTransport<Socket>): Promise<RealtimeOpening<Socket>>
  /** Every method and path answered, for printing: those of the configuration in force. */
  readonly routes: readonly Route[]
  /**
   * Puts another configuration in place of the one in force, at once: calls that arrive from now on are answered under it, and those
   * that have begun end under the one they began with, realtime sessions included. What this process knows is kept: stored
   * responses where the new one brings no store, the health of upstreams whose name, address and credentials stay, and whatever
   * belongs to the plugins and to `auth` if the same ones are given again (limits of platform tokens). Plugins that are new
   * have their `onStart` called.
   *
   * @throws TypeError for a configuration that cannot be, in the words of `createGateway`, and whatever an `onStart` throws: the
   * old one stays in force. Error after `close()`.
   */
  reconfigure<const U extends string, I extends Identity = Identity>(config: GatewayConfig<U, I>): void
  /** Refuses new calls (503), waits up to `graceMs` (default 30 s) for the running ones, then aborts them. */
  close(options?: { graceMs?: number }): Promise<void>
  /** The same as `close()`, for `await using gateway = createGateway(…)`. */
  [Symbol.asyncDispose](): Promise<void>
  /** For adapters: the same as `fetch` on the inner currency, with the adapter's own transport. */
  handle(inbound: Inbound, transport?: Transport): Promise<Reply>
}
