import { type ErrorKind, errorKinds } from '../../base/error-kinds.ts'
import type { ErrorInfo } from '../../base/errors.ts'
import { isObject, put } from '../../base/json/object.ts'
import type { Json, JsonObject } from '../../base/json/types.ts'
import { innerStatus } from '../shared/kind-of-status.ts'
import { inWords } from '../shared/reader.ts'
import { retryDelay } from '../shared/retry-delay.ts'
import { classifyError, type ErrorWords } from './error-kind.ts'

const longest = 512

/**
 * Reads the error of any vendor: OpenAI, Azure, OpenRouter, Groq `{error: {message, type, param, code}}`; xAI and Ollama
 * `{error: string}`; Mistral and Voyage `{detail}`; Cohere and vLLM `{message}`; Anthropic `{type: 'error', error}`;
 * Google `{error: {code, message, status, details}}`, also in a list; plain text.
 */
export function decodeError(status: number, body: Json): ErrorInfo {
  const source = Array.isArray(body) && isObject(body[0]) ? body[0] : body
  const words = readWords(status, source)
  const kind = classifyError(status, words)
  const info: ErrorInfo = { kind, status: errorKinds[kind].status, message: cut(words.message) }
  put(info, 'param', words.param)
  put(info, 'code', words.code)
  put(info, 'retryAfter', retryDelay(words.details))
  if (isObject(source) && isObject(source.error) && typeof source.error.message === 'string')
    info.raw = { format: 'chat', value: source.error }
  return info
}

/**
 * Returns the error of a response or chunk that also holds choices, as an error body. OpenRouter documents both: an `error` beside the
 * choices, and a choice that finished with `error`, under the status 200.
 */
export function errorWithin(body: JsonObject): JsonObject | undefined {
  if (body.error) return body
  if (!Array.isArray(body.choices)) return undefined
  const failed = body.choices.find((choice) => isObject(choice) && choice.finish_reason === 'error')
  if (!isObject(failed)) return undefined
  return { error: failed.error ?? 'The upstream ended its answer with an error.' }
}

const cut = (text: string): string => (text.length > longest ? `${text.slice(0, longest)}…` : text)
const text = (value: Json | undefined): string | undefined =>
  typeof value === 'string' && value !== '' ? value : typeof value === 'number' ? String(value) : undefined

function readWords(status: number, body: Json): ErrorWords {
  if (typeof body === 'string') {
    const trimmed = body.trim()
    const page = trimmed === '' || trimmed.startsWith('<')
    return { message: page ? `The upstream answered ${status} without saying why.` : trimmed }
  }
  if (!isObject(body)) return { message: `The upstream answered ${status} without saying why.` }
  const { error } = body
  const object = isObject(error) ? error : body
  const words: ErrorWords = {
    message:
      readMessage(object) ??
      text(error) ??
      readDetail(body.detail) ??
      `The upstream answered ${status} without saying why.`,
  }
  // Anthropic's outer `type: 'error'` is no word about the error.
  put(words, 'type', text(object.type) ?? (typeof object.status === 'string' ? text(object.status) : undefined))
  const code = text(object.code) ?? text(isObject(error) ? undefined : body.code)
  put(words, 'param', text(object.param))
  put(words, 'status', innerStatus(object))
  put(words, 'code', code)
  put(words, 'details', object.details)
  if (isObject(object.metadata) && object.metadata.flagged_input !== undefined) words.flagged = true
  return words
}

function readMessage(error: JsonObject): string | undefined {
  const message = text(error.message)
  // OpenRouter says "Provider returned error" and keeps the provider's own words beside it.
  const raw = isObject(error.metadata) ? text(error.metadata.raw) : undefined
  return message !== undefined && raw !== undefined ? `${message}: ${raw}` : message
}

/** FastAPI's `detail`: a text, or a list of `{loc, msg}`. */
function readDetail(detail: Json | undefined): string | undefined {
  if (!Array.isArray(detail)) return isObject(detail) ? text(detail.message) : text(detail)
  const lines = detail.map((item) =>
    isObject(item)
      ? `${Array.isArray(item.loc) ? `${item.loc.map(inWords).join('.')}: ` : ''}${text(item.msg) ?? ''}`
      : inWords(item),
  )
  return lines.join('; ') || undefined
}

/** What chat calls each kind; null: the sender's own code, if it gave one. */
const dialect: Readonly<Record<ErrorKind, readonly [type: string, code: string | null]>> = {
  invalid_request: ['invalid_request_error', null],
  unsupported_media_type: ['invalid_request_error', 'unsupported_media_type'],
  method_not_allowed: ['invalid_request_error', 'method_not_allowed'],
  request_too_large: ['invalid_request_error', 'request_too_large'],
  context_length_exceeded: ['invalid_request_error', 'context_length_exceeded'],
  authentication: ['invalid_request_error', 'invalid_api_key'],
  permission: ['invalid_request_error', null],
  not_found: ['invalid_request_error', null],
  model_not_found: ['invalid_request_error', 'model_not_found'],
  conflict: ['invalid_request_error', null],
  rate_limited: ['requests', 'rate_limit_exceeded'],
  quota_exceeded: ['insufficient_quota', 'insufficient_quota'],
  overloaded: ['server_error', 'server_is_overloaded'],
  unavailable: ['server_error', 'service_unavailable'],
  timeout: ['server_error', 'timeout'],
  internal: ['server_error', 'internal_error'],
  not_implemented: ['server_error', 'not_implemented'],
  upstream_auth: ['server_error', 'upstream_auth'],
  upstream_error: ['server_error', 'upstream_error'],
  upstream_bad_response: ['server_error', 'upstream_bad_response'],
  upstream_truncated: ['server_error', 'upstream_truncated'],
  upstream_unreachable: ['server_error', 'upstream_unreachable'],
  upstream_timeout: ['server_error', 'upstream_timeout'],
  upstream_connect_timeout: ['server_error', 'upstream_connect_timeout'],
  upstream_idle_timeout: ['server_error', 'upstream_idle_timeout'],
  upstream_total_timeout: ['server_error', 'upstream_total_timeout'],
  cancelled: ['server_error', 'cancelled'],
}

/** An upstream's error object with these kinds is for the client, word for word. */
const showsDetails = (kind: ErrorKind): boolean => errorKinds[kind].aboutRequest === true || kind === 'rate_limited'

/** The error object, with all four keys, as it stands in a body and in a stream. */
export function errorObject(error: ErrorInfo): JsonObject {
  const [type, code] = dialect[error.kind]
  const raw = error.raw?.format === 'chat' && showsDetails(error.kind) ? error.raw.value : undefined
  return {
    ...raw,
    message: error.message,
    type: text(raw?.type) ?? type,
    param: error.param ?? text(raw?.param) ?? null,
    code: text(raw?.code) ?? code ?? error.code ?? null,
  }
}

export function encodeError(error: ErrorInfo, _requestId: string): { status: number; body: JsonObject } {
  // 529 is a word of another dialect: chat clients know 503.
  return { status: error.status === 529 ? 503 : error.status, body: { error: errorObject(error) } }
}
