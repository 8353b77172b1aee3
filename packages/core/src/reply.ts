import type { GatewayError } from './errors.ts'
import type { Codec } from './formats/codec.ts'
import type { ErrorKind } from './formats/ir.ts'
import type { Reply } from './inbound.ts'

/** Seconds told to clients that may retry when nobody knows better: several clients do not retry without a number. */
const defaultRetrySeconds = 2

const retryable: ReadonlySet<ErrorKind> = new Set<ErrorKind>(['rate_limited', 'overloaded'])
/** Trying again changes nothing: said to the SDKs that would loop on the status. */
const hopeless: ReadonlySet<ErrorKind> = new Set<ErrorKind>(['authentication', 'quota_exceeded', 'upstream_auth'])

/** Both names under which clients look for a call's id. */
export const idHeaders = (requestId: string): Record<string, string> => ({
  'x-request-id': requestId,
  'request-id': requestId,
})

export const json = 'application/json; charset=utf-8'

/** An error in the dialect of its route. */
export function errorReply(error: GatewayError, codec: Codec, requestId: string): Reply {
  const { info } = error
  const wait = info.retryAfter ?? (retryable.has(info.kind) ? defaultRetrySeconds : undefined)
  // Some dialects say it in the body too, and their clients read it only there.
  const told = wait === undefined ? info : { ...info, retryAfter: wait }
  const { status, headers, body } = codec.encodeError(told, requestId)
  return {
    status,
    headers: {
      'content-type': json,
      ...idHeaders(requestId),
      ...(wait === undefined ? {} : { 'retry-after': String(wait) }),
      ...(hopeless.has(info.kind) ? { 'x-should-retry': 'false' } : {}),
      ...headers,
      ...error.headers,
    },
    body: JSON.stringify(body),
  }
}

export const isStream = ({ body }: Reply): boolean =>
  typeof body === 'object' && body !== null && Symbol.asyncIterator in body

export const streamHeaders: Readonly<Record<string, string>> = {
  'content-type': 'text/event-stream; charset=utf-8',
  // no-transform keeps compressing middlewares and proxies from holding events back.
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
}
