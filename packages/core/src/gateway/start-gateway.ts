import { createCallRecord } from '../accounting/call-record.ts'
import { isThenable, maxTimerMs } from '../base/async.ts'
import { newId } from '../base/bytes.ts'
import { observe } from '../base/callbacks.ts'
import { GatewayError } from '../base/errors.ts'
import { sendNotice } from '../calls/plugin-hooks.ts'
import { errorReply, idHeaders, json, notCached } from '../calls/reply.ts'
import { finalErrorGraceMs } from '../calls/timeout-errors.ts'
import type { GatewayConfig } from '../config/config.ts'
import type { Explanation } from '../config/explanation.ts'
import type { Identity } from '../config/identity.ts'
import type { GatewayNotice } from '../config/notices.ts'
import type { Plugin } from '../config/plugin.ts'
import type { RealtimeOpening, RealtimeTransport } from '../config/realtime.ts'
import type { ClientWireCodec } from '../formats/codec.ts'
import { registerFormats } from '../formats/codec-registry.ts'
import type { Inbound, Reply } from '../http/inbound.ts'
import { lazyFetchTransport } from '../http/lazy-fetch-transport.ts'
import type { Transport } from '../http/transport.ts'
import { toInbound, toRequest, toResponse } from '../http/web-request.ts'
import { matchForAgent } from '../operations/match-route.ts'
import type { OpenedSession } from '../operations/realtime/realtime.ts'
import type { Handler, RouteMatch } from '../operations/route.ts'
import { upstreamStatuses } from '../routing/health/upstream-status.ts'
import { type AdapterFunctions, setAdapterFunctions } from './adapter.ts'
import type { Edition } from './edition.ts'
import type { ExplainOptions, Gateway } from './gateway.ts'
import type { ResponsesSockets } from './open-socket.ts'
import { preload } from './preload.ts'
import { notifyRejection } from './rejected-call.ts'
import {
  ActiveCalls,
  authenticateCall,
  beginCall,
  failedReply,
  GatewayCall,
  runCall,
  transportFor,
} from './run-call.ts'
import { type ConfigSnapshot, createSnapshot, matchUpgrade, warnAboutMemoryStore } from './snapshot.ts'

/** An edition, with code that works on snapshots. */
export interface GatewayEdition extends Edition {
  /** Absent: the edition serves no responses on WebSockets. */
  loadResponsesSockets?(): Promise<typeof import('./open-socket.ts')>
}

/** Creates a gateway of an edition. Throws a TypeError for an invalid configuration, with what to write instead. */
export function startGateway<const U extends string, I extends Identity = Identity>(
  edition: GatewayEdition,
  options: GatewayConfig<U, I>,
): Gateway {
  registerFormats(edition.formats)
  // Functions of the configuration get the identities that its own `auth` returned.
  const config = options as GatewayConfig
  /** Sends notices to the plugins of the active configuration, also those of health that an earlier one created. */
  const notify = (notice: GatewayNotice): void => sendNotice(current.shared, notice)
  /** The configuration for new calls. */
  let current = createSnapshot(edition, config, notify)
  const webTransport = lazyFetchTransport()
  const running = new ActiveCalls()
  let closing: Promise<void> | undefined

  let called = false
  /** The loading in the background. */
  let loading: Promise<void> = Promise.resolve()
  // Not an async function, which would add a promise to each call.
  /** @param handler replaces the operation's own */
  const run = (inbound: Inbound, transport: Transport, handler?: Handler): Promise<Reply> => {
    called = true
    const snapshot = current
    const requestId = newId('req_')
    const found = matchForAgent(snapshot.match(inbound.method, inbound.path), inbound)
    const codec = edition.findCodec(found, inbound)
    const loadingFormats = snapshot.loadFormats()
    if (loadingFormats === undefined && !(codec instanceof Promise))
      return runWith(codec, snapshot, requestId, found, inbound, transport, handler)
    return Promise.all([codec, loadingFormats]).then(
      ([codec]) => runWith(codec, snapshot, requestId, found, inbound, transport, handler),
      (cause: unknown) => {
        snapshot.shared.logger.error(`modelgate: request ${requestId} failed: a module could not be loaded`, cause)
        return withoutFormat(requestId)
      },
    )
  }

  /** @param codec of the response; the formats of `snapshot` are loaded */
  const runWith = (
    codec: ClientWireCodec,
    snapshot: ConfigSnapshot,
    requestId: string,
    found: RouteMatch | null,
    inbound: Inbound,
    transport: Transport,
    handler: Handler | undefined,
  ): Promise<Reply> => {
    if (found !== null && (closing === undefined || found.route.whileDraining === true)) {
      const call = beginCall(running, snapshot, found, codec, requestId, inbound, transportFor(snapshot, transport))
      return runCall(call, found, handler)
    }
    const error =
      found === null
        ? new GatewayError(
            'not_found',
            `Unknown route: ${inbound.method} ${inbound.path.slice(0, 200)}.${edition.unknownPathAdvice ?? ''}`,
          )
        : shuttingDown()
    return Promise.resolve(refuse(error, codec, { requestId }, found, inbound))
  }

  const handle: AdapterFunctions['handle'] = (inbound, transport = webTransport) => run(inbound, transport)

  /** Responds with an error to a request that does not become a call. */
  const refuse = (
    error: GatewayError,
    codec: ClientWireCodec,
    id: { readonly requestId: string },
    found: RouteMatch | null,
    inbound: Inbound,
  ): Reply => {
    const reply = errorReply(error, codec, id.requestId)
    notifyRejection(current.shared, id, found, inbound, reply, error)
    return reply
  }

  let sockets: ResponsesSockets | undefined

  const adapter: AdapterFunctions = {
    loaded: () => loading,
    match: (method, path, sharesRoot) => current.match(method, path, sharesRoot),
    matchUpgrade: (path, sharesRoot) => matchUpgrade(current, path, sharesRoot),
    handle,
    async realtime<Socket>(inbound: Inbound, dial: RealtimeTransport<Socket>): Promise<RealtimeOpening<Socket>> {
      const snapshot = current
      const requestId = newId('req_')
      const found = snapshot.match(inbound.method, inbound.path)
      const codec = await edition.findCodec(found, inbound)
      const reject = (error: GatewayError) =>
        ({ ok: false, reply: refuse(error, codec, { requestId }, found, inbound) }) as const
      if (edition.loadRealtime === undefined || found?.route.operation !== 'realtime' || found.allow !== undefined)
        return reject(noWebSocket())
      const { openRealtime } = await edition.loadRealtime()
      await snapshot.loadFormats()
      if (closing !== undefined) return reject(shuttingDown())
      const call = beginCall(running, snapshot, found, codec, requestId, inbound, webTransport)
      const result: { opened?: OpenedSession<Socket> } = {}
      const reply = await runCall(call, found, async () => {
        const opened = await openRealtime(call, dial, (error) => void failedReply(call, found, error))
        result.opened = opened
        return { status: 101, headers: (opened.session ?? opened.pending).headers, body: null }
      })
      return result.opened ?? { ok: false, reply }
    },
    async responses(inbound, transport = webTransport, dial) {
      const found = matchUpgrade(current, inbound.path)
      const codec = await edition.findCodec(found, inbound)
      const reject = (error: GatewayError) => refuse(error, codec, { requestId: newId('req_') }, found, inbound)
      if (edition.loadResponsesSockets === undefined) return { ok: false, reply: reject(noWebSocket()) }
      const { openSocket, ResponsesSockets } = await edition.loadResponsesSockets()
      sockets ??= new ResponsesSockets()
      return openSocket(sockets, inbound, current, {
        found,
        run: (frame, handler) => run(frame, transport, handler),
        dial,
        reject,
        stopped: closing && shuttingDown(),
      })
    },
  }

  const gateway: Gateway = {
    get routes() {
      return current.routes
    },
    get requiresCredential() {
      return current.config.auth !== 'none'
    },
    status: () => ({
      draining: closing !== undefined,
      activeCalls: running.count(),
      upstreams: upstreamStatuses(current.config.upstreams, current.shared.router, current.shared.health),
    }),
    async describeModels(names) {
      const { describeModels } = await import('../operations/describe-models.ts')
      return describeModels(current.shared, names)
    },
    async fetch(input: Request | URL | string, init?: RequestInit): Promise<Response> {
      const request = toRequest(input, init)
      const response = toResponse(await handle(toInbound(request)), request.method, request.signal)
      // An SDK that uses this function as its `fetch` expects the reason of its signal after an abort.
      if (init?.signal?.aborted) throw init.signal.reason
      return response
    },
    async explain(
      input: Request | URL | string,
      init?: RequestInit,
      options: ExplainOptions = {},
    ): Promise<Explanation> {
      const inbound = toInbound(toRequest(input, init))
      const snapshot = current
      const found = matchForAgent(snapshot.match(inbound.method, inbound.path), inbound)
      if (found?.route.operation !== 'generate' || found.allow !== undefined || found.actions !== undefined)
        throw new GatewayError(
          'not_found',
          `${inbound.method} ${inbound.path} cannot be explained: it is not a chat endpoint.`,
        )
      const codec = await edition.findCodec(found, inbound)
      await snapshot.loadFormats()
      const record = createCallRecord('', found.route.operation, codec.format)
      const { signal } = inbound
      const call = new GatewayCall(
        snapshot,
        found,
        codec,
        inbound,
        record,
        transportFor(snapshot, webTransport),
        signal,
        () => {},
      )
      await authenticateCall(call)
      const request = await call.readBody(codec.loadRequestCheck())
      const { explain } = await edition.parts.loadExplanation()
      return explain(call, request, options.hideConfigured === true)
    },
    async upgrade(request: Request): Promise<Response> {
      const { pathname } = new URL(request.url)
      const { upgradeResponse } = await import('./upgrade-response.ts')
      const requestId = newId('req_')
      const { response, error } = await upgradeResponse(matchUpgrade(current, pathname)?.route.upgrade, requestId)
      notifyRejection(current.shared, { requestId }, null, { method: request.method, path: pathname }, response, error)
      return response
    },
    reconfigure<const V extends string, J extends Identity = Identity>(nextOptions: GatewayConfig<V, J>) {
      const next = nextOptions as GatewayConfig
      if (closing !== undefined)
        throw new Error('reconfigure: the gateway is closed. Create a new one with createGateway()')
      const before = current
      current = createSnapshot(edition, next, notify, before)
      try {
        start()
      } catch (cause) {
        current = before
        throw cause
      }
      notify({ kind: 'reconfigured', upstreams: Object.keys(next.upstreams) })
    },
    close({ graceMs = 30_000 } = {}) {
      if (closing !== undefined) return closing
      closing = new Promise<void>((resolve) => {
        if (running.isEmpty) return resolve()
        let timer = setTimeout(
          () => {
            running.abortAll(shuttingDown())
            // Clients that do not read their error are not waited for. Their streams were aborted first, so all calls are settled by
            // then.
            timer = setTimeout(resolve, finalErrorGraceMs)
          },
          Math.min(graceMs, maxTimerMs),
        )
        running.onIdle = () => {
          clearTimeout(timer)
          resolve()
        }
      })
      sockets?.drain(shuttingDown())
      current.shared.closing.abort()
      notify({ kind: 'drain-started', activeCalls: running.count() })
      return closing
    },
    [Symbol.asyncDispose]: () => gateway.close(),
  }
  Object.freeze(setAdapterFunctions(gateway, adapter))
  const started = new WeakSet<Plugin>()
  const start = (): void => {
    const snapshot = current
    warnAboutMemoryStore(snapshot)
    // A gateway that has been called has loaded its modules already.
    if (!called) loading = preload(edition, snapshot.config.upstreams, () => called || current !== snapshot)
    for (const plugin of snapshot.shared.plugins) {
      if (started.has(plugin)) continue
      const result: unknown = plugin.onStart?.(gateway)
      // The gateway starts without waiting for an async hook. Its later failure can only be logged.
      if (isThenable(result)) observe(snapshot.shared.logger, 'onStart', () => result, plugin)
      started.add(plugin)
    }
  }
  start()
  return gateway
}

/** The reply to a request whose format cannot be loaded: most clients read the message. */
const withoutFormat = (requestId: string): Reply => ({
  status: 500,
  headers: { 'content-type': json, ...notCached, ...idHeaders(requestId) },
  body: '{"error":{"message":"The gateway failed to handle the request.","type":"api_error"}}',
})

const noWebSocket = (): GatewayError => new GatewayError('not_found', 'This path does not support WebSocket.')

const shuttingDown = (): GatewayError => new GatewayError('overloaded', 'The gateway is shutting down. Try again.')
