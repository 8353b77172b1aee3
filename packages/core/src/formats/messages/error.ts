import { type ErrorKind, errorKinds } from '../../base/error-kinds.ts'
import { type ContextSize, type ErrorInfo, GatewayError } from '../../base/errors.ts'
import { isObject, type Json, type JsonObject, put, stringifyExact } from '../../base/json/json.ts'
import type { SseEvent } from '../../http/sse/sse.ts'
import { innerStatus, kindOfStatus } from '../shared/error-status.ts'

/**
 * Decodes `{type: 'error', error: {type, message}}` as Anthropic sends it. It also reads what other servers send instead: OpenAI's
 * `{error: {message, type, code}}`, Google's `{error: {code, message, status}}` (also in a list), `{error: text}`, the clouds'
 * `{message}`, FastAPI's `{detail}` and plain text.
 */
export function decodeError(status: number, value: Json): ErrorInfo {
  const body = Array.isArray(value) && isObject(value[0]) ? value[0] : value
  const error = isObject(body) && isObject(body.error) ? body.error : isObject(body) ? body : {}
  const message = readMessage(body, error) ?? `The upstream responded with status ${status} and no error message.`
  const effectiveStatus = status >= 400 ? status : (innerStatus(error) ?? status)
  const kind = kindOf(effectiveStatus, isObject(body) ? error.type : undefined, message)
  const info: ErrorInfo = { kind, status: errorKinds[kind].status, message }
  if (kind === 'invalid_request') put(info, 'param', paramOf(message))
  const details = isObject(error.details) ? error.details.error_code : undefined
  put(info, 'code', nonEmptyText(details) ?? nonEmptyText(error.code))
  // An error object in another vendor's form must not reach a client of Anthropic's format.
  if (isObject(body) && isObject(body.error) && typeof error.message === 'string' && typeof error.type === 'string')
    info.raw = { format: 'messages', value: error }
  return info
}

/** Encodes an error as status and body. An empty request id is left out. */
export function encodeError(error: ErrorInfo, requestId: string): { status: number; body: JsonObject } {
  const { status } = statusAndTypeOf[error.kind]
  return { status, body: requestId === '' ? errorBody(error) : { ...errorBody(error), request_id: requestId } }
}

/** Returns the body of an error, for responses and for the `error` event of streams. */
function errorBody(error: ErrorInfo): JsonObject {
  const original =
    error.raw?.format === 'messages' && errorKinds[error.kind].aboutRequest === true ? error.raw.value : undefined
  const type = typeof original?.type === 'string' ? original.type : statusAndTypeOf[error.kind].type
  const body: JsonObject = { ...original, type, message: original === undefined ? messageFor(error) : error.message }
  if (original === undefined && error.code === 'thread_not_found') body.details = { error_code: error.code }
  return { type: 'error', error: body }
}

/** Returns the `error` event of a stream. */
export const errorEvent = (error: ErrorInfo): SseEvent => ({ event: 'error', data: stringifyExact(errorBody(error)) })

/** Returns whether a request continues a thread. */
export const hasThread = ({ thread }: JsonObject): boolean => thread !== undefined && thread !== null

/** Returns the error for a request with `thread`. On its code, Anthropic's SDK sends the whole conversation instead. */
export function threadRefused(): GatewayError {
  const message =
    'thread: the model has no upstream that stores threads. Send the whole conversation in `messages`, without `thread`.'
  const code = 'thread_unsupported_request'
  return new GatewayError('invalid_request', message, {
    param: 'thread',
    code,
    raw: {
      format: 'messages',
      value: {
        type: 'invalid_request_error',
        message,
        details: { error_code: code, unsupported: ['thread'] },
      },
    },
  })
}

const kindOfType: Readonly<Record<string, ErrorKind>> = {
  invalid_request_error: 'invalid_request',
  authentication_error: 'authentication',
  billing_error: 'quota_exceeded',
  permission_error: 'permission',
  not_found_error: 'not_found',
  conflict_error: 'conflict',
  request_too_large: 'request_too_large',
  rate_limit_error: 'rate_limited',
  overloaded_error: 'overloaded',
  timeout_error: 'upstream_timeout',
}

const nonEmptyText = (value: Json | undefined): string | undefined =>
  typeof value === 'string' && value.trim() !== '' ? value.trim() : undefined

function readMessage(body: Json, error: JsonObject): string | undefined {
  if (typeof body === 'string') return body.trimStart().startsWith('<') ? undefined : nonEmptyText(body)
  if (!isObject(body)) return undefined
  return (
    nonEmptyText(error.message) ?? nonEmptyText(body.error) ?? nonEmptyText(body.detail) ?? nonEmptyText(body.Message)
  )
}

const tooLong =
  /(prompt|input) is too long|exceeds? (the )?(model's )?(maximum )?context|input length and .max_tokens. exceed/i

function kindOf(status: number, type: Json | undefined, message: string): ErrorKind {
  const byType = typeof type === 'string' && Object.hasOwn(kindOfType, type) ? kindOfType[type] : undefined
  // `api_error` says less than the status: proxies send it under any status.
  const kind = byType ?? kindOfStatus[status] ?? (status >= 400 && status < 500 ? 'invalid_request' : 'upstream_error')
  if (kind === 'invalid_request') {
    if (tooLong.test(message)) return 'context_length_exceeded'
    if (message.includes('credit balance is too low')) return 'quota_exceeded'
  }
  if (kind === 'not_found' && (message.startsWith('model:') || /\bmodel\b/i.test(message))) return 'model_not_found'
  return kind
}

/** Anthropic puts the name of the field in front of its message: `messages.1.content: Field required`. */
const paramOf = (message: string): string | undefined => /^([a-z_]+(?:\.[A-Za-z0-9_-]+)*): /.exec(message)?.[1]

interface WireKind {
  status: number
  type: string
}

const statusAndTypeOf = {
  invalid_request: { status: 400, type: 'invalid_request_error' },
  unsupported_media_type: { status: 415, type: 'invalid_request_error' },
  method_not_allowed: { status: 405, type: 'invalid_request_error' },
  request_too_large: { status: 413, type: 'request_too_large' },
  context_length_exceeded: { status: 400, type: 'invalid_request_error' },
  authentication: { status: 401, type: 'authentication_error' },
  permission: { status: 403, type: 'permission_error' },
  not_found: { status: 404, type: 'not_found_error' },
  model_not_found: { status: 404, type: 'not_found_error' },
  conflict: { status: 409, type: 'conflict_error' },
  rate_limited: { status: 429, type: 'rate_limit_error' },
  quota_exceeded: { status: 429, type: 'rate_limit_error' },
  overloaded: { status: 529, type: 'overloaded_error' },
  unavailable: { status: 503, type: 'api_error' },
  timeout: { status: 408, type: 'timeout_error' },
  internal: { status: 500, type: 'api_error' },
  not_implemented: { status: 501, type: 'api_error' },
  upstream_auth: { status: 502, type: 'api_error' },
  upstream_error: { status: 502, type: 'api_error' },
  upstream_bad_response: { status: 502, type: 'api_error' },
  upstream_truncated: { status: 502, type: 'api_error' },
  upstream_unreachable: { status: 502, type: 'api_error' },
  upstream_timeout: { status: 504, type: 'timeout_error' },
  upstream_connect_timeout: { status: 504, type: 'timeout_error' },
  upstream_idle_timeout: { status: 502, type: 'api_error' },
  upstream_total_timeout: { status: 504, type: 'timeout_error' },
  cancelled: { status: 499, type: 'api_error' },
} as const satisfies Record<ErrorKind, WireKind>

/** Clients parse some of Anthropic's sentences: Claude Code compacts on one and reads the model's name from another. */
function messageFor({ kind, message, param, contextSize }: ErrorInfo): string {
  if (contextSize !== undefined) return contextMessage(contextSize)
  // Anthropic's sentence is about the member `model`. An unknown model in another member keeps its own message.
  if (kind === 'model_not_found' && param !== undefined && param !== 'model') return message
  if (kind === 'model_not_found') return message.startsWith('model:') ? message : `model: ${quoted(message) ?? message}`
  if (kind !== 'context_length_exceeded' || message.includes('prompt is too long')) return message
  const parts = partsOf(message)
  if (parts !== undefined) return contextMessage(parts)
  const [limit, used] = [...message.matchAll(/\d{3,}/g)].map(Number).sort((a, b) => a - b)
  return limit !== undefined && used !== undefined && limit < used
    ? `prompt is too long: ${used} tokens > ${limit} maximum`
    : `prompt is too long: ${message}`
}

/** Reads OpenAI's sentence with four numbers: the limit, and the requested tokens, of which some are for the completion. */
function partsOf(message: string): ContextSize | undefined {
  const read = (pattern: RegExp): number => Number(pattern.exec(message)?.[1])
  const output = read(/(\d{1,9}) in the completion/)
  const limit = read(/context length is (\d+)/)
  const input = read(/you requested (\d+)/) - output
  return input + output > limit ? { input, output: input > limit ? 0 : output, limit } : undefined
}

/** Claude Code reads the numbers: it compacts the conversation after the first sentence, and lowers `max_tokens` after the second one. */
export const contextMessage = ({ input, output, limit }: ContextSize): string =>
  output === 0
    ? `prompt is too long: ${input} tokens > ${limit} maximum`
    : `input length and \`max_tokens\` exceed context limit: ${input} + ${output} > ${limit}, decrease input length or \`max_tokens\` and try again`

/** Returns the first quoted name in a sentence. */
const quoted = (message: string): string | undefined => /['`]([^'`]+)['`]/.exec(message)?.[1]
