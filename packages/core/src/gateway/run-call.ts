import { type CallEnding, createCallRecord, settle } from '../accounting/call-record.ts'
import { errorKinds } from '../base/error-kinds.ts'
import { GatewayError } from '../base/errors.ts'
import { admissionHeaders, callHeaders, errorReply, isStream } from '../calls/reply.ts'
import type { WireCodec } from '../formats/codec.ts'
import type { Inbound, Reply } from '../http/inbound.ts'
import { boundedTransport, type Transport } from '../http/transport.ts'
import { authenticate } from '../operations/authenticate.ts'
import { handlerOf } from '../operations/dispatch.ts'
import type { Handler, RoutedCall } from '../operations/handler.ts'
import type { RouteMatch } from '../operations/routes.ts'
import type { ActiveCalls } from './active-calls.ts'
import { GatewayCall } from './gateway-call.ts'
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
  setup,
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
