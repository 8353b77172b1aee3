import { isOverload } from './attempts-allowed.ts'
import { authenticate } from './auth.ts'
import { boundedTransport } from './bounded-transport.ts'
import { observe } from './callbacks.ts'
import { longestMs } from './check-config.ts'
import type { GatewayConfig } from './config.ts'
import { GatewayError } from './errors.ts'
import type { Explanation } from './explain.ts'
import { asksToExplain, explainOverHttp } from './explain-over-http.ts'
import type { Codec, WireCodec } from './formats/codec.ts'
import type { JsonObject } from './formats/ir.ts'
import { wholeOf } from './formats/load-codec.ts'
import { wireCodecOf } from './formats/wire.ts'
import type { ExplainOptions, Gateway } from './gateway-types.ts'
import { generate } from './generate.ts'
import { newId } from './ids.ts'
import type { Inbound, Reply } from './inbound.ts'
import { fieldsOf, type RequestBody } from './lanes/wire.ts'
import { likelyPasses } from './likely-passes.ts'
import { operationAnswerer, operationOf } from './operations/load.ts'
import type { OperationName } from './operations/operation.ts'
import type { Dial, RealtimeOpening } from './operations/realtime-types.ts'
import type { Plugin } from './plugin.ts'
import { preload } from './preload.ts'
import { checkRequiredHeader, readRequest } from './read-request.ts'
import { schemeOf } from './references/notice.ts'
import { lastWordsMs } from './relay.ts'
import { admissionHeaders, callHeaders, errorReply, idHeaders, isStream, json, notCached } from './reply.ts'
import { anyBody, checkEarly, routeFor } from './route-by-body.ts'
import { codecFor } from './route-codec.ts'
import type { Match, Route } from './routes.ts'
import { RunningCalls } from './running.ts'
import { type Ledger, openBooks, settle } from './settle.ts'
import { createSetup, memory, type Setup, warnOfMemory } from './setup.ts'
import type { Signal } from './signal.ts'
import { isThenable } from './thenable.ts'
import type { Transport } from './transport.ts'
import { fetchTransport } from './web/fetch-transport.ts'
import { requestOf, toInbound, toResponse } from './web/request.ts'

/** One call's own things. */
interface Call {
  readonly setup: Setup
  readonly inbound: Inbound
  readonly ledger: Ledger
  readonly transport: Transport
  readonly signal: Signal
  /** Called once when the call is over: after the reply, or after a stream's last byte. */
  readonly release: () => void
}

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
export function createGateway<const U extends string>(config: GatewayConfig<U>): Gateway {
  /** What calls that arrive now begin under. */
  let current = createSetup(config)
  const webTransport = fetchTransport()
  const running = new RunningCalls()
  let closing: Promise<void> | undefined

  let called = false
  const handle: Gateway['handle'] = async (inbound, transport = webTransport) => {
    called = true
    const setup = current
    const { plugins, logger } = setup.shared
    const requestId = newId('req_')
    const found = setup.match(inbound.method, inbound.path)
    const codec = codecFor(found, inbound)
    if (found === null)
      return errorReply(
        new GatewayError('not_found', `There is no ${inbound.method} ${inbound.path.slice(0, 200)} here.`),
        codec,
        requestId,
      )
    if (closing !== undefined) return errorReply(shuttingDown(), codec, requestId)
    const ledger = openBooks(requestId, found.route.operation, codec.format)
    const entry = running.enter(inbound)
    inbound.watchClient?.(setup.shared.limits.clientStallMs, entry)
    const done = (): void => running.leave(entry)
    try {
      const reply = await answer(found, codec, {
        setup,
        inbound,
        ledger,
        transport: setup.transport ?? boundedTransport(transport),
        signal: entry.signal,
        release: done,
      })
      // A stream goes on after this function: its relay releases the call.
      if (!isStream(reply) || found.route.operation === 'plugin') done()
      return reply
    } catch (cause) {
      done()
      const error =
        cause instanceof GatewayError
          ? cause
          : new GatewayError('internal', 'The gateway failed to handle the request.', { cause })
      if (error.info.kind === 'internal') logger.error(`modelgate: request ${requestId} failed`, error.cause ?? error)
      const reply = errorReply(error, codec, requestId)
      if (ledger.upstream !== undefined) Object.assign(reply.headers, callHeaders(ledger))
      else if (ledger.admissions !== undefined) Object.assign(reply.headers, admissionHeaders(ledger))
      // Each retry of the client would be as many calls upstream again. Retries of an overload are bounded in another way.
      const [first, ...others] = ledger.attempts
      if ((ledger.spent === true || others.length > 0 || first?.resent === true) && !isOverload(error.info.kind))
        reply.headers['x-should-retry'] = 'false'
      if (ledger.model !== '' || ledger.announced === true)
        settle(
          ledger,
          { status: reply.status, outcome: error.info.kind === 'cancelled' ? 'aborted' : 'failed', error },
          plugins,
          logger,
        )
      return reply
    }
  }

  /** The way of a request: authenticate → read → plan → attempt… → relay → settle. */
  async function answer(found: Match, codec: WireCodec, call: Call): Promise<Reply> {
    const { setup, inbound, ledger } = call
    const { config, shared } = setup
    const { route, params, allow, actions } = found
    if (actions !== undefined)
      throw new GatewayError(
        'not_found',
        `Unknown method in the path ${inbound.path.slice(0, 200)}. A model has these methods: ${actions.join(', ')}.`,
      )
    if (allow !== undefined)
      throw new GatewayError('method_not_allowed', `${inbound.method} is not allowed on this path: use ${allow}.`, {
        headers: { allow },
      })
    if (route.handle !== undefined) {
      const { pluginReply } = await import('./plugin-reply.ts')
      return await pluginReply(route.handle, inbound, params, shared.limits.firstByteMs)
    }
    const identity = authenticate(config.auth, inbound, route, shared.limits.callbackMs, call.signal)
    // Not awaited needlessly: most functions answer at once.
    ledger.identity = identity instanceof Promise ? await identity : identity
    switch (route.operation) {
      case 'list-models': {
        const { listModels } = await import('./operations/models.ts')
        return sendJson(ledger, listModels(await wholeOf(codec), shared.router.list(ledger.identity), inbound.query))
      }
      case 'get-model': {
        const { getModel } = await import('./operations/models.ts')
        const name = params.model ?? ''
        return sendJson(ledger, getModel(await wholeOf(codec), name, shared.router.has(name, ledger.identity)))
      }
      case 'realtime':
      case 'plugin':
        throw (await import('./operations/realtime-handshake.ts')).upgradeRequired(inbound.header('upgrade'))
      case 'count-tokens': {
        const whole = await wholeOf(codec)
        const { count } = whole
        if (count === undefined) throw new GatewayError('not_implemented', 'This format does not count tokens.')
        const given = await read(setup, found, count.checkRequest, inbound)
        ledger.model = String(given.value.model)
        const request = await setup.remembered(route, given, ledger.identity)
        const { transport, signal, release } = call
        const { modelPlaces } = whole
        const counted = {
          shared,
          inbound,
          codec: whole,
          count,
          request,
          modelPlaces,
          ledger,
          transport,
          signal,
          release,
        }
        const { countTokens } = await import('./operations/count-tokens.ts')
        return await countTokens({ ...counted, jsonArray: false, tokenizer: config.tokenizer })
      }
      case 'generate': {
        const request = await read(setup, found, codec.validation(), inbound, likelyPasses(setup, found, ledger))
        const fields = fieldsOf(request)
        ledger.model = String(fields.model)
        ledger.stream = fields.stream === true
        ledger.counted = { output: codec.outputBound }
        if (isBackground(codec, fields)) ledger.background = true
        if (asksToExplain(inbound)) {
          const explanation = await explainOverHttp({ ...call, route, codec, request })
          return sendJson(ledger, explanation as unknown as JsonObject)
        }
        const { transport, signal, release } = call
        const jsonArray = ledger.stream && wantsArray(route, inbound)
        const { modelPlaces } = codec
        const whole = { shared, inbound, codec, request, modelPlaces, ledger, transport, signal, release, jsonArray }
        // Awaited here: a promise returned from an async function costs three turns of the queue.
        if (route.refers === true && (setup.keepsResponses || request.outline === undefined)) {
          const { generateKept } = await memory()
          return await generateKept(whole, await setup.recordsOf(ledger.identity))
        }
        const checking = setup.checkReferences(route, request, ledger.identity)
        if (checking !== undefined) await checking
        return await generate(whole)
      }
      case 'get-response':
      case 'delete-response':
      case 'list-input-items':
      case 'cancel-response': {
        const { storedResponse } = await import('./operations/stored-responses.ts')
        return await storedResponse({
          route,
          id: params.id ?? '',
          inbound,
          shared,
          ledger,
          records: await setup.recordsOf(ledger.identity),
          upstreams: config.upstreams,
          transport: call.transport,
          signal: call.signal,
        })
      }
      default: {
        // Who asks for an explanation must not be billed for a call.
        if (asksToExplain(inbound))
          throw new GatewayError('invalid_request', 'modelgate=explain: only chat generation can be explained.')
        const early = route.byInstance === undefined ? undefined : await read(setup, found, anyBody, inbound)
        const asked = early === undefined ? route : routeFor(route, early.value)
        ledger.operation = asked.operation
        const operation = operationOf(asked.operation as OperationName)
        const answerer = operationAnswerer()
        const answerOperation = answerer instanceof Promise ? await answerer : answerer
        const readJson = (validate: Codec['checkRequest']): Promise<RequestBody> => {
          const reading = early === undefined ? read(setup, found, validate, inbound) : checkEarly(early, validate)
          if (schemeOf(asked) === undefined) return reading
          return reading.then(async (request) => {
            await setup.checkReferences(asked, request, ledger.identity)
            return request
          })
        }
        return await answerOperation(
          { ...call, shared },
          operation instanceof Promise ? await operation : operation,
          asked.dialect,
          readJson,
        )
      }
    }
  }

  const read = (
    { shared }: Setup,
    { route, params }: Match,
    validate: ReturnType<WireCodec['validation']>,
    inbound: Inbound,
    passes?: (model: string) => boolean,
  ): Promise<RequestBody> => {
    if (route.requires !== undefined) checkRequiredHeader(inbound, route.requires)
    const { model } = params
    const { modelPrefix } = wireCodecOf(route.format)
    const fromPath = model === undefined ? undefined : { model, stream: route.stream === true, modelPrefix }
    return readRequest(inbound, validate, shared.limits, fromPath, passes, schemeOf(route))
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
      const { callbackMs } = setup.shared.limits
      const identity = await authenticate(setup.config.auth, inbound, found.route, callbackMs, inbound.signal)
      const request = await read(setup, found, codec.validation(), inbound)
      const { model, stream } = request.value
      const whole = await setup.remembered(found.route, request, identity)
      const { explain } = await import('./explain.ts')
      return explain({
        shared: setup.shared,
        inbound,
        codec,
        request: whole,
        identity,
        model: String(model),
        stream: stream === true,
        hidesConfigured: options.hideConfigured === true,
      })
    },
    async realtime<Socket>(inbound: Inbound, dial: Dial<Socket>): Promise<RealtimeOpening<Socket>> {
      const { config, shared, match } = current
      const found = match(inbound.method, inbound.path)
      const refuse = (error: GatewayError) => {
        const reply = errorReply(error, codecFor(found, inbound), newId('req_'))
        return { ok: false, reply } as const
      }
      if (found?.route.operation !== 'realtime' || found.allow !== undefined)
        return refuse(new GatewayError('not_found', 'There is no WebSocket on this path.'))
      const { openRealtime } = await import('./operations/realtime.ts')
      if (closing !== undefined) return refuse(shuttingDown())
      const entry = running.enter(inbound)
      const release = (): void => running.leave(entry)
      return openRealtime({ auth: config.auth, shared, found, inbound, dial, signal: entry.signal, release })
    },
    async upgrade(request: Request): Promise<Response> {
      const { pathname } = new URL(request.url)
      const { basePath = '' } = current.config
      const below = basePath === '' || pathname.startsWith(`${basePath}/`)
      const { upgradeResponse } = await import('./upgrade-response.ts')
      return upgradeResponse(below ? pathname.slice(basePath.length) : '')
    },
    reconfigure(next: GatewayConfig) {
      if (closing !== undefined) throw new Error('reconfigure: the gateway is closed; make another with createGateway')
      const before = current
      current = createSetup(next, before)
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
            timer = setTimeout(resolve, lastWordsMs)
          },
          Math.min(graceMs, longestMs),
        )
        running.onIdle = () => {
          clearTimeout(timer)
          resolve()
        }
      })
      return closing
    },
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

function isBackground({ background }: WireCodec, fields: JsonObject): boolean {
  if (background === undefined) return false
  for (const field of background) if (fields[field] === true) return true
  return false
}

const sendJson = ({ requestId }: Ledger, body: JsonObject): Reply => ({
  status: 200,
  headers: { 'content-type': json, ...notCached, ...idHeaders(requestId) },
  body: JSON.stringify(body),
})

const shuttingDown = (): GatewayError => new GatewayError('overloaded', 'The gateway is shutting down; try again.')

const wantsArray = ({ eventsIf }: Route, { query }: Inbound): boolean =>
  eventsIf !== undefined && new URLSearchParams(query).get(eventsIf.name) !== eventsIf.value
