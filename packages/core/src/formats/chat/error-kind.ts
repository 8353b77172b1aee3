import type { ErrorKind } from '../../base/error-kinds.ts'
import { isObject } from '../../base/json/object.ts'
import type { Json } from '../../base/json/types.ts'
import { kindOfStatus } from '../shared/kind-of-status.ts'

/** An error's words, wherever in the body they stood. */
export interface ErrorWords {
  message: string
  type?: string
  code?: string
  param?: string
  /** A status that stands in the body (Google, OpenRouter, Groq's streams). */
  status?: number
  /** Google's `details`. */
  details?: Json
  /** A filter refused what the client wrote (OpenRouter, under a 403). */
  flagged?: boolean
}

/** Codes and types that say what happened, whatever status they came with. */
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

/** Vaguer words: they decide only where no status does, as in a stream. */
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

/** A key that is refused under a status that says otherwise (xAI: 400). */
const badKey = ['incorrect api key', 'invalid api key']

/** An account that has run dry: waiting does not fill it. Under 403 and 429 too (xAI), and 400 (Anthropic's kin). */
const dry = [
  'used all available credits',
  'spending limit',
  'insufficient balance',
  'insufficient credits',
  'credit balance',
]

export function classifyError(status: number, words: ErrorWords): ErrorKind {
  const { type, code, message } = words
  if (words.flagged) return 'invalid_request'
  // Groq: this one request asks for more than a minute's worth. No wait makes it smaller.
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
  // Groq's tier of calls that do not wait.
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
