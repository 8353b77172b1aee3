import type { ErrorKind } from '../../base/error-kinds.ts'
import { isObject, type Json, type JsonObject } from '../../base/json/json.ts'

/** Error kinds of statuses without further information. 405, 408, 415 and 499 are faults of the gateway's call, not of the client's. */
export const kindOfStatus: Readonly<Record<number, ErrorKind>> = {
  401: 'authentication',
  402: 'quota_exceeded',
  403: 'permission',
  404: 'not_found',
  405: 'upstream_error',
  408: 'upstream_timeout',
  409: 'conflict',
  413: 'request_too_large',
  415: 'upstream_error',
  424: 'upstream_error',
  429: 'rate_limited',
  499: 'upstream_error',
  503: 'overloaded',
  504: 'upstream_timeout',
  529: 'overloaded',
}

/** Returns the HTTP status that an error object states: `code: 429`, `status: 400`, `status_code: '503'`. */
export function innerStatus({ code, status, status_code }: JsonObject): number | undefined {
  for (const value of [code, status, status_code]) {
    const number = typeof value === 'string' ? Number(value) : value
    if (typeof number === 'number' && Number.isInteger(number) && number >= 400 && number < 600) return number
  }
  return undefined
}

/** One day, as for the header `retry-after`. */
const longestSeconds = 24 * 60 * 60

/** Reads the seconds of Google's RetryInfo from an error's `details`: `"retryDelay": "17s"`. */
export function retryDelay(details: Json | undefined): number | undefined {
  if (!Array.isArray(details)) return undefined
  for (const detail of details) {
    const seconds = secondsOf(detail)
    if (seconds !== undefined) return Math.min(seconds, longestSeconds)
  }
  return undefined
}

/** Returns whether a detail states no delay, or one of at most a day. */
export const isPlausibleDelay = (detail: Json): boolean =>
  !isObject(detail) ||
  detail.retryDelay === undefined ||
  (secondsOf(detail) ?? Number.POSITIVE_INFINITY) <= longestSeconds

/** Reads a protobuf Duration in JSON: seconds with up to nine decimals, and `s`. */
function secondsOf(detail: Json): number | undefined {
  const text = isObject(detail) ? detail.retryDelay : undefined
  return typeof text === 'string' && /^\d+(?:\.\d{1,9})?s$/.test(text) ? Number(text.slice(0, -1)) : undefined
}
