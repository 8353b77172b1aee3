import { type ErrorKind, errorKinds } from '../../base/error-kinds.ts'
import type { ContextSize, ErrorInfo } from '../../base/errors.ts'
import { isObject, type Json, type JsonObject, put, stringifyExact } from '../../base/json/json.ts'
import type { SseEvent } from '../../http/sse/sse.ts'
import { innerStatus, isPlausibleDelay, kindOfStatus, retryDelay } from '../shared/error-status.ts'

const maxMessageLength = 2000
const noReasonMessage = (status: number): string => `The upstream responded with status ${status} and no error message.`

/**
 * Decodes Google's `{error: {code, message, status, details}}`, also within a list as in streams without SSE, and the forms
 * of proxies and compatible servers: `{error: text}`, `{message}`, `{detail}`, plain text.
 */
export function decodeError(status: number, body: Json): ErrorInfo {
  const source = Array.isArray(body) && isObject(body[0]) ? body[0] : body
  const fields = readErrorFields(status, source)
  const kind = classifyError(status, fields)
  const info: ErrorInfo = { kind, status: errorKinds[kind].status, message: fields.message.slice(0, maxMessageLength) }
  put(info, 'param', violationIn(fields.details))
  put(info, 'code', fields.code ?? fields.statusName)
  put(info, 'retryAfter', retryDelay(fields.details))
  if (isObject(source) && isObject(source.error) && typeof source.error.message === 'string')
    info.raw = { format: 'gemini', value: source.error }
  return info
}

/** Fields of an error, from any place in the body. */
interface ErrorFields {
  message: string
  /** The status as a word (`RESOURCE_EXHAUSTED`), or another vendor's error type. */
  statusName?: string
  code?: string
  /** The HTTP status in the body. */
  status?: number
  details?: Json
}

const text = (value: Json | undefined): string | undefined =>
  typeof value === 'string' && value.trim() !== '' ? value.trim() : undefined

function readErrorFields(status: number, body: Json): ErrorFields {
  if (typeof body === 'string') {
    const page = body.trim() === '' || body.trimStart().startsWith('<')
    return { message: page ? noReasonMessage(status) : body.trim() }
  }
  if (!isObject(body)) return { message: noReasonMessage(status) }
  const error = isObject(body.error) ? body.error : body
  const fields: ErrorFields = {
    message: text(error.message) ?? text(body.error) ?? text(body.detail) ?? noReasonMessage(status),
  }
  put(fields, 'statusName', text(error.status) ?? text(error.type))
  put(fields, 'code', text(error.code))
  put(fields, 'status', innerStatus(error))
  put(fields, 'details', error.details)
  return fields
}

/** Returns the invalid field of Google's BadRequest. */
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
  /** The reason in an ErrorInfo detail, if clients read one. */
  readonly reason?: string
}

/** Google's code and status for each kind. An invalid key is a 400, which Google's clients recognize by the reason. */
const wireKinds: Readonly<Record<ErrorKind, WireKind>> = {
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

/** Returns whether the client gets the details of Google's error object for a kind. */
const showsDetails = (kind: ErrorKind): boolean =>
  errorKinds[kind].aboutRequest === true || errorKinds[kind].isOverload === true

const typeUrl = (name: string): string => `type.googleapis.com/google.rpc.${name}`

/** Returns the error object of a body or of a stream event. */
function errorObject(error: ErrorInfo): JsonObject {
  const { kind, param, retryAfter, contextSize } = error
  const message = contextSize === undefined ? error.message : contextMessage(contextSize)
  const { code, status, reason } = wireKinds[kind]
  const own = error.raw?.format === 'gemini' && showsDetails(kind) ? error.raw.value : undefined
  const out: JsonObject = { ...own, code, message, status: text(own?.status) ?? status }
  const details: Json[] = Array.isArray(own?.details)
    ? own.details.filter((detail) => !isDebugInfo(detail) && isPlausibleDelay(detail))
    : []
  const has = (name: string): boolean => details.some((detail) => isObject(detail) && detail['@type'] === typeUrl(name))
  if (reason !== undefined && !has('ErrorInfo'))
    details.push({ '@type': typeUrl('ErrorInfo'), reason, domain: 'googleapis.com' })
  if (param !== undefined && param !== '' && !has('BadRequest'))
    details.push({ '@type': typeUrl('BadRequest'), fieldViolations: [{ field: param, description: message }] })
  // Gemini CLI reads the retry delay only here.
  if (retryAfter !== undefined && !has('RetryInfo'))
    details.push({ '@type': typeUrl('RetryInfo'), retryDelay: `${retryAfter}s` })
  if (details.length > 0) out.details = details
  else delete out.details
  return out
}

/** Google's sentence. Its own has no variant for the output, which has a limit of its own there. */
const contextMessage = ({ input, output, limit }: ContextSize): string =>
  output === 0
    ? `The input token count (${input}) exceeds the maximum number of tokens allowed (${limit}).`
    : `The input token count (${input}) and the requested output (${output}) exceed the maximum number of tokens allowed (${limit}).`

/** Returns whether a detail is for the server's developers: it holds stack traces and hosts. */
const isDebugInfo = (detail: Json): boolean => isObject(detail) && detail['@type'] === typeUrl('DebugInfo')

/** Encodes an error response. */
export function encodeError(error: ErrorInfo, _requestId: string): { status: number; body: JsonObject } {
  return { status: wireKinds[error.kind].code, body: { error: errorObject(error) } }
}

/** Kinds by the reason in Google's `details`, the most precise source. */
const kindByReason: Readonly<Record<string, ErrorKind>> = {
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

const kindByName: Readonly<Record<string, ErrorKind>> = {
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

/** Kinds by vague words, used only without an HTTP status, as in a stream. */
const kindByVagueName: Readonly<Record<string, ErrorKind>> = {
  invalid_argument: 'invalid_request',
  failed_precondition: 'invalid_request',
  out_of_range: 'invalid_request',
  invalid_request_error: 'invalid_request',
  not_found: 'not_found',
}

const tooLongPattern = /exceeds the maximum number of tokens|context (length|window)|prompt is too long/i
/** Searches in two steps: one pattern with `.*` would scan the rest of the message for each mention of the first words. */
const mentionsTokenLimit = (message: string): boolean =>
  message.split(/[\r\n]/).some((line) => {
    const counted = line.search(/token count/i)
    return counted >= 0 && /exceeds/i.test(line.slice(counted))
  })
const exhaustedPattern = /check your plan and billing|per ?day|daily limit|billing/i

/** Returns the kind of an error: by its reason, its name, its status, then its message. */
function classifyError(status: number, fields: ErrorFields): ErrorKind {
  const { message, details } = fields
  const reason = lookUp(kindByReason, reasonIn(details))
  const real = status >= 400 ? status : (fields.status ?? 0)
  const kind =
    reason ??
    lookUp(kindByName, fields.code?.toLowerCase()) ??
    lookUp(kindByName, fields.statusName?.toLowerCase()) ??
    kindOfStatus[real] ??
    lookUp(kindByVagueName, fields.statusName?.toLowerCase()) ??
    // `UNKNOWN`, `INTERNAL` and all other words are vaguer than the status: proxies write them for statuses that Google does not use.
    (real >= 400 && real < 500 ? 'invalid_request' : 'upstream_error')
  if (kind === 'invalid_request' && (tooLongPattern.test(message) || mentionsTokenLimit(message)))
    return 'context_length_exceeded'
  if (kind === 'invalid_request' && /api key (not valid|expired)/i.test(message)) return 'authentication'
  if (kind === 'not_found' && /\bmodels?\b/i.test(message)) return 'model_not_found'
  // The message names a quota that only time or a payment renews.
  if (kind === 'rate_limited' && exhaustedPattern.test(message) && /quota/i.test(message) && !hasDelay(details))
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

/** Returns the error event that ends a stream. */
export const errorEvent = (error: ErrorInfo): SseEvent => ({ data: stringifyExact({ error: errorObject(error) }) })

/** The error of a stream that ended before every candidate had a finish reason. */
export const truncated: ErrorInfo = {
  kind: 'upstream_truncated',
  status: errorKinds.upstream_truncated.status,
  message: 'The upstream closed the stream before the end of its response.',
}

const answerKeys = ['candidates', 'promptFeedback', 'prompt_feedback', 'usageMetadata', 'usage_metadata'] as const

/** Returns whether a body is a response. Usage alone is an empty response; a body with an error needs a candidate. */
export function isResponse(body: JsonObject): boolean {
  if (isObject(body.error)) return Array.isArray(body.candidates) && body.candidates.length > 0
  return answerKeys.some((key) => body[key] !== undefined && body[key] !== null)
}
