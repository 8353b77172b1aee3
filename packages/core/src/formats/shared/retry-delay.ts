import { isObject } from '../../base/json/object.ts'
import type { Json } from '../../base/json/types.ts'

/** A day, as for the header `retry-after`. */
const longestSeconds = 24 * 60 * 60

/** Google's RetryInfo among an error's `details`: `"retryDelay": "17s"`. */
export function retryDelay(details: Json | undefined): number | undefined {
  if (!Array.isArray(details)) return undefined
  for (const detail of details) {
    const seconds = secondsOf(detail)
    if (seconds !== undefined) return Math.min(seconds, longestSeconds)
  }
  return undefined
}

/** Whether clients could act on this detail: it states no delay, or one of at most a day. */
export const isSaneDelay = (detail: Json): boolean =>
  !isObject(detail) ||
  detail.retryDelay === undefined ||
  (secondsOf(detail) ?? Number.POSITIVE_INFINITY) <= longestSeconds

/** A protobuf Duration in JSON: seconds with up to nine decimals, and `s`. */
function secondsOf(detail: Json): number | undefined {
  const text = isObject(detail) ? detail.retryDelay : undefined
  return typeof text === 'string' && /^\d+(?:\.\d{1,9})?s$/.test(text) ? Number(text.slice(0, -1)) : undefined
}
