import { type ErrorKind, errorKinds } from '../../base/error-kinds.ts'
import type { ErrorInfo } from '../../base/errors.ts'
import { isObject, put } from '../../base/json/object.ts'
import type { Json, JsonObject } from '../../base/json/types.ts'
import { innerStatus } from '../shared/kind-of-status.ts'
import { isSaneDelay, retryDelay } from '../shared/retry-delay.ts'
import { classifyError, type ErrorWords } from './error-kind.ts'

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
    ? own.details.filter((detail) => !isDebug(detail) && isSaneDelay(detail))
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
