import { type ErrorKind, errorKinds } from '../../base/error-kinds.ts'
import type { ErrorInfo } from '../../base/errors.ts'
import { stringifyExact } from '../../base/json/exact-number.ts'
import { isObject, put } from '../../base/json/object.ts'
import type { Json, JsonObject } from '../../base/json/types.ts'
import type { SseEvent } from '../../http/sse/event.ts'
import { innerStatus, isPlausibleDelay, kindOfStatus, retryDelay } from '../shared/error-status.ts'

const longest = 2000
const silent = (status: number): string => `The upstream answered ${status} without saying why.`

/**
 * Reads Google's `{error: {code, message, status, details}}`, also in a list as streams without SSE have it, and what
 * proxies and compatible servers put in its place: `{error: text}`, `{message}`, `{detail}`, plain text.
 */
export function decodeError(status: number, body: Json): ErrorInfo {
  const source = Array.isArray(body) && isObject(body[0]) ? body[0] : body
  const words = readWords(status, source)
  const kind = classifyError(status, words)
  const info: ErrorInfo = { kind, status: errorKinds[kind].status, message: words.message.slice(0, longest) }
  put(info, 'param', violationIn(words.details))
  put(info, 'code', words.code ?? words.word)
  put(info, 'retryAfter', retryDelay(words.details))
  if (isObject(source) && isObject(source.error) && typeof source.error.message === 'string')
    info.raw = { format: 'gemini', value: source.error }
  return info
}

const text = (value: Json | undefined): string | undefined =>
  typeof value === 'string' && value.trim() !== '' ? value.trim() : undefined

function readWords(status: number, body: Json): ErrorWords {
  if (typeof body === 'string') {
    const page = body.trim() === '' || body.trimStart().startsWith('<')
    return { message: page ? silent(status) : body.trim() }
  }
  if (!isObject(body)) return { message: silent(status) }
  const error = isObject(body.error) ? body.error : body
  const words: ErrorWords = {
    message: text(error.message) ?? text(body.error) ?? text(body.detail) ?? silent(status),
  }
  put(words, 'word', text(error.status) ?? text(error.type))
  put(words, 'code', text(error.code))
  put(words, 'status', innerStatus(error))
  put(words, 'details', error.details)
  return words
}

/** Google's BadRequest names the field at fault. */
function violationIn(details: Json | undefined): string | undefined {
  if (!Array.isArray(details)) return undefined
  for (const detail of details) {
    const [first] = isObject(detail) && Array.isArray(detail.fieldViolations) ? detail.fieldViolations : []
    if (isObject(first) && typeof first.field === 'string' && first.field !== '') return first.field
  }
  return undefined
}

interface WireKind {
  readonly code: number
  readonly status: string
  /** The reason in an ErrorInfo detail, where Google gives one that clients read. */
  readonly reason?: string
}

/** What Google calls each kind. A bad key is a 400 there, and its clients know it by the reason. */
const wire: Readonly<Record<ErrorKind, WireKind>> = {
  invalid_request: { code: 400, status: 'INVALID_ARGUMENT' },
  unsupported_media_type: { code: 415, status: 'INVALID_ARGUMENT' },
  method_not_allowed: { code: 405, status: 'INVALID_ARGUMENT' },
  request_too_large: { code: 413, status: 'INVALID_ARGUMENT' },
  context_length_exceeded: { code: 400, status: 'INVALID_ARGUMENT' },
  authentication: { code: 400, status: 'INVALID_ARGUMENT', reason: 'API_KEY_INVALID' },
  permission: { code: 403, status: 'PERMISSION_DENIED' },
  not_found: { code: 404, status: 'NOT_FOUND' },
  model_not_found: { code: 404, status: 'NOT_FOUND' },
  conflict: { code: 409, status: 'ABORTED' },
  rate_limited: { code: 429, status: 'RESOURCE_EXHAUSTED' },
  quota_exceeded: { code: 429, status: 'RESOURCE_EXHAUSTED' },
  overloaded: { code: 503, status: 'UNAVAILABLE' },
  unavailable: { code: 503, status: 'UNAVAILABLE' },
  timeout: { code: 408, status: 'DEADLINE_EXCEEDED' },
  internal: { code: 500, status: 'INTERNAL' },
  not_implemented: { code: 501, status: 'UNIMPLEMENTED' },
  upstream_auth: { code: 502, status: 'INTERNAL' },
  upstream_error: { code: 502, status: 'INTERNAL' },
  upstream_bad_response: { code: 502, status: 'INTERNAL' },
  upstream_truncated: { code: 502, status: 'INTERNAL' },
  upstream_unreachable: { code: 502, status: 'UNAVAILABLE' },
  upstream_timeout: { code: 504, status: 'DEADLINE_EXCEEDED' },
  upstream_connect_timeout: { code: 504, status: 'DEADLINE_EXCEEDED' },
  upstream_idle_timeout: { code: 502, status: 'INTERNAL' },
  upstream_total_timeout: { code: 504, status: 'DEADLINE_EXCEEDED' },
  cancelled: { code: 499, status: 'CANCELLED' },
}

/** Google's own error object with these kinds, with its details, is for the client. */
const showsDetails = (kind: ErrorKind): boolean =>
  errorKinds[kind].aboutRequest === true || errorKinds[kind].isOverload === true

const type = (name: string): string => `type.googleapis.com/google.rpc.${name}`

/** The error object, as it stands in a body and in a stream. */
export function errorObject(error: ErrorInfo): JsonObject {
  const { kind, message, param, retryAfter } = error
  const { code, status, reason } = wire[kind]
  const own = error.raw?.format === 'gemini' && showsDetails(kind) ? error.raw.value : undefined
  const out: JsonObject = { ...own, code, message, status: text(own?.status) ?? status }
  const details: Json[] = Array.isArray(own?.details)
    ? own.details.filter((detail) => !isDebug(detail) && isPlausibleDelay(detail))
    : []
  const has = (name: string): boolean => details.some((detail) => isObject(detail) && detail['@type'] === type(name))
  if (reason !== undefined && !has('ErrorInfo'))
    details.push({ '@type': type('ErrorInfo'), reason, domain: 'googleapis.com' })
  if (param !== undefined && param !== '' && !has('BadRequest'))
    details.push({ '@type': type('BadRequest'), fieldViolations: [{ field: param, description: message }] })
  // Gemini CLI reads the delay here and nowhere else.
  if (retryAfter !== undefined && !has('RetryInfo'))
    details.push({ '@type': type('RetryInfo'), retryDelay: `${retryAfter}s` })
  if (details.length > 0) out.details = details
  else delete out.details
  return out
}

/** What a server says to its own developers, stack and hosts included. */
const isDebug = (detail: Json): boolean => isObject(detail) && detail['@type'] === type('DebugInfo')

export function encodeError(error: ErrorInfo, _requestId: string): { status: number; body: JsonObject } {
  return { status: wire[error.kind].code, body: { error: errorObject(error) } }
}

/** An error's words, wherever in the body they stood. */
export interface ErrorWords {
  message: string
  /** `RESOURCE_EXHAUSTED`, or another vendor's type. */
  word?: string
  code?: string
  /** A status that stands in the body. */
  status?: number
  details?: Json
}

/** Reasons in Google's `details` say most precisely what happened. */
const byReason: Readonly<Record<string, ErrorKind>> = {
  API_KEY_INVALID: 'authentication',
  API_KEY_EXPIRED: 'authentication',
  API_KEY_SERVICE_BLOCKED: 'permission',
  ACCESS_TOKEN_EXPIRED: 'authentication',
  SERVICE_DISABLED: 'permission',
  IAM_PERMISSION_DENIED: 'permission',
  CONSUMER_INVALID: 'permission',
  BILLING_DISABLED: 'quota_exceeded',
  RATE_LIMIT_EXCEEDED: 'rate_limited',
}

const byWord: Readonly<Record<string, ErrorKind>> = {
  unauthenticated: 'authentication',
  permission_denied: 'permission',
  resource_exhausted: 'rate_limited',
  unavailable: 'overloaded',
  deadline_exceeded: 'upstream_timeout',
  aborted: 'conflict',
  already_exists: 'conflict',
  insufficient_quota: 'quota_exceeded',
  rate_limit_exceeded: 'rate_limited',
  rate_limit_error: 'rate_limited',
  overloaded_error: 'overloaded',
  authentication_error: 'authentication',
  permission_error: 'permission',
  invalid_api_key: 'authentication',
  context_length_exceeded: 'context_length_exceeded',
  model_not_found: 'model_not_found',
}

/** Vaguer words: they decide only where no status does, as in a stream. */
const byVagueWord: Readonly<Record<string, ErrorKind>> = {
  invalid_argument: 'invalid_request',
  failed_precondition: 'invalid_request',
  out_of_range: 'invalid_request',
  invalid_request_error: 'invalid_request',
  not_found: 'not_found',
}

const tooLong = /exceeds the maximum number of tokens|context (length|window)|prompt is too long/i
/** In two steps: as one pattern with `.*` between, each mention of the first would search all of the rest for the second. */
const saysTooManyTokens = (message: string): boolean =>
  message.split(/[\r\n]/).some((line) => {
    const counted = line.search(/token count/i)
    return counted >= 0 && /exceeds/i.test(line.slice(counted))
  })
const spent = /check your plan and billing|per ?day|daily limit|billing/i

export function classifyError(status: number, words: ErrorWords): ErrorKind {
  const { message, details } = words
  const reason = lookUp(byReason, reasonIn(details))
  const real = status >= 400 ? status : (words.status ?? 0)
  const kind =
    reason ??
    lookUp(byWord, words.code?.toLowerCase()) ??
    lookUp(byWord, words.word?.toLowerCase()) ??
    kindOfStatus[real] ??
    lookUp(byVagueWord, words.word?.toLowerCase()) ??
    // `UNKNOWN`, `INTERNAL` and every other word say less than the status: proxies write them for statuses that Google does not use.
    (real >= 400 && real < 500 ? 'invalid_request' : 'upstream_error')
  if (kind === 'invalid_request' && (tooLong.test(message) || saysTooManyTokens(message)))
    return 'context_length_exceeded'
  if (kind === 'invalid_request' && /api key (not valid|expired)/i.test(message)) return 'authentication'
  if (kind === 'not_found' && /\bmodels?\b/i.test(message)) return 'model_not_found'
  // A quota that only a day or a payment renews says so in its text, beside a delay of a minute.
  if (kind === 'rate_limited' && spent.test(message) && /quota/i.test(message) && !hasDelay(details))
    return 'quota_exceeded'
  return kind
}

const lookUp = (table: Readonly<Record<string, ErrorKind>>, word: string | undefined): ErrorKind | undefined =>
  word !== undefined && Object.hasOwn(table, word) ? table[word] : undefined

function reasonIn(details: Json | undefined): string | undefined {
  if (!Array.isArray(details)) return undefined
  for (const detail of details) if (isObject(detail) && typeof detail.reason === 'string') return detail.reason
  return undefined
}

const hasDelay = (details: Json | undefined): boolean =>
  Array.isArray(details) && details.some((detail) => isObject(detail) && detail.retryDelay !== undefined)

/** A stream's error event: nothing follows it. */
export const errorEvent = (error: ErrorInfo): SseEvent => ({ data: stringifyExact({ error: errorObject(error) }) })

export const truncated: ErrorInfo = {
  kind: 'upstream_truncated',
  status: errorKinds.upstream_truncated.status,
  message: 'The upstream ended its stream before the answer was complete.',
}

const answerKeys = ['candidates', 'promptFeedback', 'prompt_feedback', 'usageMetadata', 'usage_metadata'] as const

/** Counts alone are an answer, too: the model said nothing. Beside an error, only a candidate is one. */
export function isAnswer(body: JsonObject): boolean {
  if (isObject(body.error)) return Array.isArray(body.candidates) && body.candidates.length > 0
  return answerKeys.some((key) => body[key] !== undefined && body[key] !== null)
}
