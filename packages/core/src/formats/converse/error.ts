import { type ErrorKind, errorKinds } from '../../base/error-kinds.ts'
import { type ErrorInfo, GatewayError } from '../../base/errors.ts'
import { isObject, type Json, type JsonObject, stringifyExact } from '../../base/json/json.ts'
import type { SseEvent } from '../../http/sse/sse.ts'
import { contextMessage } from '../messages/error.ts'
import { kindOfStatus } from '../shared/error-status.ts'

/** Decodes an error. Bedrock sends `{message}` and names the exception in a header. Proxies in front of it put the name into the body. */
export function decodeError(
  status: number,
  body: Json,
  header: (name: string) => string | undefined = () => undefined,
): ErrorInfo {
  const fields = isObject(body) ? body : {}
  const inner = isObject(fields.error) ? fields.error : fields
  const plain = typeof body === 'string' && !body.trimStart().startsWith('<') ? nonEmptyText(body) : undefined
  const message =
    nonEmptyText(inner.message) ??
    nonEmptyText(fields.Message) ??
    nonEmptyText(inner.originalMessage) ??
    nonEmptyText(fields.error) ??
    nonEmptyText(fields.detail) ??
    plain ??
    `The upstream responded with status ${status} and no error message.`
  const name =
    header('x-amzn-errortype') ??
    nonEmptyText(fields.__type) ??
    nonEmptyText(inner.type) ??
    nonEmptyText(inner.code) ??
    ''
  const kind =
    kindOfException(name, message) ??
    refineKind(kindOfStatus[status] ?? (status >= 400 && status < 500 ? 'invalid_request' : 'upstream_error'), message)
  return { kind, status: errorKinds[kind].status, message }
}

export const nonEmptyText = (value: Json | undefined): string | undefined =>
  typeof value === 'string' && value.trim() !== '' ? value.trim() : undefined

/** Error kinds by AWS exception name, for responses and streams. */
const kindByException: Readonly<Record<string, ErrorKind>> = {
  accessdeniedexception: 'permission',
  unrecognizedclientexception: 'authentication',
  invalidsignatureexception: 'authentication',
  incompletesignatureexception: 'authentication',
  signaturedoesnotmatch: 'authentication',
  missingauthenticationtokenexception: 'authentication',
  expiredtokenexception: 'authentication',
  throttlingexception: 'rate_limited',
  toomanyrequestsexception: 'rate_limited',
  servicequotaexceededexception: 'quota_exceeded',
  serviceunavailableexception: 'overloaded',
  modelnotreadyexception: 'overloaded',
  internalserverexception: 'upstream_error',
  internalfailure: 'upstream_error',
  modelerrorexception: 'upstream_error',
  modelstreamerrorexception: 'upstream_error',
  modeltimeoutexception: 'upstream_timeout',
  resourcenotfoundexception: 'model_not_found',
  conflictexception: 'conflict',
  validationexception: 'invalid_request',
}

/**
 * Returns the kind of an AWS exception, or undefined for an unknown name.
 * @param name exception name as received: it may have a namespace in front of `#` and an address after `:`
 */
function kindOfException(name: string, message: string): ErrorKind | undefined {
  const bare = name.replace(/:.*$/s, '').replace(/^.*#/s, '').trim().toLowerCase()
  const kind = Object.hasOwn(kindByException, bare) ? kindByException[bare] : undefined
  return kind === undefined ? undefined : refineKind(kind, message)
}

/** Returns a more exact kind where the message says more than the exception name. */
function refineKind(kind: ErrorKind, message: string): ErrorKind {
  if (kind === 'rate_limited' && /\bper day\b/i.test(message)) return 'quota_exceeded'
  if (kind !== 'invalid_request') return kind
  if (/input is too long|too many input tokens|exceeds? .{0,40}context/i.test(message)) return 'context_length_exceeded'
  if (/model identifier is invalid/i.test(message)) return 'model_not_found'
  return kind
}

/** Returns the GatewayError for an exception in a stream. Expired or refused credentials are always the gateway's, never the client's. */
export function streamException(name: string, message: string): GatewayError {
  const kind = kindOfException(name, message) ?? 'upstream_error'
  if (kind === 'authentication' || kind === 'permission')
    return new GatewayError(
      'upstream_auth',
      "The upstream rejected the gateway's own credentials. Your token is not the cause.",
    )
  return new GatewayError(kind, (message || `The upstream aborted its response with ${name}.`).slice(0, 2000))
}

interface Exception {
  readonly status: number
  readonly name: string
}

const validation: Exception = { status: 400, name: 'ValidationException' }
const notFound: Exception = { status: 404, name: 'ResourceNotFoundException' }
const modelError: Exception = { status: 424, name: 'ModelErrorException' }
const modelTimeout: Exception = { status: 408, name: 'ModelTimeoutException' }
const unavailable: Exception = { status: 503, name: 'ServiceUnavailableException' }

/**
 * AWS's exception for each kind, with the status that AWS sends. The gateway has already retried errors of upstreams: 424 keeps AWS's
 * SDKs from doing so again.
 */
const exceptions: Readonly<Record<ErrorKind, Exception>> = {
  invalid_request: validation,
  unsupported_media_type: { status: 415, name: 'UnsupportedMediaTypeException' },
  method_not_allowed: { status: 405, name: 'UnknownOperationException' },
  request_too_large: { status: 413, name: 'RequestEntityTooLargeException' },
  context_length_exceeded: validation,
  authentication: { status: 403, name: 'UnrecognizedClientException' },
  permission: { status: 403, name: 'AccessDeniedException' },
  not_found: notFound,
  model_not_found: notFound,
  conflict: { status: 409, name: 'ConflictException' },
  rate_limited: { status: 429, name: 'ThrottlingException' },
  quota_exceeded: { status: 400, name: 'ServiceQuotaExceededException' },
  overloaded: unavailable,
  unavailable,
  timeout: { status: 408, name: 'RequestTimeoutException' },
  internal: { status: 500, name: 'InternalServerException' },
  not_implemented: { status: 501, name: 'NotImplementedException' },
  upstream_auth: modelError,
  upstream_error: modelError,
  upstream_bad_response: modelError,
  upstream_truncated: modelError,
  upstream_unreachable: modelError,
  upstream_timeout: modelTimeout,
  upstream_connect_timeout: modelTimeout,
  upstream_idle_timeout: modelTimeout,
  upstream_total_timeout: modelTimeout,
  // No client receives it.
  cancelled: { ...modelError, status: 499 },
}

/** Encodes an error. AWS's SDKs read the name of the exception from a header. */
export function encodeError(error: ErrorInfo): { status: number; headers: Record<string, string>; body: JsonObject } {
  const { status, name } = exceptions[error.kind]
  return {
    status,
    headers: { 'x-amzn-errortype': name },
    body: { message: messageFor(error) },
  }
}

/** Clients recognize a prompt that is too long by Bedrock's sentence or by Anthropic's, and shorten it. */
function messageFor({ kind, message, contextSize }: ErrorInfo): string {
  if (kind !== 'context_length_exceeded' || /input is too long/i.test(message)) return message
  const cause =
    contextSize === undefined ? message : `The model returned the following errors: ${contextMessage(contextSize)}`
  return `Input is too long for requested model. ${cause}`
}

/** Exceptions that a stream may hold. SDKs give all others no class. */
const streamExceptions: Readonly<Record<string, string>> = {
  InternalServerException: 'internalServerException',
  ServiceUnavailableException: 'serviceUnavailableException',
  ThrottlingException: 'throttlingException',
  ValidationException: 'validationException',
}

/** Returns the event of an error within a stream. Its frame is an exception. */
export function exceptionEvent(error: ErrorInfo): SseEvent {
  const { name } = exceptions[error.kind]
  return {
    event: streamExceptions[name] ?? 'modelStreamErrorException',
    data: stringifyExact({ message: messageFor(error) }),
  }
}

/** Returns whether an event of a stream is an exception, by its name. */
export const isException = (type: string | undefined): boolean => type !== undefined && /exception$/i.test(type)
