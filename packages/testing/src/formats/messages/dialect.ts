import type { JsonObject } from '../../base/json.ts'
import { modelsCreated } from '../../contract/options.ts'
import { type ErrorTable, errorTextFor, invalidRequest, type WireError } from '../../wire/errors.ts'
import { eventPiece } from '../../wire/piece.ts'
import { checkAnthropicKey } from '../credentials.ts'
import type { Dialect, RequestHead } from '../dialect.ts'
import { anthropicHeaders } from '../response-head.ts'
import { checkCount, checkMessages } from './check.ts'
import { anthropicSealStyle } from './check-blocks.ts'
import { readMessages } from './read.ts'
import { messagesBody, messagesEvents } from './render.ts'

const errorTable: ErrorTable = {
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

const errorBody = (error: WireError, requestId: string): JsonObject => ({
  type: 'error',
  error: {
    type: error.type ?? errorTextFor(errorTable, error.status).type,
    message: error.message,
    ...(error.details === undefined ? {} : { details: error.details }),
  },
  request_id: requestId,
})

const modelEntry = (id: string): JsonObject => ({
  type: 'model',
  id,
  display_name: id,
  created_at: new Date(modelsCreated * 1000).toISOString().replace('.000', ''),
})

function checkVersion({ headers }: RequestHead): WireError | undefined {
  const version = headers['anthropic-version']
  if (version === undefined) return invalidRequest(400, 'anthropic-version: header is required')
  if (/^\d{4}-\d{2}-\d{2}$/.test(version)) return undefined
  return invalidRequest(
    400,
    `anthropic-version: "${version}" is not a valid version. Specify a valid version in the "anthropic-version" header`,
  )
}

/** Anthropic's Messages. */
export const messages: Dialect = {
  errorTable,
  defaultStreamErrorType: 'overloaded_error',
  indent: undefined,
  jsonType: 'application/json',
  streamType: 'text/event-stream; charset=utf-8',
  sealStyle: anthropicSealStyle,
  cachesAutomatically: false,
  alwaysSeals: false,
  notJsonError: invalidRequest(400, 'The request body is not valid JSON: expected value at line 1 column 1'),
  createResponseHead: (ids, now) => anthropicHeaders(ids, now),
  unknownPathError: () => ({ status: 404, type: 'not_found_error', message: 'Not Found' }),
  wrongMethodError: () => invalidRequest(405, 'Method Not Allowed'),
  authenticate: (head, apiKey) => checkAnthropicKey(head, apiKey) ?? checkVersion(head),
  check: (body, { seals, route }) =>
    route.operation === 'count-tokens' ? checkCount(body, seals) : checkMessages(body, seals),
  read: (body) => readMessages(body),
  unknownModelError: (model) => ({ status: 404, type: 'not_found_error', message: `model: ${model}` }),
  errorBody,
  // Anthropic marks its client errors as not retryable.
  errorHeaders: ({ status }): Record<string, string> =>
    status < 500 && status !== 429 && status !== 409 ? { 'x-should-retry': 'false' } : {},
  sealedText: (thought) => thought,
  answerId: (ids) => ids.message(),
  callId: (ids) => ids.toolUse(),
  tokenCountBody: (tokens) => ({ input_tokens: tokens }),
  render: ({ answer, padding }) => ({
    body: () => messagesBody(answer),
    events: () => messagesEvents(answer, padding),
  }),
  failurePiece: (error, requestId) => eventPiece('error', errorBody(error, requestId)),
  listModels(models, query) {
    const after = query.get('after_id')
    const left = after === null ? models : models.slice(models.indexOf(after) + 1)
    const page = left.slice(0, Number(query.get('limit') ?? 20))
    return {
      data: page.map(modelEntry),
      has_more: page.length < left.length,
      first_id: page[0] ?? null,
      last_id: page.at(-1) ?? null,
    }
  },
  modelEntry,
}
