import type { ErrorKind } from '../../base/error-kinds.ts'
import type { JsonObject } from '../../base/json/types.ts'

/** What a status says where nothing better is known. The gateway's own call was at fault, or late, at 405, 408, 415 and 499; never the client's. */
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

/** The HTTP status that an error object names, under whatever status it came: `code: 429`, `status: 400`, `status_code: '503'`. */
export function innerStatus({ code, status, status_code }: JsonObject): number | undefined {
  for (const value of [code, status, status_code]) {
    const number = typeof value === 'string' ? Number(value) : value
    if (typeof number === 'number' && Number.isInteger(number) && number >= 400 && number < 600) return number
  }
  return undefined
}
