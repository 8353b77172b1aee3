import { describe, expect, test } from 'vitest'
import { type ErrorInfo, GatewayError } from '../../base/errors.ts'
import type { JsonObject } from '../../base/json/json.ts'
import type { Finish, ModelResponse, Part } from '../ir.ts'
import { responsesCodec } from './codec.ts'
import { contextFor } from './recorded.test-support.ts'

const answer = (fields: JsonObject): JsonObject => ({
  id: 'resp_1',
  object: 'response',
  created_at: 1,
  status: 'completed',
  model: 'm',
  output: [],
  ...fields,
})
const text = (words: string, fields: JsonObject = {}): JsonObject => ({
  type: 'message',
  role: 'assistant',
  content: [{ type: 'output_text', text: words, annotations: [], ...fields }],
})
const decode = (fields: JsonObject): ModelResponse =>
  responsesCodec.decodeResponse(answer(fields), contextFor({}, false))
const encode = (parts: Part[], finish: Finish, more: Partial<ModelResponse> = {}): JsonObject =>
  responsesCodec.encodeResponse(
    { id: 'x', model: 'm', created: 1, choices: [{ parts, finish }], ...more },
    contextFor({}, false),
  )
const words: Part = { type: 'text', text: 'hi' }
const call: Part = { type: 'tool-call', id: 'c', name: 'f', input: '{}' }

describe('the finish of a response', () => {
  test.each<[JsonObject, Finish['reason'], string]>([
    [{ output: [text('a')] }, 'stop', 'completed'],
    [{ output: [{ type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' }] }, 'tool-calls', 'completed'],
    [{ output: [{ type: 'message', content: [{ type: 'refusal', refusal: 'no' }] }] }, 'refusal', 'completed'],
    [{ status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } }, 'length', 'max_output_tokens'],
    [{ status: 'incomplete', incomplete_details: { reason: 'content_filter' } }, 'content-filter', 'content_filter'],
    [{ status: 'incomplete', incomplete_details: { reason: 'new_reason' } }, 'other', 'new_reason'],
    [{ status: 'complete', output: [text('a')] }, 'stop', 'complete'],
    [{ status: 'queued' }, 'other', 'queued'],
  ])('decodes %j as %s', (fields, reason, raw) => {
    expect(decode(fields).choices[0]?.finish).toEqual({ reason, raw: { format: 'responses', value: raw } })
  })

  test.each<[Part[], Finish, string, string | undefined]>([
    [[words], { reason: 'stop' }, 'completed', undefined],
    [[words], { reason: 'stop-sequence', sequence: 'x' }, 'completed', undefined],
    [[call], { reason: 'tool-calls' }, 'completed', undefined],
    [[words], { reason: 'pause' }, 'completed', undefined],
    [[words], { reason: 'other', raw: { format: 'gemini', value: 'NEW' } }, 'completed', undefined],
    [[words], { reason: 'length' }, 'incomplete', 'max_output_tokens'],
    [[words], { reason: 'context-length' }, 'incomplete', 'max_output_tokens'],
    [[], { reason: 'content-filter' }, 'incomplete', 'content_filter'],
    [[], { reason: 'refusal', explanation: 'unsafe' }, 'incomplete', 'content_filter'],
    [
      [{ type: 'refusal', text: 'no' }],
      { reason: 'refusal', raw: { format: 'chat', value: 'stop' } },
      'completed',
      undefined,
    ],
    [[words], { reason: 'other', raw: { format: 'responses', value: 'queued' } }, 'queued', undefined],
    [[words], { reason: 'other', raw: { format: 'responses', value: 'new_reason' } }, 'incomplete', 'new_reason'],
  ])('encodes %j with %j as %s %s', (parts, finish, status, reason) => {
    const body = encode(parts, finish)
    expect([body.status, (body.incomplete_details as JsonObject | null)?.reason]).toEqual([status, reason])
    expect(body.completed_at).toBe(status === 'completed' ? 1_700_000_000 : null)
    if (finish.explanation) expect(JSON.stringify(body.output)).toContain('{"type":"refusal","refusal":"unsafe"}')
  })

  test.each<[Part[], Finish]>([
    [[words], { reason: 'error', explanation: 'broke' }],
    [[], { reason: 'other' }],
  ])('reports %j with %j as an error', (parts, finish) => {
    expect(() => encode(parts, finish)).toThrow(GatewayError)
  })
})

describe('a response', () => {
  test('has every key, with the settings of its request', () => {
    const request = responsesCodec.decodeRequest(
      {
        model: 'm',
        input: 'x',
        instructions: 'Be brief.',
        temperature: 0.2,
        max_output_tokens: 99,
        max_tool_calls: 3,
        parallel_tool_calls: false,
        reasoning: { effort: 'low' },
        text: { verbosity: 'high', format: { type: 'json_schema', name: 'x', schema: { type: 'object' } } },
        tools: [{ type: 'function', name: 'f', parameters: {}, strict: false }, { type: 'web_search' }],
        tool_choice: { type: 'web_search' },
        metadata: { a: 'b' },
        user: 'u',
        prompt_cache_key: 'k',
        truncation: 'auto',
        store: true,
      },
      contextFor(),
    )
    const body = responsesCodec.encodeResponse(
      { id: 'msg', model: 'claude', created: 0, choices: [{ parts: [words], finish: { reason: 'stop' } }] },
      contextFor(request),
    )
    expect(body).toEqual({
      id: 'msg',
      object: 'response',
      created_at: 1_700_000_000,
      status: 'completed',
      background: false,
      completed_at: 1_700_000_000,
      error: null,
      frequency_penalty: 0,
      incomplete_details: null,
      instructions: 'Be brief.',
      max_output_tokens: 99,
      max_tool_calls: 3,
      metadata: { a: 'b' },
      model: 'claude',
      output: [
        {
          id: 'msg_1',
          type: 'message',
          status: 'completed',
          role: 'assistant',
          content: [{ type: 'output_text', text: 'hi', annotations: [], logprobs: [] }],
        },
      ],
      parallel_tool_calls: false,
      presence_penalty: 0,
      previous_response_id: null,
      prompt_cache_key: 'k',
      reasoning: { effort: 'low', summary: null },
      safety_identifier: null,
      service_tier: 'default',
      store: false,
      temperature: 0.2,
      text: {
        format: { type: 'json_schema', name: 'x', description: null, schema: { type: 'object' }, strict: false },
        verbosity: 'high',
      },
      tool_choice: { type: 'web_search' },
      tools: [
        { type: 'function', name: 'f', description: null, parameters: {}, strict: false },
        { type: 'web_search' },
      ],
      top_logprobs: 0,
      top_p: 1,
      truncation: 'auto',
      usage: {
        input_tokens: 0,
        input_tokens_details: { cached_tokens: 0 },
        output_tokens: 0,
        output_tokens_details: { reasoning_tokens: 0 },
        total_tokens: 0,
      },
      user: 'u',
    })
  })

  test('without content has an empty message', () => {
    expect(encode([], { reason: 'stop' }).output).toMatchObject([{ type: 'message', content: [{ text: '' }] }])
  })

  test('has usage with details, and keeps other counts of its upstream', () => {
    const usage = {
      input_tokens: 10,
      input_tokens_details: { cached_tokens: 4, cache_write_tokens: 2 },
      output_tokens: 7,
      output_tokens_details: { reasoning_tokens: 3 },
      total_tokens: 17,
      num_sources_used: 2,
    }
    const decoded = decode({ usage, output: [text('a')] })
    expect(decoded.usage).toMatchObject({
      input: { total: 10, cacheRead: 4, cacheWrite: 2 },
      output: { total: 7, reasoning: 3 },
    })
    expect(responsesCodec.encodeResponse(decoded, contextFor()).usage).toEqual(usage)
  })

  test('assigns log probabilities to their texts', () => {
    const token = (value: string): JsonObject => ({ token: value, logprob: -1, top_logprobs: [] })
    const parts: Part[] = [
      { type: 'text', text: 'ab' },
      { type: 'text', text: 'c' },
    ]
    const body = encode(
      parts,
      { reason: 'stop' },
      {
        choices: [
          {
            parts,
            finish: { reason: 'stop' },
            logprobs: { content: [token('a'), token('b'), token('c')], refusal: null },
          },
        ],
      },
    )
    const [message] = body.output as JsonObject[]
    expect(((message?.content ?? []) as JsonObject[]).map(({ logprobs }) => (logprobs as JsonObject[]).length)).toEqual(
      [2, 1],
    )
    const again = responsesCodec.decodeResponse(structuredClone(body), contextFor({}, false))
    expect(again.choices[0]?.logprobs).toEqual({ content: [token('a'), token('b'), token('c')], refusal: null })
  })

  test('cites URLs and stored files', () => {
    const annotations: JsonObject[] = [
      { type: 'url_citation', url: 'https://e.example', title: 'E', start_index: 0, end_index: 1 },
      { type: 'file_citation', file_id: 'f', filename: 'a.txt', index: 3 },
      {
        type: 'container_file_citation',
        container_id: 'c',
        file_id: 'f',
        filename: 'b.png',
        start_index: 1,
        end_index: 2,
      },
    ]
    const decoded = decode({ output: [text('ab', { annotations })] })
    expect(decoded.choices[0]?.parts[0]).toMatchObject({
      citations: [
        { url: 'https://e.example', title: 'E', start: 0, end: 1 },
        { title: 'a.txt' },
        { title: 'b.png', start: 1, end: 2 },
      ],
    })
    const body = responsesCodec.encodeResponse(decoded, contextFor())
    expect((body.output as JsonObject[])[0]).toMatchObject({ content: [{ annotations }] })
  })

  test('encodes images as image generation calls, and decodes them as images', () => {
    const image: Part = {
      type: 'media',
      kind: 'image',
      mediaType: 'image/webp',
      source: { type: 'base64', data: 'QQ==' },
    }
    const body = encode([image], { reason: 'stop' })
    expect(body.output).toEqual([
      { id: 'ig_1', type: 'image_generation_call', status: 'completed', output_format: 'webp', result: 'QQ==' },
    ])
    const { choices } = responsesCodec.decodeResponse(structuredClone(body), contextFor({}, false))
    expect(choices[0]?.parts).toMatchObject([image])
  })

  test('reports parts that it cannot express', () => {
    const context = contextFor({}, false)
    const parts: Part[] = [
      words,
      { type: 'native', format: 'messages', value: { type: 'server_tool_use' }, at: '/content/0' },
      { type: 'media', kind: 'audio', source: { type: 'base64', data: '' }, at: '/content/1' },
      { type: 'text', text: 'x', citations: [{ title: 'no address' }], at: '/content/2' },
    ]
    const choice = { parts, finish: { reason: 'stop' } } as const
    responsesCodec.encodeResponse({ id: '', model: '', created: 0, choices: [choice, choice] }, context)
    expect(context.report.losses.filter(({ severity }) => severity === 'warn').map(({ path }) => path)).toEqual([
      '/choices/1',
      '/content/0',
      '/content/1',
      '/content/2',
    ])
  })

  test('hides item ids and states from clients of other formats', () => {
    const decoded = decode({
      output: [
        { type: 'reasoning', id: 'rs_1', summary: [] },
        { ...text('a'), id: 'msg_1', status: 'completed' },
        { type: 'function_call', id: 'fc_1', call_id: 'c', name: 'f', arguments: '{}', status: 'completed' },
      ],
      instructions: 'secret plan',
      billing: { payer: 'developer' },
      moderation: null,
    })
    expect(decoded.choices[0]?.parts.map(({ at: _, ...part }) => part)).toEqual([
      { type: 'text', text: 'a' },
      { type: 'tool-call', id: 'c', name: 'f', input: '{}' },
    ])
    expect(decoded).not.toHaveProperty('extra')
  })
})

describe('errors', () => {
  test.each<[number, JsonObject, Partial<ErrorInfo>]>([
    [
      400,
      { error: { message: 'gone', type: 'invalid_request_error', param: 'model', code: 'model_not_found' } },
      { kind: 'model_not_found', param: 'model' },
    ],
    [
      429,
      { error: { message: 'slow', type: 'requests', param: null, code: 'rate_limit_exceeded' } },
      { kind: 'rate_limited' },
    ],
    [400, { code: 'invalid-argument', error: 'bad key' }, { kind: 'invalid_request', message: 'bad key' }],
    [
      200,
      {
        type: 'error',
        sequence_number: 2,
        error: { type: 'insufficient_quota', code: 'insufficient_quota', message: 'no money', param: null },
      },
      { kind: 'quota_exceeded', message: 'no money' },
    ],
    [
      200,
      { type: 'error', sequence_number: 2, code: 'context_length_exceeded', message: 'too long', param: 'input' },
      { kind: 'context_length_exceeded', message: 'too long', param: 'input' },
    ],
    [
      200,
      { type: 'response.failed', response: { error: { code: 'server_error', message: 'broke' } } },
      { kind: 'upstream_error', message: 'broke' },
    ],
  ])('decode the status %i with %j', (status, body, expected) => {
    expect(responsesCodec.decodeError(status, body)).toMatchObject(expected)
  })

  test.each<[ErrorInfo['kind'], number, JsonObject]>([
    ['model_not_found', 404, { type: 'invalid_request_error', code: 'model_not_found', param: 'model' }],
    ['authentication', 401, { type: 'invalid_request_error', code: 'invalid_api_key' }],
    ['overloaded', 503, { type: 'server_error', code: 'server_is_overloaded' }],
  ])('encode %s with the status %i', (kind, status, expected) => {
    const { status: encodedStatus, body } = responsesCodec.encodeError(
      { kind, status: status === 503 ? 529 : status, message: 'm' },
      'req',
    )
    expect(encodedStatus).toBe(status)
    expect(body).toEqual({ error: { message: 'm', param: null, ...expected } })
  })

  test('of an upstream of the same format are passed on unchanged', () => {
    const error = { message: 'm', type: 'invalid_request_error', param: 'input[0].content', code: 'unsupported_file' }
    const info = responsesCodec.decodeError(400, { error })
    expect(responsesCodec.encodeError(info, 'req')).toEqual({ status: 400, body: { error } })
  })

  test.each<[JsonObject, JsonObject]>([
    [
      answer({ usage: { input_tokens: 1, output_tokens: 2 } }),
      { finish: 'completed', usage: { output: { total: 2 } } },
    ],
    [answer({ status: 'incomplete', incomplete_details: { reason: 'content_filter' } }), { finish: 'content_filter' }],
    [answer({ status: 'failed', error: { code: 'server_error', message: 'broke' } }), { finish: 'failed' }],
    [{ error: { message: 'slow', code: 'rate_limit_exceeded' } }, { error: { kind: 'rate_limited' } }],
  ])('are recognized in passing responses: %j', (body, expected) => {
    const tapped = responsesCodec.tapResponse(body)
    expect(tapped).toMatchObject(expected)
    expect(Object.keys(tapped).sort()).toEqual(Object.keys(expected).sort())
  })

  test('in place of a response are thrown', () => {
    for (const body of [
      answer({ status: 'failed', error: { code: 'rate_limit_exceeded', message: 'slow' } }),
      { error: { message: 'slow', code: 'rate_limit_exceeded' } },
    ])
      expect(() => responsesCodec.decodeResponse(body, contextFor())).toThrow('slow')
    expect(() => responsesCodec.decodeResponse({ choices: [] }, contextFor())).toThrow('not a response')
  })
})
