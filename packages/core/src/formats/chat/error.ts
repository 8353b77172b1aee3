import { type ErrorKind, errorKinds } from '../../base/error-kinds.ts'
import type { ErrorInfo } from '../../base/errors.ts'
import { isObject, type Json, type JsonObject, put } from '../../base/json/json.ts'
import { innerStatus, kindOfStatus, retryDelay } from '../shared/error-status.ts'
import { toText } from '../shared/json-fields.ts'

const longest = 512

/**
 * Decodes the error of any provider: OpenAI, Azure, OpenRouter, Groq `{error: {message, type, param, code}}`; xAI and Ollama
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

const cut = (text: string): string => (text.length > longest ? `${text.slice(0, longest)}…` : text)
const text = (value: Json | undefined): string | undefined =>
  typeof value === 'string' && value !== '' ? value : typeof value === 'number' ? String(value) : undefined

function readWords(status: number, body: Json): ErrorWords {
  if (typeof body === 'string') {
    const trimmed = body.trim()
    const page = trimmed === '' || trimmed.startsWith('<')
    return { message: page ? `The upstream responded with status ${status} and no error message.` : trimmed }
  }
  if (!isObject(body)) return { message: `The upstream responded with status ${status} and no error message.` }
  const { error } = body
  const object = isObject(error) ? error : body
  const words: ErrorWords = {
    message:
      readMessage(object) ??
      text(error) ??
      readDetail(body.detail) ??
      `The upstream responded with status ${status} and no error message.`,
  }
  // Anthropic's outer `type: 'error'` does not describe the error.
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
  // OpenRouter writes "Provider returned error" and the provider's message in `metadata.raw`.
  const raw = isObject(error.metadata) ? text(error.metadata.raw) : undefined
  return message !== undefined && raw !== undefined ? `${message}: ${raw}` : message
}

/** FastAPI's `detail`: a text, or a list of `{loc, msg}`. */
function readDetail(detail: Json | undefined): string | undefined {
  if (!Array.isArray(detail)) return isObject(detail) ? text(detail.message) : text(detail)
  const lines = detail.map((item) =>
    isObject(item)
      ? `${Array.isArray(item.loc) ? `${item.loc.map(toText).join('.')}: ` : ''}${text(item.msg) ?? ''}`
      : toText(item),
  )
  return lines.join('; ') || undefined
}

/** Type and code of each error kind; null: the upstream's code, if any. */
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

/** Returns whether clients get the upstream's error object of this kind unchanged. */
const showsDetails = (kind: ErrorKind): boolean => errorKinds[kind].aboutRequest === true || kind === 'rate_limited'

/** Returns the error object of bodies and streams, with all four keys. */
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
  // 529 is Anthropic's status; chat clients know 503.
  return { status: error.status === 529 ? 503 : error.status, body: { error: errorObject(error) } }
}

/** The parts of an error, from any place in the body. */
export interface ErrorWords {
  message: string
  type?: string
  code?: string
  param?: string
  /** A status in the body (Google, OpenRouter, Groq's streams). */
  status?: number
  /** Google's `details`. */
  details?: Json
  /** A moderation filter rejected the input (OpenRouter, with status 403). */
  flagged?: boolean
}

/** Codes and types that decide the kind, regardless of the status. */
const byWord: Readonly<Record<string, ErrorKind>> = {
  insufficient_quota: 'quota_exceeded',
  quota_exceeded: 'quota_exceeded',
  billing_error: 'quota_exceeded',
  billing_hard_limit_reached: 'quota_exceeded',
  context_length_exceeded: 'context_length_exceeded',
  model_not_found: 'model_not_found',
  deploymentnotfound: 'model_not_found',
  rate_limit_exceeded: 'rate_limited',
  rate_limit_error: 'rate_limited',
  too_many_requests: 'rate_limited',
  resource_exhausted: 'rate_limited',
  invalid_api_key: 'authentication',
  invalid_authentication: 'authentication',
  authentication_error: 'authentication',
  unauthenticated: 'authentication',
  permission_error: 'permission',
  permission_denied: 'permission',
  unsupported_country_region_territory: 'permission',
  overloaded_error: 'overloaded',
  server_is_overloaded: 'overloaded',
  slow_down: 'overloaded',
  unavailable: 'overloaded',
  timeout_error: 'upstream_timeout',
  deadline_exceeded: 'upstream_timeout',
  request_too_large: 'request_too_large',
  too_many_prompt_tokens: 'context_length_exceeded', // Perplexity
  capacity_exceeded: 'overloaded', // Groq
}

/** Ambiguous codes and types, used only without a status, as in a stream. */
const byVagueWord: Readonly<Record<string, ErrorKind>> = {
  invalid_request_error: 'invalid_request',
  invalid_argument: 'invalid_request',
  failed_precondition: 'invalid_request',
  bad_request: 'invalid_request',
  badrequesterror: 'invalid_request',
  not_found_error: 'not_found',
  not_found: 'not_found',
  requests: 'rate_limited',
  tokens: 'rate_limited',
}

const tooLong = [
  'maximum context length',
  'context length exceeded',
  'context window',
  'prompt is too long',
  'prompt too long',
  'exceeds the available context size',
  'input token count exceeds',
  '`inputs` tokens + `max_new_tokens`', // Together
]

/** Messages about an invalid key with another status than 401 (xAI: 400). */
const badKey = ['incorrect api key', 'invalid api key']

/** Messages about an exhausted account, also with status 403 and 429 (xAI), and 400 (Anthropic-compatible servers). */
const dry = [
  'used all available credits',
  'spending limit',
  'insufficient balance',
  'insufficient credits',
  'credit balance',
]

function classifyError(status: number, words: ErrorWords): ErrorKind {
  const { type, code, message } = words
  if (words.flagged) return 'invalid_request'
  // Groq: this single request exceeds the limit per minute. Waiting does not help.
  if (status === 413 && code === 'rate_limit_exceeded') return 'request_too_large'
  for (const word of [code, type]) {
    const kind = word === undefined ? undefined : lookUp(byWord, word)
    if (kind !== undefined) return kind
  }
  if (hasReason(words.details, 'API_KEY_INVALID')) return 'authentication'
  // In a stream the status is 200; some vendors write the real one into the error.
  const real = status >= 400 ? status : (words.status ?? 0)
  const lower = message.toLowerCase()
  if ((real === 400 || real === 413 || real === 422 || real === 0) && tooLong.some((sign) => lower.includes(sign)))
    return 'context_length_exceeded'
  if (real >= 400 && real < 500) {
    if (badKey.some((sign) => lower.startsWith(sign))) return 'authentication'
    if (dry.some((sign) => lower.includes(sign))) return 'quota_exceeded'
  }
  // Groq's flex tier has no capacity.
  if (real === 498) return 'overloaded'
  if (real === 404 && lower.includes('model')) return 'model_not_found'
  const known = kindOfStatus[real]
  if (known !== undefined) return known
  if (real >= 400 && real < 500) return 'invalid_request'
  if (real >= 500) return 'upstream_error'
  for (const word of [code, type]) {
    const kind = word === undefined ? undefined : lookUp(byVagueWord, word)
    if (kind !== undefined) return kind
  }
  return 'upstream_error'
}

const lookUp = (table: Readonly<Record<string, ErrorKind>>, word: string): ErrorKind | undefined => {
  const key = word.toLowerCase()
  return Object.hasOwn(table, key) ? table[key] : undefined
}

const hasReason = (details: Json | undefined, reason: string): boolean =>
  Array.isArray(details) && details.some((detail) => isObject(detail) && detail.reason === reason)
