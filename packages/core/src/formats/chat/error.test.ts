import { describe, expect, test } from 'vitest'
import { type ErrorKind, errorKinds } from '../../base/error-kinds.ts'
import type { Json } from '../../base/json/json.ts'
import { chatCodec } from './codec.ts'

const openai = (fields: { [key: string]: Json }): Json => ({
  error: { message: 'm', type: 't', param: null, code: null, ...fields },
})

const decoded: readonly (readonly [title: string, status: number, body: Json, kind: ErrorKind, message: string])[] = [
  ['OpenAI', 400, openai({ type: 'invalid_request_error' }), 'invalid_request', 'm'],
  ['OpenAI, unknown model', 404, openai({ code: 'model_not_found' }), 'model_not_found', 'm'],
  ['OpenAI, unknown model on responses', 400, openai({ code: 'model_not_found' }), 'model_not_found', 'm'],
  ['OpenAI, context too long', 400, openai({ code: 'context_length_exceeded' }), 'context_length_exceeded', 'm'],
  ['OpenAI, out of quota', 429, openai({ type: 'insufficient_quota' }), 'quota_exceeded', 'm'],
  ['OpenAI, out of quota as 400', 400, openai({ code: 'insufficient_quota' }), 'quota_exceeded', 'm'],
  ['OpenAI, out of quota within a stream', 200, openai({ code: 'insufficient_quota' }), 'quota_exceeded', 'm'],
  ['OpenAI, rate limit', 429, openai({ type: 'tokens', code: 'rate_limit_exceeded' }), 'rate_limited', 'm'],
  ['OpenAI, bad key', 401, openai({ code: 'invalid_api_key' }), 'authentication', 'm'],
  ['OpenAI, unsupported country', 403, openai({ code: 'unsupported_country_region_territory' }), 'permission', 'm'],
  ['OpenAI, server error', 500, openai({ type: 'server_error' }), 'upstream_error', 'm'],
  ['OpenAI, overloaded', 503, openai({ code: 'slow_down' }), 'overloaded', 'm'],
  ['Azure, code as text', 401, { error: { code: '401', message: 'Access denied' } }, 'authentication', 'Access denied'],
  [
    'OpenRouter',
    429,
    { error: { code: 429, message: 'Provider returned error', metadata: { raw: 'try later' } } },
    'rate_limited',
    'Provider returned error: try later',
  ],
  [
    'OpenRouter, flagged input',
    403,
    { error: { code: 403, message: 'Flagged', metadata: { reasons: ['violence'], flagged_input: 'x' } } },
    'invalid_request',
    'Flagged',
  ],
  [
    'OpenRouter within a stream',
    200,
    { error: { code: 400, message: 'Token limit reached' } },
    'invalid_request',
    'Token limit reached',
  ],
  [
    'Groq within a stream',
    200,
    openai({ type: 'invalid_request_error', code: 'tool_use_failed', status_code: 400 }),
    'invalid_request',
    'm',
  ],
  [
    'xAI',
    400,
    { code: 'Client specified an invalid argument', error: 'Model not found: x' },
    'invalid_request',
    'Model not found: x',
  ],
  [
    'xAI, bad key',
    400,
    { code: 'invalid-argument', error: 'Incorrect API key provided.' },
    'authentication',
    'Incorrect API key provided.',
  ],
  [
    'xAI, out of credits',
    429,
    { code: 'Some resource has been exhausted', error: 'Your team has used all available credits.' },
    'quota_exceeded',
    'Your team has used all available credits.',
  ],
  [
    'DeepSeek, out of credits',
    402,
    { error: { message: 'Insufficient Balance', type: 'unknown_error', param: null, code: 'invalid_request_error' } },
    'quota_exceeded',
    'Insufficient Balance',
  ],
  [
    'Perplexity, context too long',
    400,
    { error: { message: 'Too much.', type: 'too_many_prompt_tokens', code: 400 } },
    'context_length_exceeded',
    'Too much.',
  ],
  [
    'Together, context too long',
    422,
    { error: { message: 'Input validation error: `inputs` tokens + `max_new_tokens` must be <= 10' } },
    'context_length_exceeded',
    'Input validation error: `inputs` tokens + `max_new_tokens` must be <= 10',
  ],
  [
    'Groq, request above the limit per minute',
    413,
    openai({ type: 'tokens', code: 'rate_limit_exceeded' }),
    'request_too_large',
    'm',
  ],
  ['Groq, no capacity for flex calls', 498, openai({ code: 'capacity_exceeded' }), 'overloaded', 'm'],
  ['Groq, no capacity without a code', 498, openai({}), 'overloaded', 'm'],
  ['Ollama', 404, { error: "model 'x' not found" }, 'model_not_found', "model 'x' not found"],
  ['Mistral and Voyage', 401, { detail: 'Unauthorized' }, 'authentication', 'Unauthorized'],
  [
    'FastAPI',
    422,
    { detail: [{ loc: ['body', 'model'], msg: 'field required' }] },
    'invalid_request',
    'body.model: field required',
  ],
  ['Cohere', 404, { id: 'x', message: 'model gone' }, 'model_not_found', 'model gone'],
  [
    'vLLM',
    400,
    {
      object: 'error',
      message: "This model's maximum context length is 10 tokens",
      type: 'BadRequestError',
      code: 400,
    },
    'context_length_exceeded',
    "This model's maximum context length is 10 tokens",
  ],
  [
    'Anthropic',
    529,
    { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } },
    'overloaded',
    'Overloaded',
  ],
  [
    'Anthropic, context too long',
    400,
    { type: 'error', error: { type: 'invalid_request_error', message: 'prompt is too long: 5 tokens > 4 maximum' } },
    'context_length_exceeded',
    'prompt is too long: 5 tokens > 4 maximum',
  ],
  [
    'Google, bad key',
    400,
    { error: { code: 400, message: 'no', status: 'INVALID_ARGUMENT', details: [{ reason: 'API_KEY_INVALID' }] } },
    'authentication',
    'no',
  ],
  [
    'Google in a list',
    429,
    [{ error: { code: 429, message: 'slow', status: 'RESOURCE_EXHAUSTED' } }],
    'rate_limited',
    'slow',
  ],
  ['plain text', 413, 'too big', 'request_too_large', 'too big'],
  [
    'an HTML page',
    502,
    '<html>Bad gateway</html>',
    'upstream_error',
    'The upstream responded with status 502 and no error message.',
  ],
  ['an empty body', 500, null, 'upstream_error', 'The upstream responded with status 500 and no error message.'],
  ['a generic error within a stream', 200, openai({ type: 'invalid_request_error' }), 'invalid_request', 'm'],
]

describe('errors of chat upstreams', () => {
  test.each(decoded)('are decoded to their kind and message: %s (%i)', (_, status, body, kind, message) => {
    expect(chatCodec.decodeError(status, body)).toMatchObject({ kind, message, status: errorKinds[kind].status })
  })

  test('keep param and code, and the retry delay of Google', () => {
    expect(chatCodec.decodeError(400, openai({ param: 'stop', code: 'unsupported_parameter' }))).toMatchObject({
      param: 'stop',
      code: 'unsupported_parameter',
    })
    const google = { error: { code: 429, message: 'm', details: [{ '@type': 'RetryInfo', retryDelay: '16.2s' }] } }
    expect(chatCodec.decodeError(429, google).retryAfter).toBe(16.2)
  })

  test('are truncated to a readable length', () => {
    expect(chatCodec.decodeError(500, 'x'.repeat(5000)).message.length).toBe(513)
  })
})

const kinds = Object.keys(errorKinds) as ErrorKind[]

describe('errors for chat clients', () => {
  test.each(kinds)('have all four keys for the kind %s', (kind) => {
    const { status, body } = chatCodec.encodeError({ kind, status: errorKinds[kind].status, message: 'm' }, 'req_1')
    expect(status).toBe(errorKinds[kind].status)
    expect(Object.keys(body.error as object).sort()).toEqual(['code', 'message', 'param', 'type'])
    expect(body.error).toMatchObject({ message: 'm', param: null, type: expect.any(String) })
  })

  test.each([
    ['authentication', 'invalid_request_error', 'invalid_api_key'],
    ['model_not_found', 'invalid_request_error', 'model_not_found'],
    ['quota_exceeded', 'insufficient_quota', 'insufficient_quota'],
    ['rate_limited', 'requests', 'rate_limit_exceeded'],
    ['upstream_truncated', 'server_error', 'upstream_truncated'],
  ] as const)('map the kind %s to the type %s and the code %s', (kind, type, code) => {
    const { body } = chatCodec.encodeError({ kind, status: 400, message: 'm' }, '')
    expect(body.error).toMatchObject({ type, code })
  })

  test("repeat the upstream's error verbatim if the client caused it", () => {
    const body = {
      error: { message: 'no', type: 'invalid_request_error', param: 'stop', code: 'unsupported_parameter', hint: 1 },
    }
    expect(chatCodec.encodeError(chatCodec.decodeError(400, body), '')).toEqual({ status: 400, body })
  })

  test('hide the type and code of errors that the upstream caused', () => {
    const body = { error: { message: 'boom', type: 'internal', param: null, code: 'db_down', trace: 'x' } }
    expect(chatCodec.encodeError(chatCodec.decodeError(500, body), '').body).toEqual({
      error: { message: 'boom', type: 'server_error', param: null, code: 'upstream_error' },
    })
  })

  test('have status 503 for the status 529 of other formats', () => {
    expect(chatCodec.encodeError({ kind: 'overloaded', status: 529, message: 'm' }, '').status).toBe(503)
  })
})
