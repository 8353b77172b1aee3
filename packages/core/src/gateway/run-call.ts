import { type CallEnding, type CallRecord, createCallRecord, settle } from '../accounting/call-record.ts'
import { type Canceller, createCanceller, type Signal } from '../base/async.ts'
import { errorKinds } from '../base/error-kinds.ts'
import { GatewayError } from '../base/errors.ts'
import type { GatewayContext } from '../calls/call.ts'
import { admissionHeaders, callHeaders, errorReply, isStream } from '../calls/reply.ts'
import { clientStalled } from '../calls/timeout-errors.ts'
import type { WireCodec } from '../formats/codec.ts'
import { wireCodecOf } from '../formats/codec-registry.ts'
import type { RequestBody } from '../formats/request-body.ts'
import type { Inbound, Reply, WatchedCall } from '../http/inbound.ts'
import type { Transport } from '../http/transport.ts'
import { boundedTransport } from '../http/transport.ts'
import { referenceSchemeOf } from '../operations/references/notice.ts'
import type { Handler, Route, RoutedCall, RouteMatch } from '../operations/route.ts'
import { handlerOf } from '../operations/routes.ts'
import { authenticate } from './authenticate.ts'
import { checkRequiredHeader, readJsonBody } from './read-body.ts'
import type { ConfigSnapshot } from './snapshot.ts'

// The pipeline of every call, realtime sessions included: authenticate → read → plan → attempt… → relay → settle. The handler of the
// operation does what lies between authentication and settlement.

/** Begins a call that matched a route. It is running until its `end`. */
export function beginCall(
  running: ActiveCalls,
  setup: ConfigSnapshot,
  found: RouteMatch,
  codec: WireCodec,
  requestId: string,
  inbound: Inbound,
  transport: Transport,
): GatewayCall {
  const { plugins, logger, limits } = setup.shared
  const record = createCallRecord(requestId, found.route.operation, codec.format)
  const entry = running.enter(inbound)
  inbound.watchClient?.(limits.clientStallMs, entry)
  // The only place that settles a call. It holds neither the request nor the call: a stream keeps it until its last byte.
  const end = (ending: CallEnding): void => {
    running.leave(entry)
    // Calls that concern no model and that no plugin was notified of are not settled.
    if (record.model !== '' || record.pluginsNotified === true) settle(record, ending, plugins, logger)
  }
  return new GatewayCall(setup, found, codec, inbound, record, transport, entry.signal, end)
}

/**
 * Runs a call to its reply, and ends it unless the reply goes on: the relay of a stream and a realtime session end their calls
 * themselves. Never rejects.
 *
 * @param handler in place of the operation's own
 */
export async function runCall(call: GatewayCall, found: RouteMatch, handler?: Handler): Promise<Reply> {
  try {
    checkMatch(found, call.inbound)
    const { operation, handle } = call.route
    // A plugin authenticates the callers of its routes itself.
    if (handle === undefined) {
      const authenticating = authenticateCall(call)
      if (authenticating !== undefined) await authenticating
    }
    const loading = handler ?? handlerOf(operation)
    const reply = await (loading instanceof Promise ? await loading : loading)(call)
    if (handle !== undefined || !goesOn(reply)) call.end({ status: reply.status, outcome: 'finished' })
    return reply
  } catch (cause) {
    return failedReply(call, cause)
  }
}

const goesOn = (reply: Reply): boolean => isStream(reply) || reply.status === 101

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

/** Puts the caller's identity into the call record. A promise only where `auth` returns one. Throws or rejects with the refusal. */
export function authenticateCall({
  snapshot: setup,
  shared,
  route,
  inbound,
  record,
  signal,
}: RoutedCall): undefined | Promise<void> {
  const identity = authenticate(setup.config.auth, inbound, route, shared.limits.callbackMs, signal)
  if (identity instanceof Promise)
    return identity.then((resolved) => {
      record.identity = resolved
    })
  record.identity = identity
  return undefined
}

/** Ends a call that failed. */
function failedReply({ shared, codec, record, end }: GatewayCall, cause: unknown): Reply {
  const error =
    cause instanceof GatewayError
      ? cause
      : new GatewayError('internal', 'The gateway failed to handle the request.', { cause })
  const { kind } = error.info
  if (kind === 'internal') shared.logger.error(`modelgate: request ${record.requestId} failed`, error.cause ?? error)
  const reply = errorReply(error, codec, record.requestId)
  if (record.upstream !== undefined) Object.assign(reply.headers, callHeaders(record))
  else if (record.admissions !== undefined) Object.assign(reply.headers, admissionHeaders(record))
  // The gateway has already retried: tell SDKs not to. Retries of an overload are bounded in another way (see AttemptsAllowed).
  const [first, ...others] = record.attempts
  if (
    (record.attemptsExhausted === true || others.length > 0 || first?.resent === true) &&
    errorKinds[kind].isOverload !== true
  )
    reply.headers['x-should-retry'] = 'false'
  end({ status: reply.status, outcome: kind === 'cancelled' ? 'aborted' : 'failed', error })
  return reply
}

/** The transport of a call to upstreams: the configuration's, or the adapter's. */
export const transportFor = ({ transport }: ConfigSnapshot, ofAdapter: Transport): Transport =>
  transport ?? boundedTransport(ofAdapter)

/** A call on its way: what stops it, and its place among the others. */
export class ActiveCall implements WatchedCall {
  readonly signal: Canceller = createCanceller()
  /** Held, not only its signal: Node 20 forgets to abort the signal of a Request that was collected. */
  readonly inbound: Inbound
  prev: ActiveCall | undefined
  next: ActiveCall | undefined

  constructor(inbound: Inbound) {
    this.inbound = inbound
  }

  /** The client has left. */
  handleEvent(): void {
    this.signal.abort()
  }

  onClientStalled(stallMs: number): void {
    this.signal.abort(clientStalled(stallMs))
  }
}

/**
 * The calls on their way. They are linked to each other: a Map that gains and loses an entry with every call leaves dead
 * tables behind that keep whole calls in memory until the next full collection.
 */
export class ActiveCalls {
  #last: ActiveCall | undefined
  /** Told each time that no call is left. */
  onIdle: (() => void) | undefined

  get none(): boolean {
    return this.#last === undefined
  }

  enter(inbound: Inbound): ActiveCall {
    const call = new ActiveCall(inbound)
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

  /** Once for each call; again does nothing. */
  leave(call: ActiveCall): void {
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
    // Whom it stops leaves the list meanwhile.
    const all: ActiveCall[] = []
    for (let call = this.#last; call !== undefined; call = call.prev) all.push(call)
    for (const call of all.reverse()) call.signal.abort(reason)
  }
}

/** A call as its operation's handler gets it. A class, because methods on a prototype cost a call nothing. */
export class GatewayCall implements RoutedCall {
  readonly snapshot: ConfigSnapshot
  readonly shared: GatewayContext
  readonly route: Route
  readonly params: RouteMatch['params']
  readonly codec: WireCodec
  readonly inbound: Inbound
  readonly record: CallRecord
  readonly transport: Transport
  readonly signal: Signal
  readonly end: (ending: CallEnding) => void

  constructor(
    setup: ConfigSnapshot,
    { route, params }: RouteMatch,
    codec: WireCodec,
    inbound: Inbound,
    record: CallRecord,
    transport: Transport,
    signal: Signal,
    end: (ending: CallEnding) => void,
  ) {
    this.snapshot = setup
    this.shared = setup.shared
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
    validate: ReturnType<WireCodec['loadRequestCheck']>,
    passes?: (model: string) => boolean,
  ): Promise<RequestBody> {
    const { route, params, inbound, shared } = this
    if (route.requires !== undefined) checkRequiredHeader(inbound, route.requires)
    const { model } = params
    const { modelPrefix } = wireCodecOf(route.format)
    const fromPath = model === undefined ? undefined : { model, stream: route.stream === true, modelPrefix }
    return readJsonBody(inbound, validate, shared.limits, fromPath, passes, referenceSchemeOf(route))
  }
}
