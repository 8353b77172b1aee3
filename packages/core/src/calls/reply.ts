import type { CallEnding, CallRecord } from '../accounting/call-record.ts'
import { estimateOutputTokens } from '../accounting/estimate-output.ts'
import { errorKinds } from '../base/error-kinds.ts'
import { type ErrorInfo, errorFromInfo, GatewayError } from '../base/errors.ts'
import { stringifyExact } from '../base/json/exact-number.ts'
import type { Json, JsonObject } from '../base/json/types.ts'
import type { SkippedTarget } from '../config/plugin.ts'
import type { WireCodec } from '../formats/codec.ts'
import { wireCodecOf } from '../formats/codec-registry.ts'
import { lossHeader, sfString } from '../formats/loss-report.ts'
import type { Received } from '../formats/references/places.ts'
import type { Reply } from '../http/inbound.ts'
import { asJsonArray } from '../lanes/json-array.ts'
import type { Upstream } from '../upstreams/upstream.ts'
import { redactError, redactInfo } from '../upstreams/upstream-error.ts'
import type { GatewayContext, TargetCall } from './call.ts'
import { relayBytes } from './relay-bytes.ts'
import { type RelayEnd, relay } from './relay-stream.ts'
import type { TargetResponse } from './try-targets.ts'

/** Seconds told to clients that may retry when nobody knows better: several clients do not retry without a number. */
const defaultRetrySeconds = 2

/** The names under which clients look for a call's id, and our own. */
export const idHeaders = (requestId: string): Record<string, string> => ({
  'x-request-id': requestId,
  'request-id': requestId,
  'modelgate-request-id': requestId,
})

/** For responses to GET, and errors: caches between may keep those unasked, and a caller's key need not stand in `authorization`. */
export const notCached = { 'cache-control': 'no-store' } as const

/**
 * The same with where the call went: names as the configuration has them, and how many calls upstream it took; and what those
 * that let it in want told.
 */
export function callHeaders(record: CallRecord): Record<string, string> {
  const { requestId, upstream, upstreamModel, attempts, admissions, skipped } = record
  if (upstream === undefined || upstreamModel === undefined || admissions !== undefined || skipped !== undefined) {
    const headers = idHeaders(requestId)
    if (admissions !== undefined) Object.assign(headers, admissionHeaders(record))
    if (upstream !== undefined) headers['modelgate-upstream'] = headerText(upstream)
    if (upstreamModel !== undefined) headers['modelgate-model'] = headerText(upstreamModel)
    headers['modelgate-attempts'] = String(attempts.length)
    if (skipped !== undefined) headers['modelgate-skipped'] = skippedHeader(skipped)
    return headers
  }
  return {
    'x-request-id': requestId,
    'request-id': requestId,
    'modelgate-request-id': requestId,
    'modelgate-upstream': headerText(upstream),
    'modelgate-model': headerText(upstreamModel),
    'modelgate-attempts': String(attempts.length),
  }
}

/** Targets named in the header. The rest is counted. */
const mostSkipped = 10

/** A structured-field list (RFC 9651): `"claude";model="claude-opus-5";param="reasoning_effort"`. */
function skippedHeader(skipped: readonly SkippedTarget[]): string {
  const items = skipped.slice(0, mostSkipped).map(({ upstream, model, param }) => {
    const named = `${sfString(upstream)};model=${sfString(model)}`
    return param === undefined ? named : `${named};param=${sfString(param.slice(0, 200))}`
  })
  if (skipped.length > mostSkipped) items.push(`"...";more=${skipped.length - mostSkipped}`)
  return items.join(', ')
}

/** What those that let a call in want told, in the words of the client's format. */
export function admissionHeaders({ admissions = [], format }: CallRecord): Record<string, string> {
  const headers: Record<string, string> = {}
  for (const { allowance, headers: own } of admissions) {
    if (allowance !== undefined) Object.assign(headers, wireCodecOf(format).encodeAllowance(allowance, Date.now()))
    Object.assign(headers, own)
  }
  return headers
}

/** Model names may come from clients, and hold what no header may. */
const headerText = (text: string): string =>
  /^[\x21-\x7e]+$/.test(text) ? text : encodeURIComponent(text.replace(/[\ud800-\udfff]/gu, ''))

export const json = 'application/json; charset=utf-8'

/** A JSON response that no upstream took part in. */
export const jsonReply = ({ requestId }: Pick<CallRecord, 'requestId'>, body: JsonObject): Reply => ({
  status: 200,
  headers: { 'content-type': json, ...notCached, ...idHeaders(requestId) },
  body: JSON.stringify(body),
})

/** An error in the dialect of its route. */
export function errorReply(error: GatewayError, codec: WireCodec, requestId: string): Reply {
  const { info } = error
  const { clientRetry } = errorKinds[info.kind]
  // Some clients retry because of `retry-after` alone, whatever the code is.
  const wait =
    clientRetry === 'never'
      ? undefined
      : (info.retryAfter ?? (clientRetry === 'later' ? defaultRetrySeconds : undefined))
  const { retryAfter: _said, ...rest } = info
  // Some dialects say it in the body too, and their clients read it only there.
  const told = wait === undefined ? rest : { ...rest, retryAfter: wait }
  const { status, headers, body } = codec.encodeError(told, requestId)
  return {
    status,
    headers: {
      'content-type': json,
      ...notCached,
      ...idHeaders(requestId),
      ...(wait === undefined ? {} : { 'retry-after': String(wait) }),
      ...(clientRetry === 'never' ? { 'x-should-retry': 'false' } : {}),
      ...headers,
      ...(error.allowance === undefined ? {} : codec.encodeAllowance(error.allowance, Date.now())),
      ...error.headers,
    },
    body: stringifyExact(body),
  }
}

export const isStream = ({ body }: Reply): boolean =>
  typeof body === 'object' && body !== null && Symbol.asyncIterator in body

/**
 * Adds what tells clients, and whoever stands in between, that events follow; a plugin's own words for it win. One by one: a copy of
 * both takes several microseconds.
 */
export function addStreamHeaders(headers: Record<string, string>): void {
  headers['content-type'] ??= 'text/event-stream; charset=utf-8'
  // no-transform keeps compressing middlewares and proxies from holding events back.
  headers['cache-control'] ??= 'no-cache, no-transform'
  headers['x-accel-buffering'] ??= 'no'
}

export interface ReplyCall extends TargetCall {
  /** Called when a streamed answer is over. */
  readonly end: (ending: CallEnding) => void
  /** A streamed answer is framed as one JSON array instead of events. */
  readonly jsonArray: boolean
}

/** The reply with a good answer. The call record is complete once it is over; a stream then ends its call. */
export function toReply(
  call: ReplyCall,
  { request: { lane }, policy, result, ticket, log, target: { upstream } }: TargetResponse,
): Reply | Promise<Reply> {
  // What closures below hold is held as long as a stream runs: the call itself, and with it the request, must not be.
  const { shared, record, end, signal, inbound } = call
  const losses = policy === 'ignore' ? undefined : lossHeader(lane.report.losses)
  const headers: Record<string, string> = callHeaders(record)
  if (losses !== undefined) headers['modelgate-loss'] = losses
  if (result.kind === 'whole') {
    const { usage, units, finish, received, body, contentType = json } = result.response
    record.firstEventAt = performance.now()
    ticket.end(undefined)
    if (finish !== undefined) record.finish = finish
    if (usage === undefined) record.estimateOutput = () => saidBy(record, body)
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
    ticket.end(why, why?.hints?.waitMs)
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
    if (stream.said !== undefined) record.estimateOutput = stream.said
    if (usage !== undefined) record.usage = usage
    if (units !== undefined) record.units = units
    if (word !== undefined) record.finish = word
    finish(ending)
  })
  addStreamHeaders(headers)
  if (call.jsonArray) headers['content-type'] = json
  return { status: 200, headers, body }
}

/** CallerRecords the ids of stored objects as the caller's. Never rejects: without the record later references are refused, nothing else. */
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
function saidBy({ tokenCounting: counted, format }: CallRecord, body: string | Uint8Array): number {
  if (counted?.output === undefined) return 0
  try {
    const text = typeof body === 'string' ? body : new TextDecoder().decode(body)
    return estimateOutputTokens(
      JSON.parse(text) as Json,
      (counted.textFields ?? wireCodecOf(format).textFields).response,
    )
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
  return errorFromInfo(error as ErrorInfo)
}
