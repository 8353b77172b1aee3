import type { CaptureSettings } from '../accounting/call-capture.ts'
import { type CallEnding, type CallRecord, createCallRecord, settle } from '../accounting/call-record.ts'
import { type Canceller, createCanceller, lazy, type Signal } from '../base/async.ts'
import { errorKinds } from '../base/error-kinds.ts'
import { GatewayError } from '../base/errors.ts'
import type { JsonObject } from '../base/json/json.ts'
import type { GatewayContext } from '../calls/call.ts'
import { admissionHeaders, callHeaders, errorReply, isStream } from '../calls/reply.ts'
import { clientStalled } from '../calls/timeout-errors.ts'
import type { ClientWireCodec } from '../formats/codec.ts'
import type { RequestBody } from '../formats/request-body.ts'
import type { Inbound, Reply, WatchedCall } from '../http/inbound.ts'
import { boundedTransport, type Transport } from '../http/transport.ts'
import { referenceSchemeOf } from '../operations/references/notice.ts'
import type { Handler, Route, RoutedCall, RouteMatch } from '../operations/route.ts'
import { authenticate } from './authenticate.ts'
import { checkRequiredHeader, readJsonBody } from './read-body.ts'
import { notifyRejection } from './rejected-call.ts'
import type { ConfigSnapshot } from './snapshot.ts'

// The pipeline of every call, realtime sessions included, and the only place that settles one:
//
//   beginCall ─▶ runCall: authenticate ─▶ handler of the operation ─┬─ complete reply ─────▶ runCall calls `end`
//                                                                   ├─ error ──────────────▶ failedReply calls `end`
//                                                                   ├─ stream ─────────────▶ its relay calls `end` after the last byte
//                                                                   └─ realtime session ───▶ the session calls `end` when it closes
//
// `end` removes the call from the active ones and settles its record once. A client that disconnects aborts the call's signal; the
// holder of the call (attempt, relay, session) then ends it as `aborted`.

/** Begins a call that matched a route. It is active until its `end`. */
export function beginCall(
  running: ActiveCalls,
  snapshot: ConfigSnapshot,
  found: RouteMatch,
  codec: ClientWireCodec,
  requestId: string,
  inbound: Inbound,
  transport: Transport,
): GatewayCall {
  const { plugins, logger, limits } = snapshot.shared
  const record = createCallRecord(requestId, found.route.operation, codec.format)
  const entry = running.add(inbound, found.route.handle === undefined)
  inbound.watchClient?.(limits.clientStallMs, entry)
  // A stream holds this function until its last byte: it must hold neither the request nor the call.
  const end = (ending: CallEnding): void => {
    running.remove(entry)
    if (isSettled(record)) settle(record, ending, plugins, logger)
    record.capture?.finish(ending.outcome, record.attempts, isSettled(record))
  }
  return new GatewayCall(snapshot, found, codec, inbound, record, transport, entry.signal, end)
}

/** Calls without a model of which no plugin was notified are not settled: model lists, explanations, rejected tokens. */
const isSettled = ({ model, pluginsNotified }: CallRecord): boolean => model !== '' || pluginsNotified === true

/**
 * Runs a call to its reply, and ends it unless it continues after the reply: the relay of a stream and a realtime session end their
 * calls themselves. Never rejects.
 *
 * @param handler replaces the operation's own
 */
export async function runCall(call: GatewayCall, found: RouteMatch, handler?: Handler): Promise<Reply> {
  try {
    checkMatch(found, call.inbound)
    const { handle } = call.route
    // A plugin authenticates the callers of its routes itself.
    if (handle === undefined) {
      if (call.shared.capture !== undefined) await startCapture(call, call.shared.capture)
      const authenticating = authenticateCall(call)
      if (authenticating !== undefined) await authenticating
    }
    const loading = handler ?? call.snapshot.edition.handlerOf(call.route)
    const reply = await (loading instanceof Promise ? await loading : loading)(call)
    call.record.capture?.setReply(reply)
    if (handle !== undefined || !continuesAfterReply(reply)) call.end({ status: reply.status, outcome: 'finished' })
    return reply
  } catch (cause) {
    return failedReply(call, found, cause)
  }
}

async function startCapture({ record, inbound, snapshot }: GatewayCall, settings: CaptureSettings): Promise<void> {
  const loading = snapshot.edition.loadCapture()
  const create = loading instanceof Promise ? await loading : loading
  record.capture = create(record.requestId, inbound, settings)
}

const continuesAfterReply = (reply: Reply): boolean => isStream(reply) || reply.status === 101

function checkMatch({ allow, actions }: RouteMatch, { method, path }: Inbound): void {
  if (actions !== undefined)
    throw new GatewayError(
      'not_found',
      `Unknown method in the path ${path.slice(0, 200)}. A model has these methods: ${actions.join(', ')}.`,
    )
  if (allow !== undefined)
    throw new GatewayError('method_not_allowed', `${method} is not allowed on this path: use ${allow}.`, {
      headers: { allow },
    })
}

/** Puts the caller's identity into the call record. Returns a promise only if `auth` does. Throws or rejects with the error for the caller. */
export function authenticateCall({
  snapshot,
  shared,
  route,
  inbound,
  record,
  signal,
}: RoutedCall): undefined | Promise<void> {
  const identity = authenticate(snapshot.config.auth, inbound, route, shared.limits.callbackMs, signal)
  if (identity instanceof Promise)
    return identity.then((resolved) => {
      record.identity = resolved
    })
  record.identity = identity
  return undefined
}

/** Ends a call that failed. Returns the reply with its error. */
export function failedReply(
  { shared, codec, inbound, record, end }: GatewayCall,
  found: RouteMatch,
  cause: unknown,
): Reply {
  const error =
    cause instanceof GatewayError
      ? cause
      : new GatewayError('internal', 'The gateway failed to handle the request.', { cause })
  const { kind } = error.info
  if (kind === 'internal') shared.logger.error(`modelgate: request ${record.requestId} failed`, error.cause ?? error)
  const reply = errorReply(error, codec, record.requestId)
  if (record.upstream !== undefined) Object.assign(reply.headers, callHeaders(record))
  else if (record.admissions !== undefined) Object.assign(reply.headers, admissionHeaders(record))
  // The gateway has already retried: tell SDKs not to. Retries of an overload are bounded in another way (see AttemptLimit).
  const [first, ...others] = record.attempts
  if (
    (record.attemptsExhausted === true || others.length > 0 || first?.resent === true) &&
    errorKinds[kind].isOverload !== true
  )
    reply.headers['x-should-retry'] = 'false'
  record.capture?.setReply(reply)
  end({ status: reply.status, outcome: kind === 'cancelled' ? 'aborted' : 'failed', error })
  if (!isSettled(record)) notifyRejection(shared, record, found, inbound, reply, error)
  return reply
}

/** Returns the transport for upstream calls: the configuration's, or the adapter's. */
export const transportFor = ({ transport }: ConfigSnapshot, adapterTransport: Transport): Transport =>
  transport ?? boundedTransport(adapterTransport)

/** An active call: the signal that stops it, and its place in the list of active calls. */
export class ActiveCall implements WatchedCall {
  readonly signal: Canceller = createCanceller()
  /** Held with its signal: Node 20 does not abort the signal of a Request that was garbage-collected. */
  readonly inbound: Inbound
  /** False: a request to a plugin's endpoint. */
  readonly isCall: boolean
  prev: ActiveCall | undefined
  next: ActiveCall | undefined

  constructor(inbound: Inbound, isCall: boolean) {
    this.inbound = inbound
    this.isCall = isCall
  }

  /** The client disconnected. */
  handleEvent(): void {
    this.signal.abort()
  }

  onClientStalled(stallMs: number): void {
    this.signal.abort(clientStalled(stallMs))
  }
}

/**
 * The active calls, as a linked list. A Map that gains and loses an entry with each call leaves dead tables behind, which keep whole
 * calls in memory until the next full garbage collection.
 */
export class ActiveCalls {
  #last: ActiveCall | undefined
  /** Called each time that the last call ends. */
  onIdle: (() => void) | undefined

  get isEmpty(): boolean {
    return this.#last === undefined
  }

  /** Counts the calls, without requests to plugins' endpoints. Not counted as they come and go: that is rarely needed. */
  count(): number {
    let count = 0
    for (let call = this.#last; call !== undefined; call = call.prev) if (call.isCall) count++
    return count
  }

  /** @param isCall false for a request to a plugin's endpoint */
  add(inbound: Inbound, isCall = true): ActiveCall {
    const call = new ActiveCall(inbound, isCall)
    inbound.signal.addEventListener('abort', call)
    const last = this.#last
    if (last !== undefined) {
      last.next = call
      call.prev = last
    }
    this.#last = call
    if (inbound.signal.aborted) call.handleEvent()
    return call
  }

  /** Does nothing for a call that has been removed. */
  remove(call: ActiveCall): void {
    const { prev, next } = call
    if (prev === undefined && next === undefined && this.#last !== call) return
    call.inbound.signal.removeEventListener('abort', call)
    if (prev !== undefined) prev.next = next
    if (next !== undefined) next.prev = prev
    else this.#last = prev
    call.prev = undefined
    call.next = undefined
    if (this.#last === undefined) this.onIdle?.()
  }

  abortAll(reason: unknown): void {
    // Calls that are stopped remove themselves from the list meanwhile.
    const all: ActiveCall[] = []
    for (let call = this.#last; call !== undefined; call = call.prev) all.push(call)
    for (const call of all.reverse()) call.signal.abort(reason)
  }
}

/** The changes to bodies of paths that most gateways do not serve. */
const bodyRewrites = lazy(() => import('./body-rewrites.ts'))

/** The call that a handler gets. A class, because methods of a prototype cost a call nothing. */
export class GatewayCall implements RoutedCall {
  readonly snapshot: ConfigSnapshot
  readonly shared: GatewayContext
  readonly route: Route
  readonly params: RouteMatch['params']
  readonly codec: ClientWireCodec
  readonly inbound: Inbound
  readonly record: CallRecord
  readonly transport: Transport
  readonly signal: Signal
  readonly end: (ending: CallEnding) => void

  constructor(
    snapshot: ConfigSnapshot,
    { route, params }: RouteMatch,
    codec: ClientWireCodec,
    inbound: Inbound,
    record: CallRecord,
    transport: Transport,
    signal: Signal,
    end: (ending: CallEnding) => void,
  ) {
    this.snapshot = snapshot
    this.shared = snapshot.shared
    this.route = route
    this.params = params
    this.codec = codec
    this.inbound = inbound
    this.record = record
    this.transport = transport
    this.signal = signal
    this.end = end
  }

  readBody(
    validate: ReturnType<ClientWireCodec['loadRequestCheck']>,
    passes?: (model: string) => boolean,
  ): Promise<RequestBody> {
    const { route, params, shared, record } = this
    const inbound = record.capture?.watchRequest(this.inbound) ?? this.inbound
    if (route.requires !== undefined) checkRequiredHeader(inbound, route.requires)
    const { model } = params
    const { limits } = shared
    const scheme = referenceSchemeOf(route)
    if (route.adaptation !== undefined) {
      const { operation } = route
      const loading = this.snapshot.parts.loadAdaptation(route.adaptation)
      return Promise.resolve(loading).then(({ [operation]: edits }) =>
        readJsonBody(inbound, validate, limits, { rewrite: (body) => edits?.editRequest?.(body), scheme }),
      )
    }
    if (route.rewritesBody !== undefined)
      return Promise.resolve(bodyRewrites()).then(({ bodyRewrite }) =>
        readJsonBody(inbound, validate, limits, { rewrite: () => bodyRewrite(route, model), scheme }),
      )
    const { bodyDefaults, modelTag, ignoresContentType } = route
    if (bodyDefaults !== undefined || modelTag !== undefined) {
      const { identity } = this.record
      const hasModel = (name: string): boolean => shared.router.has(name, identity)
      return Promise.resolve(bodyRewrites()).then(({ completeBody }) => {
        const rewrite = (body: JsonObject) => completeBody(body, route, hasModel)
        return readJsonBody(inbound, validate, limits, { rewrite, ignoresContentType, scheme })
      })
    }
    const { modelPrefix, unknownMember } = this.codec
    const fromPath =
      model === undefined ? undefined : { model, stream: route.stream === true, modelPrefix, unknownMember }
    return readJsonBody(inbound, validate, limits, { ignoresContentType, fromPath, passes, scheme })
  }
}
