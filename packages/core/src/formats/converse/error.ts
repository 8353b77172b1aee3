import { errorKinds } from '../../base/error-kinds.ts'
import type { ErrorInfo } from '../../base/errors.ts'
import { isObject, put } from '../../base/json/object.ts'
import type { Json, JsonObject } from '../../base/json/types.ts'
import type { ResponseTap } from '../codec.ts'
import { kindOfStatus } from '../shared/kind-of-status.ts'
import { kindInWords, kindOfException } from './exceptions.ts'
import { decodeFinish } from './finish.ts'
import { decodeUsage } from './usage-decode.ts'

const text = (value: Json | undefined): string | undefined =>
  typeof value === 'string' && value.trim() !== '' ? value.trim() : undefined

/** Bedrock writes `{message}` and names the error in a header; proxies in front of it put the name into the body. */
export function decodeError(
  status: number,
  body: Json,
  header: (name: string) => string | undefined = () => undefined,
): ErrorInfo {
  const fields = isObject(body) ? body : {}
  const inner = isObject(fields.error) ? fields.error : fields
  const plain = typeof body === 'string' && !body.trimStart().startsWith('<') ? text(body) : undefined
  const message =
    text(inner.message) ??
    text(fields.Message) ??
    text(inner.originalMessage) ??
    text(fields.error) ??
    text(fields.detail) ??
    plain ??
    `The upstream answered ${status} without saying why.`
  const name = header('x-amzn-errortype') ?? text(fields.__type) ?? text(inner.type) ?? text(inner.code) ?? ''
  const kind =
    kindOfException(name, message) ??
    kindInWords(kindOfStatus[status] ?? (status >= 400 && status < 500 ? 'invalid_request' : 'upstream_error'), message)
  return { kind, status: errorKinds[kind].status, message }
}

export function tapResponse(body: JsonObject): ResponseTap {
  const tap: ResponseTap = {}
  if (body.output === undefined && (body.message !== undefined || body.__type !== undefined))
    tap.error = decodeError(200, body)
  put(tap, 'usage', decodeUsage(body.usage))
  put(tap, 'finish', text(body.stopReason) === undefined ? undefined : decodeFinish(body.stopReason, undefined).reason)
  return tap
}
