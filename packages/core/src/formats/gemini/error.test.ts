import { describe, expect, test } from 'vitest'
import { type ErrorKind, errorKinds } from '../../base/error-kinds.ts'
import type { ErrorInfo } from '../../base/errors.ts'
import type { Json } from '../../base/json/json.ts'
import type { ModelDescription } from '../model-card.ts'
import { geminiCodec } from './codec.ts'
import { isResponse } from './error.ts'
import { encodeModel, encodeModelList } from './model-list.ts'

const google = (code: number, status: string, message: string, details?: Json): Json => ({
  error: { code, message, status, ...(details === undefined ? {} : { details }) },
})
const reason = (word: string): Json => [{ '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: word }]

describe('an upstream error', () => {
  test.each<[string, number, Json, ErrorKind]>([
    [
      'an invalid API key',
      400,
      google(400, 'INVALID_ARGUMENT', 'API key not valid.', reason('API_KEY_INVALID')),
      'authentication',
    ],
    [
      'an invalid API key without details',
      400,
      google(400, 'INVALID_ARGUMENT', 'API key not valid. Please pass a valid API key.'),
      'authentication',
    ],
    ['an invalid token', 401, google(401, 'UNAUTHENTICATED', 'x'), 'authentication'],
    ['a disabled service', 403, google(403, 'PERMISSION_DENIED', 'x', reason('SERVICE_DISABLED')), 'permission'],
    ['an invalid request', 400, google(400, 'INVALID_ARGUMENT', 'x'), 'invalid_request'],
    [
      'a failed precondition',
      400,
      google(400, 'FAILED_PRECONDITION', 'User location is not supported'),
      'invalid_request',
    ],
    [
      'a prompt that is too long',
      400,
      google(400, 'INVALID_ARGUMENT', 'The input token count (2) exceeds the maximum number of tokens allowed (1).'),
      'context_length_exceeded',
    ],
    [
      'an unknown model',
      404,
      google(404, 'NOT_FOUND', 'models/x is not found for API version v1beta'),
      'model_not_found',
    ],
    ['an unknown file', 404, google(404, 'NOT_FOUND', 'file x'), 'not_found'],
    [
      'a rate limit',
      429,
      google(429, 'RESOURCE_EXHAUSTED', 'Quota exceeded per minute', reason('RATE_LIMIT_EXCEEDED')),
      'rate_limited',
    ],
    [
      'an exhausted quota',
      429,
      google(429, 'RESOURCE_EXHAUSTED', 'You exceeded your current quota, please check your plan and billing details.'),
      'quota_exceeded',
    ],
    ['an overloaded server', 503, google(503, 'UNAVAILABLE', 'overloaded'), 'overloaded'],
    ['an internal error', 500, google(500, 'INTERNAL', 'x'), 'upstream_error'],
    ['a deadline exceeded', 504, google(504, 'DEADLINE_EXCEEDED', 'x'), 'upstream_timeout'],
    ['an error within a list', 400, [google(400, 'INVALID_ARGUMENT', 'x')], 'invalid_request'],
    ['an error in a stream', 200, google(429, 'RESOURCE_EXHAUSTED', 'x'), 'rate_limited'],
    [
      'an error of an OpenAI-compatible server',
      404,
      { error: { message: 'x', type: 'invalid_request_error', code: 'model_not_found' } },
      'model_not_found',
    ],
    ['an HTML page', 502, '<html>bad gateway</html>', 'upstream_error'],
    ['an empty body', 413, null, 'request_too_large'],
  ])('is classified: %s', (_, status, body, kind) => {
    const info = geminiCodec.decodeError(status, body)
    expect(info).toMatchObject({ kind, status: errorKinds[kind].status })
    expect(info.message).not.toContain('<')
  })

  test('names the retry delay and the invalid field', () => {
    const details = [
      { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '16.2s' },
      {
        '@type': 'type.googleapis.com/google.rpc.BadRequest',
        fieldViolations: [{ field: 'contents', description: 'x' }],
      },
    ]
    const body = google(429, 'RESOURCE_EXHAUSTED', 'current quota, check your plan and billing', details)
    expect(geminiCodec.decodeError(429, body)).toMatchObject({
      kind: 'rate_limited',
      retryAfter: 16.2,
      param: 'contents',
      code: 'RESOURCE_EXHAUSTED',
    })
  })
})

const info = (kind: ErrorKind, rest: Partial<ErrorInfo> = {}): ErrorInfo => ({
  kind,
  status: errorKinds[kind].status,
  message: 'm',
  ...rest,
})

describe('an error response to a client', () => {
  test.each<[ErrorKind, number, string]>([
    ['invalid_request', 400, 'INVALID_ARGUMENT'],
    ['authentication', 400, 'INVALID_ARGUMENT'],
    ['permission', 403, 'PERMISSION_DENIED'],
    ['model_not_found', 404, 'NOT_FOUND'],
    ['request_too_large', 413, 'INVALID_ARGUMENT'],
    ['rate_limited', 429, 'RESOURCE_EXHAUSTED'],
    ['quota_exceeded', 429, 'RESOURCE_EXHAUSTED'],
    ['overloaded', 503, 'UNAVAILABLE'],
    ['upstream_auth', 502, 'INTERNAL'],
    ['upstream_timeout', 504, 'DEADLINE_EXCEEDED'],
    ['cancelled', 499, 'CANCELLED'],
    ['internal', 500, 'INTERNAL'],
  ])('of kind %s has the status %i and the word %s', (kind, status, word) => {
    const { status: sent, body } = geminiCodec.encodeError(info(kind), 'id')
    expect(sent).toBe(status)
    expect(body).toMatchObject({ error: { code: status, message: 'm', status: word } })
  })

  test('reports an invalid API key as Google does', () => {
    expect(geminiCodec.encodeError(info('authentication'), '').body).toEqual({
      error: {
        code: 400,
        message: 'm',
        status: 'INVALID_ARGUMENT',
        details: [
          { '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: 'API_KEY_INVALID', domain: 'googleapis.com' },
        ],
      },
    })
  })

  test('names the field and the retry delay in its details', () => {
    expect(geminiCodec.encodeError(info('rate_limited', { param: 'contents', retryAfter: 3 }), '').body).toMatchObject({
      error: {
        details: [
          { fieldViolations: [{ field: 'contents', description: 'm' }] },
          { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '3s' },
        ],
      },
    })
  })

  test.each(['1e+300s', '-4s', '0x10s', 'NaNs', '900000000s', 'soon'])(
    'omits the invalid retry delay %s',
    (retryDelay) => {
      const details = [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay }]
      const body = google(429, 'RESOURCE_EXHAUSTED', 'quota', details)
      const decoded = geminiCodec.decodeError(429, body)
      expect(decoded.retryAfter ?? 0).toBeLessThanOrEqual(86_400)
      const encoded = JSON.stringify(geminiCodec.encodeError(decoded, '').body)
      expect(encoded).not.toContain(retryDelay)
      expect(encoded.includes('RetryInfo')).toBe(decoded.retryAfter !== undefined)
    },
  )

  test('keeps Google’s details about the request, without DebugInfo', () => {
    const kept = { '@type': 'type.googleapis.com/google.rpc.Help', links: [] }
    const debug = { '@type': 'type.googleapis.com/google.rpc.DebugInfo', detail: 'host 10.0.0.1' }
    const raw: NonNullable<ErrorInfo['raw']> = {
      format: 'gemini',
      value: { code: 400, message: 'm', status: 'FAILED_PRECONDITION', details: [kept, debug] },
    }
    expect(geminiCodec.encodeError(info('invalid_request', { raw }), '').body).toEqual({
      error: { code: 400, message: 'm', status: 'FAILED_PRECONDITION', details: [kept] },
    })
    expect(geminiCodec.encodeError(info('upstream_auth', { raw }), '').body).toEqual({
      error: { code: 502, message: 'm', status: 'INTERNAL' },
    })
  })
})

test('lists models under their resource names', () => {
  const describe = (id: string): ModelDescription => ({ id, operations: ['generate'] })
  expect(encodeModelList(['a', 'b/c'], describe, new URLSearchParams())).toMatchObject({
    models: [
      {
        name: 'models/a',
        displayName: 'a',
        supportedGenerationMethods: ['generateContent', 'streamGenerateContent', 'countTokens'],
      },
      { name: 'models/b/c' },
    ],
  })
  expect(encodeModel(describe('a'))).toMatchObject({ name: 'models/a' })
})

const overloaded = { code: 503, message: 'The model is overloaded.', status: 'UNAVAILABLE' }

test.each([
  [{ error: overloaded, candidates: [] }, false],
  [{ error: overloaded, candidates: null }, false],
  [{ error: overloaded, usageMetadata: { promptTokenCount: 3 } }, false],
  [{ candidates: null }, false],
  [{ error: overloaded, candidates: [{ content: { parts: [{ text: 'a' }] } }] }, true],
  [{ error: null, candidates: [] }, true],
  [{ usageMetadata: { promptTokenCount: 3 } }, true],
  [{ promptFeedback: { blockReason: 'SAFETY' } }, true],
])('reports whether a body is a response: %j is %s', (body, expected) => {
  expect(isResponse(body)).toBe(expected)
})
