import { type CallEnding, type CallRecord, releaseRequest } from '../accounting/call-record.ts'
import { estimateOutputTokens } from '../accounting/estimate-body.ts'
import { lazy } from '../base/async.ts'
import { errorKinds } from '../base/error-kinds.ts'
import { type ErrorInfo, errorFromInfo, GatewayError } from '../base/errors.ts'
import { type Json, type JsonObject, stringifyExact } from '../base/json/json.ts'
import type { SkippedTarget } from '../config/finish-event.ts'
import type { ClientWireCodec } from '../formats/codec.ts'
import { wireCodecs } from '../formats/codec-registry.ts'
import { sfString } from '../formats/loss-report.ts'
import type { Received } from '../formats/references/places.ts'
import type { Framing } from '../http/framing/framing.ts'
import type { Reply } from '../http/inbound.ts'
import type { Upstream } from '../upstreams/upstream.ts'
import { redactError, redactInfo } from '../upstreams/upstream-error.ts'
import type { GatewayContext, TargetCall } from './call.ts'
import { recordFailureCause } from './failure-cause.ts'
import type { RelayEnd } from './relay-stream.ts'
import type { TargetResponse } from './try-targets.ts'

/** Seconds in `retry-after` if the upstream states none: several clients do not retry without a number. */
const defaultRetrySeconds = 2

/** The headers with the call's id: those that clients of each provider read, and the gateway's own. */
export const idHeaders = (
  requestId: string,
  codec?: Pick<ClientWireCodec, 'requestIdHeader'>,
): Record<string, string> => {
  const headers: Record<string, string> = {
    'x-request-id': requestId,
    'request-id': requestId,
    'modelgate-request-id': requestId,
  }
  if (codec?.requestIdHeader !== undefined) headers[codec.requestIdHeader] = requestId
  return headers
}

/** For responses to GET and errors: caches may store them by default, and a caller's key may be in a header that they ignore. */
export const notCached = { 'cache-control': 'no-store' } as const

/** Returns the headers of a call: its ids, its upstream and model, the number of attempts, skipped targets, and headers of admissions. */
export function callHeaders(record: CallRecord): Record<string, string> {
  const { requestId, upstream, upstreamModel, attempts, admissions, skipped } = record
  const codec = wireCodecs[record.format]
  const isUnusual = admissions !== undefined || skipped !== undefined || codec.requestIdHeader !== undefined
  if (upstream === undefined || upstreamModel === undefined || isUnusual) {
    const headers = idHeaders(requestId, codec)
    if (admissions !== undefined) Object.assign(headers, admissionHeaders(record))
    if (upstream !== undefined) headers['modelgate-upstream'] = encodeHeaderText(upstream)
    if (upstreamModel !== undefined) headers['modelgate-model'] = encodeHeaderText(upstreamModel)
    headers['modelgate-attempts'] = String(attempts.length)
    if (skipped !== undefined) headers['modelgate-skipped'] = skippedHeader(skipped)
    return headers
  }
  return {
    'x-request-id': requestId,
    'request-id': requestId,
    'modelgate-request-id': requestId,
    'modelgate-upstream': encodeHeaderText(upstream),
    'modelgate-model': encodeHeaderText(upstreamModel),
    'modelgate-attempts': String(attempts.length),
  }
}

/** Targets that the header names. Others are counted. */
const maxSkipped = 10

/** A structured-field list (RFC 9651): `"claude";model="claude-opus-5";param="reasoning_effort"`. */
function skippedHeader(skipped: readonly SkippedTarget[]): string {
  const items = skipped.slice(0, maxSkipped).map(({ upstream, model, param }) => {
    const named = `${sfString(upstream)};model=${sfString(model)}`
    return param === undefined ? named : `${named};param=${sfString(param.slice(0, 200))}`
  })
  if (skipped.length > maxSkipped) items.push(`"...";more=${skipped.length - maxSkipped}`)
  return items.join(', ')
}

/** Returns the headers of admissions: allowances in the client's format, and plugins' own headers. */
export function admissionHeaders({ admissions = [], format }: CallRecord): Record<string, string> {
  const headers: Record<string, string> = {}
  for (const { allowance, headers: own } of admissions) {
    if (allowance !== undefined) Object.assign(headers, wireCodecs[format].encodeAllowance(allowance, Date.now()))
    Object.assign(headers, own)
  }
  return headers
}

/** Model names may come from clients, and contain characters that no header may. */
const encodeHeaderText = (text: string): string =>
  /^[\x21-\x7e]+$/.test(text) ? text : encodeURIComponent(text.replace(/[\ud800-\udfff]/gu, ''))

export const json = 'application/json; charset=utf-8'
const eventStream = 'text/event-stream; charset=utf-8'

/** A JSON response that no upstream took part in. */
export const jsonReply = ({ requestId }: Pick<CallRecord, 'requestId'>, body: JsonObject): Reply => ({
  status: 200,
  headers: { 'content-type': json, ...notCached, ...idHeaders(requestId) },
  body: JSON.stringify(body),
})

/** An error in the dialect of its route. */
export function errorReply(error: GatewayError, codec: ClientWireCodec, requestId: string): Reply {
  const { info } = error
  const { clientRetry } = errorKinds[info.kind]
  // Some clients retry because of `retry-after` alone, whatever the status is.
  const wait =
    clientRetry === 'never'
      ? undefined
      : (info.retryAfter ?? (clientRetry === 'later' ? defaultRetrySeconds : undefined))
  const { retryAfter: _, ...others } = info
  // Clients of some formats read the wait from the body only.
  const shown = wait === undefined ? others : { ...others, retryAfter: wait }
  const { status, headers, body } = codec.encodeError(shown, requestId)
  return {
    status,
    headers: {
      'content-type': json,
      ...notCached,
      ...idHeaders(requestId, codec),
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

/** Adds the headers of a stream. Plugins' headers win. Set one by one, since a merged copy takes several microseconds. */
function addStreamHeaders(headers: Record<string, string>, contentType: string = eventStream): void {
  headers['content-type'] ??= contentType
  // no-transform keeps compressing middlewares and proxies from holding events back.
  headers['cache-control'] ??= 'no-cache, no-transform'
  headers['x-accel-buffering'] ??= 'no'
}

export interface ReplyCall extends TargetCall {
  /** Ends the call. Called when a streamed response is complete, failed or aborted. */
  readonly end: (ending: CallEnding) => void
  /** The framing that a stream of the call's lanes has. Absent: server-sent events. */
  readonly framing?: Framing | undefined
}

/**
 * The call record lasts as long as the stream. From this size on, it holds an estimate of the input tokens instead of the request. Smaller
 * requests are kept, because the estimate takes time and is needed only if the upstream reports no usage.
 */
const largeRequestBytes = 32_768

/** Creates the reply with a target's response, and completes the call record. A stream ends its call after the last byte. */
export function toReply(call: ReplyCall, response: TargetResponse): Reply | Promise<Reply> {
  const { losses } = response.request.lane.report
  if (losses.length === 0 || response.policy === 'ignore') return replyWith(call, response, undefined)
  const loading = lossHeaders()
  return loading instanceof Promise
    ? loading.then((lossHeader) => replyWith(call, response, lossHeader(losses)))
    : replyWith(call, response, loading(losses))
}

/** Loads the header of losses, with the first call that has some. */
const lossHeaders = lazy(() => import('../formats/loss-header.ts').then(({ lossHeader }) => lossHeader))

function replyWith(
  call: ReplyCall,
  { result, trackedAttempt: ticket, log, target: { upstream } }: TargetResponse,
  loss: string | undefined,
): Reply | Promise<Reply> {
  // The closures below last as long as the stream: they must not hold the call, which holds the request.
  const { shared, record, end, signal, inbound } = call
  const headers: Record<string, string> = callHeaders(record)
  if (loss !== undefined) headers['modelgate-loss'] = loss
  if (result.kind === 'whole') {
    const { usage, units, finish, received, body, contentType = json } = result.response
    record.firstEventAt = performance.now()
    ticket.end(undefined)
    if (finish !== undefined) record.finish = finish
    if (usage !== undefined) record.usage = usage
    else {
      const estimateOutput = (): number => estimateWholeOutput(record, body)
      record.estimateOutput = estimateOutput
    }
    if (units !== undefined) record.units = units
    headers['content-type'] = contentType
    const reply = { status: 200, headers, body }
    // Recorded before the response is sent, so that the next request may refer to it.
    return received === undefined ? reply : recordReceivedIds(shared, record, received).then(() => reply)
  }
  if (result.kind === 'upgraded') throw new TypeError('A WebSocket has no response to relay')
  const { abort } = result
  const finish = ({ outcome, error: cause }: RelayEnd): void => {
    const error = redactFailure(cause, upstream)
    if (outcome !== 'finished') abort()
    const failure = outcome === 'finished' ? undefined : toStreamFailure(error)
    if (failure !== undefined) {
      log.error ??= failure.info.kind
      recordFailureCause(log, failure)
    }
    const cooldownMs = ticket.end(failure, failure?.hints?.waitMs)
    if (cooldownMs !== undefined) log.cooldownMs = cooldownMs
    end(error === undefined ? { status: 200, outcome } : { status: 200, outcome, error })
  }
  // An adapter that watches the connection detects stalled clients better than pulls do.
  const clientStallMs = inbound.watchClient === undefined ? shared.limits.clientStallMs : Number.POSITIVE_INFINITY
  if (result.kind === 'bytes') {
    record.firstEventAt = performance.now()
    const body = result.relay(result.pump, result.length, { ...result.times, clientStallMs }, signal, finish)
    record.capture?.watchBytes(body, result.headers['content-type'] ?? '')
    return { status: 200, headers: { ...headers, ...result.headers }, body }
  }
  const { relay, pump, stream, onFirst } = result
  if (call.request.bytes.length >= largeRequestBytes) releaseRequest(record)
  const { startedAt, idleMs, firstUntil, totalUntil } = result.times
  record.capture?.watchStream(stream, call.framing?.contentType ?? eventStream)
  if (stream.state.started) record.firstEventAt = performance.now()
  const { heartbeatMs } = shared.limits
  const first = (): void => {
    record.firstEventAt = performance.now()
    onFirst()
  }
  // Field by field: V8 defines members after a spread one by one, slowly.
  const times = { heartbeatMs, startedAt, idleMs, firstUntil, totalUntil, clientStallMs, onFirst: first }
  const body = relay(pump, stream, times, signal, (ending) => {
    const { usage, units, finish: finishReason, received } = stream.state
    if (received !== undefined) void recordReceivedIds(shared, record, received)
    if (stream.estimatedTokens !== undefined) record.estimateOutput = stream.estimatedTokens
    if (usage !== undefined) record.usage = usage
    if (units !== undefined) record.units = units
    if (finishReason !== undefined) record.finish = finishReason
    finish(ending)
  })
  addStreamHeaders(headers, call.framing?.contentType)
  return { status: 200, headers, body }
}

/** Records the ids of stored objects as the caller's. Never rejects: a failure only means that later references are rejected. */
async function recordReceivedIds(
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

/** Estimates the output tokens of a whole response without usage. */
function estimateWholeOutput({ tokenCounting: counted, format }: CallRecord, body: string | Uint8Array): number {
  if (counted?.output === undefined) return 0
  try {
    const text = typeof body === 'string' ? body : new TextDecoder().decode(body)
    return estimateOutputTokens(
      JSON.parse(text) as Json,
      (counted.textFields ?? wireCodecs[format].textFields).response,
    )
  } catch {
    return 0
  }
}

/** Removes the upstream's secrets from a stream's error. */
function redactFailure(error: unknown, upstream: Upstream): unknown {
  if (error === undefined) return undefined
  if (error instanceof GatewayError) return redactError(error, upstream)
  return error instanceof Error ? error : redactInfo(error as ErrorInfo, upstream)
}

/** Returns the failure that counts against the target's health. A client that disconnects is no failure of the target. */
function toStreamFailure(error: unknown): GatewayError {
  if (error instanceof GatewayError) return error
  if (error === undefined) return new GatewayError('cancelled', 'The client disconnected.')
  return errorFromInfo(error as ErrorInfo)
}
