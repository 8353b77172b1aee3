import { describe, expect, test } from 'vitest'
import { type ErrorKind, errorKinds } from '../../base/error-kinds.ts'
import type { ErrorInfo } from '../../base/errors.ts'
import type { Json } from '../../base/json/json.ts'
import { messagesCodec } from './index.ts'

const anthropic = (type: string, message: string): Json => ({ type: 'error', error: { type, message } })

describe('errors of upstreams', () => {
  test.each<[number, Json, ErrorKind, string]>([
    [
      400,
      anthropic('invalid_request_error', 'max_tokens: Field required'),
      'invalid_request',
      'max_tokens: Field required',
    ],
    [
      400,
      anthropic('invalid_request_error', 'prompt is too long: 3 tokens > 2 maximum'),
      'context_length_exceeded',
      'prompt is too long: 3 tokens > 2 maximum',
    ],
    [
      400,
      anthropic('invalid_request_error', 'Your credit balance is too low to access the API.'),
      'quota_exceeded',
      'Your credit balance is too low to access the API.',
    ],
    [401, anthropic('authentication_error', 'invalid x-api-key'), 'authentication', 'invalid x-api-key'],
    [402, anthropic('billing_error', 'pay'), 'quota_exceeded', 'pay'],
    [403, anthropic('permission_error', 'no'), 'permission', 'no'],
    [404, anthropic('not_found_error', 'model: x'), 'model_not_found', 'model: x'],
    [404, anthropic('not_found_error', 'file gone'), 'not_found', 'file gone'],
    [409, anthropic('conflict_error', 'busy'), 'conflict', 'busy'],
    [413, anthropic('request_too_large', 'big'), 'request_too_large', 'big'],
    [429, anthropic('rate_limit_error', 'slow'), 'rate_limited', 'slow'],
    [500, anthropic('api_error', 'oops'), 'upstream_error', 'oops'],
    [504, anthropic('timeout_error', 'late'), 'upstream_timeout', 'late'],
    [529, anthropic('overloaded_error', 'Overloaded'), 'overloaded', 'Overloaded'],
    [200, anthropic('overloaded_error', 'Overloaded'), 'overloaded', 'Overloaded'],
    [400, anthropic('type_of_next_year', 'hm'), 'invalid_request', 'hm'],
    [529, '', 'overloaded', 'The upstream responded with status 529 and no error message.'],
    [502, '<html>Bad gateway</html>', 'upstream_error', 'The upstream responded with status 502 and no error message.'],
    [400, 'plain words', 'invalid_request', 'plain words'],
    [
      400,
      { message: 'The provided model identifier is invalid.' },
      'invalid_request',
      'The provided model identifier is invalid.',
    ],
    [422, { detail: 'unprocessable' }, 'invalid_request', 'unprocessable'],
    [400, { error: 'just a text' }, 'invalid_request', 'just a text'],
    [
      429,
      { error: { message: 'openai style', type: 'requests', code: 'rate_limit_exceeded' } },
      'rate_limited',
      'openai style',
    ],
    [503, null, 'overloaded', 'The upstream responded with status 503 and no error message.'],
  ])('decodes status %i with the body %j', (status, body, kind, message) => {
    expect(messagesCodec.decodeError(status, body)).toMatchObject({ kind, message, status: errorKinds[kind].status })
  })

  test('keeps the parameter and the code of an error', () => {
    const body = {
      type: 'error',
      error: {
        type: 'invalid_request_error',
        message: 'messages.2.content: Field required',
        details: { error_code: 'x_y' },
      },
    }
    expect(messagesCodec.decodeError(400, body)).toMatchObject({
      param: 'messages.2.content',
      code: 'x_y',
      raw: { format: 'messages', value: body.error },
    })
  })
})

describe('errors for clients', () => {
  test.each<[ErrorKind, number, string]>([
    ['invalid_request', 400, 'invalid_request_error'],
    ['unsupported_media_type', 415, 'invalid_request_error'],
    ['method_not_allowed', 405, 'invalid_request_error'],
    ['request_too_large', 413, 'request_too_large'],
    ['authentication', 401, 'authentication_error'],
    ['permission', 403, 'permission_error'],
    ['not_found', 404, 'not_found_error'],
    ['conflict', 409, 'conflict_error'],
    ['rate_limited', 429, 'rate_limit_error'],
    ['quota_exceeded', 429, 'rate_limit_error'],
    ['overloaded', 529, 'overloaded_error'],
    ['timeout', 408, 'timeout_error'],
    ['internal', 500, 'api_error'],
    ['not_implemented', 501, 'api_error'],
    ['upstream_auth', 502, 'api_error'],
    ['upstream_truncated', 502, 'api_error'],
    ['upstream_timeout', 504, 'timeout_error'],
  ])('encodes %s with its status and type', (kind, status, type) => {
    const error: ErrorInfo = { kind, status: errorKinds[kind].status, message: 'm' }
    expect(messagesCodec.encodeError(error, 'req_1')).toEqual({
      status,
      body: { type: 'error', error: { type, message: 'm' }, request_id: 'req_1' },
    })
  })
})

const sent = (error: Partial<ErrorInfo> & { kind: ErrorKind; message: string }): unknown =>
  messagesCodec.encodeError({ status: errorKinds[error.kind].status, ...error }, '').body.error

describe('messages that clients parse', () => {
  test.each<[ErrorKind, string, string]>([
    ['model_not_found', "The model 'gpt-9' does not exist or you do not have access to it.", 'model: gpt-9'],
    ['model_not_found', 'model: claude-x', 'model: claude-x'],
    ['model_not_found', 'No such thing.', 'model: No such thing.'],
    [
      'context_length_exceeded',
      "This model's maximum context length is 8192 tokens. However, your messages resulted in 10001 tokens.",
      'prompt is too long: 10001 tokens > 8192 maximum',
    ],
    [
      'context_length_exceeded',
      "This model's maximum context length is 128000 tokens. However, you requested 150000 tokens (120000 in the messages, 30000 in the completion).",
      'input length and `max_tokens` exceed context limit: 120000 + 30000 > 128000, decrease input length or `max_tokens` and try again',
    ],
    [
      'context_length_exceeded',
      "This model's maximum context length is 4096 tokens. However, you requested 9000 tokens (7000 in the messages, 1000 in the functions, and 1000 in the completion).",
      'prompt is too long: 8000 tokens > 4096 maximum',
    ],
    ['context_length_exceeded', 'Too much.', 'prompt is too long: Too much.'],
    ['context_length_exceeded', 'prompt is too long: 3 tokens > 2 maximum', 'prompt is too long: 3 tokens > 2 maximum'],
  ])('encodes %s with the message that clients expect: %s', (kind, message, wording) => {
    expect(sent({ kind, message })).toMatchObject({ message: wording })
  })

  test("returns Anthropic's error object unchanged if it is about the request, and not if it is about the gateway", () => {
    const raw = {
      format: 'messages' as const,
      value: { type: 'invalid_request_error', message: 'old', details: { a: 1 } },
    }
    expect(sent({ kind: 'invalid_request', message: 'new', raw })).toEqual({
      type: 'invalid_request_error',
      message: 'new',
      details: { a: 1 },
    })
    expect(sent({ kind: 'upstream_auth', message: 'new', raw })).toEqual({ type: 'api_error', message: 'new' })
    expect(sent({ kind: 'invalid_request', message: 'new', raw: { format: 'chat', value: { code: 'x' } } })).toEqual({
      type: 'invalid_request_error',
      message: 'new',
    })
  })
})
