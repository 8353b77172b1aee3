import type { CallRecord, Ending } from '../accounting/call-record.ts'
import { estimateOutputTokens } from '../accounting/output-estimate.ts'
import { type ErrorInfo, errorOf, GatewayError } from '../base/errors.ts'
import type { Json } from '../base/json/types.ts'
import { wireCodecOf } from '../formats/codec-registry.ts'
import { lossHeader } from '../formats/loss-report.ts'
import type { Received } from '../formats/references/places.ts'
import type { Reply } from '../http/inbound.ts'
import { asJsonArray } from '../lanes/json-array.ts'
import type { Upstream } from '../upstreams/upstream.ts'
import { redactError, redactInfo } from '../upstreams/upstream-error.ts'
import type { GatewayContext, Prepared, TargetCall } from './call.ts'
import { relayBytes } from './relay-bytes.ts'
import type { RelayEnd } from './relay-end.ts'
import { relay } from './relay-stream.ts'
import { addStreamHeaders, callHeaders, json } from './reply.ts'
import type { Answered } from './try-targets.ts'

export interface AnswerCall extends TargetCall {
  /** Called when a streamed answer is over. */
  readonly end: (ending: Ending) => void
  /** A streamed answer is framed as one JSON array instead of events. */
  readonly jsonArray: boolean
}

/** The reply with a good answer. The call record is complete once it is over; a stream then ends its call. */
export function toReply(
  call: AnswerCall,
  { prepared, policy, result, ticket, log, target: { upstream } }: Answered<Prepared>,
): Reply | Promise<Reply> {
  // What closures below hold is held as long as a stream runs: the call itself, and with it the request, must not be.
  const { shared, record, end, signal, inbound } = call
  const { lane } = prepared
  const losses = policy === 'ignore' ? undefined : lossHeader(lane.report.losses)
  const headers: Record<string, string> = callHeaders(record)
  if (losses !== undefined) headers['modelgate-loss'] = losses
  if (result.kind === 'whole') {
    const { usage, units, finish, received, body, contentType = json } = result.answer
    record.firstEventAt = performance.now()
    ticket.over(undefined)
    if (finish !== undefined) record.finish = finish
    if (usage === undefined) record.said = () => saidBy(record, body)
    if (usage !== undefined) record.usage = usage
    if (units !== undefined) record.units = units
    headers['content-type'] = contentType
    const reply = { status: 200, headers, body }
    // Before the answer leaves, so that the next request may refer to it.
    return received === undefined ? reply : claim(shared, record, received).then(() => reply)
  }
  if (result.kind === 'upgraded') throw new TypeError('A WebSocket is no answer to relay')
  const { abort } = result
  const finish = ({ outcome, error: cause }: RelayEnd): void => {
    const error = redacted(cause, upstream)
    if (outcome !== 'finished') abort()
    const why = outcome === 'finished' ? undefined : failureOf(error)
    if (why !== undefined) log.error ??= why.info.kind
    ticket.over(why, why?.hints?.waitMs)
    end(error === undefined ? { status: 200, outcome } : { status: 200, outcome, error })
  }
  // An adapter that watches the connection knows better than pulls do whether a client reads.
  const clientStallMs = inbound.watchClient === undefined ? shared.limits.clientStallMs : Number.POSITIVE_INFINITY
  if (result.kind === 'bytes') {
    record.firstEventAt = performance.now()
    const body = relayBytes(result.pump, result.length, { ...result.times, clientStallMs }, signal, finish)
    return { status: 200, headers: { ...headers, ...result.headers }, body }
  }
  const { pump, onFirst } = result
  const { startedAt, idleMs, firstUntil, totalUntil } = result.times
  const stream = call.jsonArray ? asJsonArray(result.stream) : result.stream
  if (stream.state.started) record.firstEventAt = performance.now()
  const { heartbeatMs } = shared.limits
  const first = (): void => {
    record.firstEventAt = performance.now()
    onFirst()
  }
  // Field by field: what follows a spread is defined one by one in the slowest way there is.
  const times = { heartbeatMs, startedAt, idleMs, firstUntil, totalUntil, clientStallMs, onFirst: first }
  const body = relay(pump, stream, times, signal, (ending) => {
    const { usage, units, finish: word, received } = stream.state
    if (received !== undefined) void claim(shared, record, received)
    if (stream.said !== undefined) record.said = stream.said
    if (usage !== undefined) record.usage = usage
    if (units !== undefined) record.units = units
    if (word !== undefined) record.finish = word
    finish(ending)
  })
  addStreamHeaders(headers)
  if (call.jsonArray) headers['content-type'] = json
  return { status: 200, headers, body }
}

/** Records the ids of stored objects as the caller's. Never rejects: without the record later references are refused, nothing else. */
async function claim(
  { claim, logger }: GatewayContext,
  record: CallRecord,
  received: readonly Received[],
): Promise<void> {
  try {
    await claim?.(record.identity, received)
  } catch (error) {
    logger.warn(`modelgate: ids of stored objects of request ${record.requestId} could not be recorded`, error)
  }
}

/** About how many tokens a whole answer says that nobody has counted. */
function saidBy({ counted, format }: CallRecord, body: string | Uint8Array): number {
  if (counted?.output === undefined) return 0
  try {
    const text = typeof body === 'string' ? body : new TextDecoder().decode(body)
    return estimateOutputTokens(JSON.parse(text) as Json, (counted.textFields ?? wireCodecOf(format).textFields).answer)
  } catch {
    return 0
  }
}

/** The error of a stream, as plugins may see it. */
function redacted(error: unknown, upstream: Upstream): unknown {
  if (error instanceof GatewayError) return redactError(error, upstream)
  return error === undefined || error instanceof Error ? error : redactInfo(error as ErrorInfo, upstream)
}

/** What a target is blamed for: its stream's own error or ours about it; a client's leaving is nobody's fault. */
function failureOf(error: unknown): GatewayError {
  if (error instanceof GatewayError) return error
  if (error === undefined) return new GatewayError('cancelled', 'The client left.')
  return errorOf(error as ErrorInfo)
}
