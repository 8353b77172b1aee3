import { type ErrorKind, errorKinds } from '../../base/error-kinds.ts'
import type { ErrorInfo } from '../../base/errors.ts'
import { isObject, type Json, type JsonObject, stringifyExact } from '../../base/json/json.ts'
import type { SseEvent } from '../../http/sse/sse.ts'
import {
  errorObject as chatObject,
  decodeError as decodeChatError,
  encodeError as encodeChatError,
} from '../chat/error.ts'

/**
 * HTTP errors have the form of chat errors. The error object of an upstream of either format passes unchanged.
 * Unknown models are a 404 here too: OpenAI returns 400, but clients handle the 404.
 */
const asChat = (error: ErrorInfo): ErrorInfo => {
  const named = error.kind === 'model_not_found' && error.param === undefined ? { ...error, param: 'model' } : error
  return named.raw?.format === 'responses' ? { ...named, raw: { ...named.raw, format: 'chat' } } : named
}

/** Decodes the errors of chat, the nested and the flat form of a stream's `error` event, and `response.failed`. */
export function decodeError(status: number, body: Json): ErrorInfo {
  const info = decodeChatError(status, unwrap(body))
  return info.raw === undefined ? info : { ...info, raw: { ...info.raw, format: 'responses' } }
}

function unwrap(body: Json): Json {
  if (!isObject(body)) return body
  if (isObject(body.response) && isObject(body.response.error)) return { error: body.response.error }
  if (body.type !== 'error' || isObject(body.error)) return body
  const { type: _, sequence_number: _number, ...error } = body
  return { error }
}

/** Encodes an error response. */
export const encodeError = (error: ErrorInfo, requestId: string): ReturnType<typeof encodeChatError> =>
  encodeChatError(asChat(error), requestId)

/** Returns the object of a stream's `error` event. */
const errorObject = (error: ErrorInfo): JsonObject => chatObject(asChat(error))

/** Values of `response.error.code` in a stream. Agents decide by it whether to retry. */
const codes: Readonly<Partial<Record<ErrorKind, string>>> = {
  invalid_request: 'invalid_prompt',
  request_too_large: 'context_length_exceeded',
  context_length_exceeded: 'context_length_exceeded',
  not_found: 'invalid_prompt',
  model_not_found: 'model_not_found',
  rate_limited: 'rate_limit_exceeded',
  quota_exceeded: 'insufficient_quota',
  overloaded: 'server_is_overloaded',
}

/** Returns the `error` of a failed response. */
function failureObject(error: ErrorInfo): JsonObject {
  const own = error.raw?.format === 'responses' && typeof error.raw.value.code === 'string' ? error.raw.value.code : ''
  return {
    code: codes[error.kind] ?? (error.kind === 'upstream_error' && own ? own : 'server_error'),
    message: error.message,
  }
}

/** The type of an event stands in its `event` line and in its data: clients read either. */
const namedEvent = (type: string, number: number, fields: JsonObject): SseEvent => ({
  event: type,
  data: stringifyExact({ type, sequence_number: number, ...fields }),
})

/**
 * Returns the two events that end a broken stream. Some clients throw at `error` and ignore `response.failed`; others know
 * only the latter. The first holds the error both flat, as documented, and nested, as OpenAI sends it.
 *
 * @param number the sequence number of the first event
 */
export function errorEvents(error: ErrorInfo, response: JsonObject, number: number): SseEvent[] {
  const object = errorObject(error)
  const { code = null, message = '', param = null } = object
  return [
    namedEvent('error', number, { code, message, param, error: object }),
    namedEvent('response.failed', number + 1, {
      response: { output: [], ...response, status: 'failed', error: failureObject(error) },
    }),
  ]
}

/** The error of a stream that ended without its terminal event. */
export const truncated: ErrorInfo = {
  kind: 'upstream_truncated',
  status: errorKinds.upstream_truncated.status,
  message: 'The upstream closed the stream before the end of its response.',
}
