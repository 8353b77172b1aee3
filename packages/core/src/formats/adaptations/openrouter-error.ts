import type { ErrorKind } from '../../base/error-kinds.ts'
import type { ErrorInfo } from '../../base/errors.ts'
import type { JsonObject } from '../../base/json/json.ts'
import { errorObject } from '../chat/error.ts'

/** OpenRouter's names of kinds of errors. Others are `server`. */
const types: { readonly [K in ErrorKind]?: string } = {
  invalid_request: 'invalid_request',
  unsupported_media_type: 'invalid_request',
  method_not_allowed: 'invalid_request',
  request_too_large: 'payload_too_large',
  context_length_exceeded: 'context_length_exceeded',
  authentication: 'authentication',
  permission: 'permission_denied',
  not_found: 'not_found',
  model_not_found: 'not_found',
  rate_limited: 'rate_limit_exceeded',
  quota_exceeded: 'payment_required',
  overloaded: 'provider_overloaded',
  unavailable: 'provider_unavailable',
  upstream_unreachable: 'provider_unavailable',
  timeout: 'timeout',
  upstream_timeout: 'timeout',
}

/** The error object of OpenRouter: the code is the status, and OpenAI's code is metadata. OpenAI's other members stay. */
export function openRouterError(error: ErrorInfo): JsonObject {
  const { code, ...members } = errorObject(error)
  const metadata: JsonObject = { error_type: types[error.kind] ?? 'server' }
  if (typeof code === 'string') metadata.provider_code = code
  return { ...members, code: error.status === 529 ? 503 : error.status, metadata }
}
