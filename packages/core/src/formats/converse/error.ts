import { type ErrorKind, errorKinds } from '../../base/error-kinds.ts'
import { type ErrorInfo, GatewayError } from '../../base/errors.ts'
import { isObject, type Json } from '../../base/json/json.ts'
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
