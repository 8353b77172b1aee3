import type { CallRecord } from '../accounting/call-record.ts'
import { errorKinds } from '../base/error-kinds.ts'
import type { GatewayError } from '../base/errors.ts'
import { stringifyExact } from '../base/json/exact-number.ts'
import type { JsonObject } from '../base/json/types.ts'
import type { SkippedTarget } from '../config/plugin.ts'
import type { WireCodec } from '../formats/codec.ts'
import { wireCodecOf } from '../formats/codec-registry.ts'
import { sfString } from '../formats/loss-report.ts'
import type { Reply } from '../http/inbound.ts'

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
