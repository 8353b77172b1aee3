import type { FakeFormat, JsonObject, Script } from './types.ts'

/** An HTTP error as a provider answers it. */
export interface WireError {
  readonly status: number
  readonly message: string
  /** Chat: `error.type`, messages: likewise. Default: by status. */
  readonly type?: string
  readonly code?: string
  readonly param?: string
  readonly details?: JsonObject
}

interface Words {
  readonly type: string
  readonly code: string | null
  readonly message: string
}

const chatWords: Readonly<Record<number, Words>> = {
  400: { type: 'invalid_request_error', code: null, message: 'Invalid request.' },
  401: { type: 'invalid_request_error', code: 'invalid_api_key', message: 'Incorrect API key provided.' },
  403: {
    type: 'invalid_request_error',
    code: 'unsupported_country_region_territory',
    message: 'Country, region, or territory not supported',
  },
  404: {
    type: 'invalid_request_error',
    code: 'model_not_found',
    message: 'The model does not exist or you do not have access to it.',
  },
  429: {
    type: 'requests',
    code: 'rate_limit_exceeded',
    message:
      'Rate limit reached for requests. Limit: 500 / min. Please try again later. Visit https://platform.openai.com/account/rate-limits to learn more.',
  },
  500: {
    type: 'server_error',
    code: null,
    message: 'The server had an error while processing your request. Sorry about that!',
  },
  503: {
    type: 'server_error',
    code: null,
    message: 'The server is currently overloaded with other requests. Sorry about that! You can retry your request.',
  },
}

const messagesWords: Readonly<Record<number, Words>> = {
  400: { type: 'invalid_request_error', code: null, message: 'Invalid request.' },
  401: { type: 'authentication_error', code: null, message: 'invalid x-api-key' },
  402: { type: 'billing_error', code: null, message: 'Your credit balance is too low to access the API.' },
  403: {
    type: 'permission_error',
    code: null,
    message: 'Your API key does not have permission to use the specified resource.',
  },
  404: { type: 'not_found_error', code: null, message: 'Not found' },
  409: { type: 'conflict_error', code: null, message: 'Conflict' },
  413: { type: 'request_too_large', code: null, message: 'Request exceeds the maximum allowed number of bytes.' },
  429: {
    type: 'rate_limit_error',
    code: null,
    message: "This request would exceed your organization's rate limit of 50 requests per minute.",
  },
  500: { type: 'api_error', code: null, message: 'Internal server error' },
  504: { type: 'timeout_error', code: null, message: 'Request timed out' },
  529: { type: 'overloaded_error', code: null, message: 'Overloaded' },
}

const wordsFor = (format: FakeFormat, status: number): Words => {
  const table = format === 'chat' ? chatWords : messagesWords
  return table[status] ?? table[status < 500 ? 400 : 500] ?? { type: 'server_error', code: null, message: 'Error' }
}

/** The error a status stands for, with the script's own words where it has some. */
export function errorOfStatus(format: FakeFormat, status: number, own: Script['error'] = {}): WireError {
  const words = wordsFor(format, status)
  const code = own.code ?? words.code
  return {
    status,
    type: own.type ?? words.type,
    message: own.message ?? words.message,
    ...(code === null ? {} : { code }),
    ...(own.param === undefined ? {} : { param: own.param }),
  }
}

/** The status an error type is answered with when there is no stream yet. */
export function statusOfType(format: FakeFormat, type: string): number {
  const table = format === 'chat' ? chatWords : messagesWords
  const found = Object.entries(table).find(([, words]) => words.type === type)
  if (found) return Number(found[0])
  return type === 'overloaded_error' ? 503 : type === 'rate_limit_error' ? 429 : 500
}

/** The body of an error in the format's shape. */
export function errorBody(format: FakeFormat, error: WireError, requestId: string): JsonObject {
  const type = error.type ?? wordsFor(format, error.status).type
  if (format === 'chat') {
    return { error: { message: error.message, type, param: error.param ?? null, code: error.code ?? null } }
  }
  return {
    type: 'error',
    error: { type, message: error.message, ...(error.details ? { details: error.details } : {}) },
    request_id: requestId,
  }
}
