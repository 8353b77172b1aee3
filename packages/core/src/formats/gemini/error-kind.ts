import type { ErrorKind } from '../../base/error-kinds.ts'
import { isObject } from '../../base/json/object.ts'
import type { Json } from '../../base/json/types.ts'
import { kindOfStatus } from '../shared/kind-of-status.ts'

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
