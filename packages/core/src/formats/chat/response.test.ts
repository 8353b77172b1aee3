import { describe, expect, test } from 'vitest'
import { GatewayError } from '../../base/errors.ts'
import type { Json, JsonObject } from '../../base/json/json.ts'
import type { Finish, ModelRequest, Part } from '../ir.ts'
import { responsePointers } from '../messages/fields.ts'
import { responseReport } from '../shared/response-losses.ts'
import { chatCodec } from './codec.ts'
import { testContext } from './context.test-support.ts'

const body = (message: JsonObject, more: JsonObject = {}, top: JsonObject = {}): JsonObject => ({
  id: 'c',
  object: 'chat.completion',
  created: 5,
  model: 'gpt',
  choices: [{ index: 0, message: { role: 'assistant', ...message }, finish_reason: 'stop', ...more }],
  ...top,
})
const decode = (wire: Json, request: Partial<ModelRequest> = {}) =>
  chatCodec.decodeResponse(structuredClone(wire), testContext({ request }))
const partsOf = (wire: Json): Part[] => (decode(wire).choices[0]?.parts ?? []).map(({ at: _, ...part }) => part as Part)

const f = { name: 'f', arguments: '{}' }
const called: Part = { type: 'tool-call', id: 'a', name: 'f', input: '{}' }

describe('responses of chat upstreams', () => {
  test.each<[string, JsonObject, Part[]]>([
    ['text', { content: 'x' }, [{ type: 'text', text: 'x' }]],
    ['null content', { content: null }, []],
    [
      'reasoning of DeepSeek and xAI',
      { content: 'x', reasoning_content: 'r' },
      [
        { type: 'reasoning', text: 'r' },
        { type: 'text', text: 'x' },
      ],
    ],
    [
      'reasoning of Groq and Ollama',
      { content: 'x', reasoning: 'r' },
      [
        { type: 'reasoning', text: 'r' },
        { type: 'text', text: 'x' },
      ],
    ],
    [
      'reasoning of OpenRouter',
      {
        content: 'x',
        reasoning: 'r',
        reasoning_details: [{ type: 'reasoning.text', text: 'r', signature: 'S', index: 0 }],
      },
      [
        { type: 'reasoning', text: 'r', seal: { issuer: 'chat', data: 'S' } },
        { type: 'text', text: 'x' },
      ],
    ],
    [
      'content lists of Mistral',
      {
        content: [
          { type: 'thinking', thinking: [{ type: 'text', text: 'r' }] },
          { type: 'text', text: 'x' },
          { type: 'reference', reference_ids: [1] },
        ],
      },
      [
        { type: 'reasoning', text: 'r' },
        { type: 'text', text: 'x' },
        { type: 'native', format: 'chat', value: { type: 'reference', reference_ids: [1] } },
      ],
    ],
    ['a refusal', { content: null, refusal: 'no' }, [{ type: 'refusal', text: 'no' }]],
    ['a call', { content: null, tool_calls: [{ id: 'a', type: 'function', function: f }] }, [called]],
    ['a call without its type', { tool_calls: [{ id: 'a', function: f }] }, [called]],
    ['a call without an id', { tool_calls: [{ function: f }] }, [{ ...called, id: 'call_1' }]],
    [
      'arguments as an object',
      { tool_calls: [{ id: 'a', function: { name: 'f', arguments: { x: 1 } } }] },
      [{ ...called, input: '{"x":1}' }],
    ],
    [
      'a custom call',
      { tool_calls: [{ id: 'a', type: 'custom', custom: { name: 'f', input: 'raw' } }] },
      [{ ...called, input: 'raw', custom: true }],
    ],
    [
      "Snowflake's empty custom call next to a real call",
      {
        tool_calls: [{ id: 'a', type: 'function', function: f, custom: { name: '', input: '' } }],
        function_call: { name: '', arguments: '' },
        audio: { id: '', data: '' },
      },
      [called],
    ],
    ['an old function call', { content: null, function_call: f }, [{ ...called, id: 'call_1' }]],
    [
      'citations',
      {
        content: 'xy',
        annotations: [{ type: 'url_citation', url_citation: { url: 'u', title: 't', start_index: 0, end_index: 1 } }],
      },
      [{ type: 'text', text: 'xy', citations: [{ url: 'u', title: 't', start: 0, end: 1 }] }],
    ],
    [
      'images',
      { content: null, images: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,AA' } }] },
      [{ type: 'media', kind: 'image', source: { type: 'base64', data: 'AA' }, mediaType: 'image/png' }],
    ],
  ])('are decoded with %s', (_, message, parts) => {
    expect(partsOf(body(message))).toEqual(parts)
  })

  test('are decoded with audio in the requested format', () => {
    const wire = body({ content: null, audio: { id: 'audio_1', data: 'AA', transcript: 'hi', expires_at: 9 } })
    expect(decode(wire, { output: { audio: { format: 'mp3' } } }).choices[0]?.parts[0]).toMatchObject({
      kind: 'audio',
      mediaType: 'audio/mpeg',
      source: { type: 'base64', data: 'AA' },
      extra: { chat: { id: 'audio_1', transcript: 'hi' } },
    })
  })

  const calls = { content: null, tool_calls: [{ id: 'a', function: f }] }
  test.each<[string, JsonObject, JsonObject, Partial<Finish>]>([
    ['stop', { content: 'x' }, { finish_reason: 'stop' }, { reason: 'stop' }],
    ['stop with calls', calls, { finish_reason: 'stop' }, { reason: 'tool-calls' }],
    ['an empty reason with calls', calls, { finish_reason: '' }, { reason: 'tool-calls' }],
    ['length with calls', calls, { finish_reason: 'length' }, { reason: 'length' }],
    ['function_call', { function_call: f }, { finish_reason: 'function_call' }, { reason: 'tool-calls' }],
    ['stop with a refusal', { content: null, refusal: 'no' }, { finish_reason: 'stop' }, { reason: 'refusal' }],
    ['content_filter', { content: '' }, { finish_reason: 'content_filter' }, { reason: 'content-filter' }],
    ["Mistral's model_length", { content: 'x' }, { finish_reason: 'model_length' }, { reason: 'context-length' }],
    ['a number', { content: 'x' }, { finish_reason: 1 }, { reason: 'other', raw: { format: 'chat', value: '1' } }],
    ['an unknown word', { content: 'x' }, { finish_reason: 'constructor' }, { reason: 'other' }],
    [
      "vLLM's stop string",
      { content: 'x' },
      { finish_reason: 'stop', stop_reason: 'END' },
      { reason: 'stop-sequence', sequence: 'END' },
    ],
  ])('are decoded with the finish reason: %s', (_, message, more, finish) => {
    expect(decode(body(message, more)).choices[0]?.finish).toMatchObject(finish)
  })

  test('keep vendor fields under their format and drop empty ones', () => {
    const response = decode(
      body(
        { content: 'x', executed_tools: [1], tool_calls: null },
        { content_filter_results: { hate: {} }, logprobs: null },
        { system_fingerprint: 'fp', service_tier: 'default', provider: null },
      ),
    )
    expect(response).toMatchObject({ serviceTier: 'default', extra: { chat: { system_fingerprint: 'fp' } } })
    expect(response.extra?.chat).not.toHaveProperty('provider')
    expect(response.choices[0]?.extra?.chat).toEqual({
      content_filter_results: { hate: {} },
      message: { executed_tools: [1] },
    })
  })

  test.each<[string, Json, string, string]>([
    ['an error with status 200', { error: { message: 'no', code: 'insufficient_quota' } }, 'quota_exceeded', 'no'],
    [
      'the finish reason error',
      body({ content: '' }, { finish_reason: 'error', error: { message: 'boom', code: 502 } }),
      'upstream_error',
      'boom',
    ],
    ['no choices', { id: 'x', choices: [] }, 'upstream_bad_response', ''],
    ['text', 'hello', 'upstream_bad_response', ''],
    ['null', null, 'upstream_bad_response', ''],
  ])('throw a gateway error for %s', (_, wire, kind, message) => {
    const caught = (() => {
      try {
        return decode(wire)
      } catch (error) {
        return error
      }
    })()
    expect(caught).toBeInstanceOf(GatewayError)
    expect((caught as GatewayError).info).toMatchObject({ kind, ...(message === '' ? {} : { message }) })
  })
})

test('keeps an unknown response field in every place where a vendor may add it', () => {
  const invented = { deep: [1] }
  const wire = body(
    {
      content: 'x',
      refusal: null,
      annotations: [
        {
          type: 'url_citation',
          url_citation: { url: 'u', title: 't', start_index: 0, end_index: 1, invented },
          invented,
        },
      ],
      tool_calls: [{ id: 'a', type: 'function', function: { ...f, invented }, invented }],
      reasoning_content: 'r',
      reasoning_details: [{ type: 'reasoning.text', text: 'r', signature: 'S', index: 0, invented }],
      invented,
    },
    { finish_reason: 'tool_calls', logprobs: { content: [], invented }, invented },
    {
      usage: {
        prompt_tokens: 1,
        completion_tokens: 2,
        total_tokens: 3,
        prompt_tokens_details: { cached_tokens: 0, invented },
        invented,
      },
      system_fingerprint: 'fp',
      service_tier: 'flex',
      invented,
    },
  )
  const context = testContext()
  expect(chatCodec.encodeResponse(chatCodec.decodeResponse(structuredClone(wire), context), context)).toEqual(wire)
  expect(context.losses).toEqual([])
})

function encode(parts: Part[], finish: Finish = { reason: 'stop' }, request: Partial<ModelRequest> = {}) {
  const context = testContext({ request })
  const wire = chatCodec.encodeResponse({ id: 'r', model: '', created: 0, choices: [{ parts, finish }] }, context)
  return {
    wire,
    choice: (wire.choices as JsonObject[])[0] ?? {},
    losses: context.losses.map(({ kind, severity }) => `${severity} ${kind}`),
  }
}

describe('responses for chat clients', () => {
  test('hold every field that clients expect', () => {
    expect(encode([{ type: 'text', text: 'x' }]).wire).toEqual({
      system_fingerprint: null,
      id: 'r',
      object: 'chat.completion',
      created: 1_700_000_000,
      model: 'm',
      choices: [
        {
          index: 0,
          message: { role: 'assistant', content: 'x', refusal: null },
          logprobs: null,
          finish_reason: 'stop',
        },
      ],
    })
  })

  test.each<[string, Part[], JsonObject, string[]]>([
    [
      'several texts with citations as one text with continuous offsets',
      [
        { type: 'text', text: 'ab' },
        { type: 'text', text: 'cd', citations: [{ url: 'u', title: 't' }] },
      ],
      {
        content: 'abcd',
        annotations: [{ type: 'url_citation', url_citation: { url: 'u', title: 't', start_index: 2, end_index: 4 } }],
      },
      [],
    ],
    [
      'citations without a URL',
      [{ type: 'text', text: 'ab', citations: [{ title: 'doc' }] }],
      { content: 'ab' },
      ['warn unsupported'],
    ],
    [
      'calls without input',
      [{ type: 'tool-call', id: 'a', name: 'f', input: '' }],
      { content: null, tool_calls: [{ id: 'a', type: 'function', function: f }] },
      [],
    ],
    [
      'custom calls',
      [{ type: 'tool-call', id: 'a', name: 'f', input: '', custom: true }],
      { content: null, tool_calls: [{ id: 'a', type: 'custom', custom: { name: 'f', input: '' } }] },
      [],
    ],
    [
      'blocks of another format',
      [{ type: 'native', format: 'messages', value: { type: 'server_tool_use' } }],
      { content: '' },
      ['warn unsupported'],
    ],
    [
      'images',
      [{ type: 'media', kind: 'image', source: { type: 'base64', data: 'AA' }, mediaType: 'image/webp' }],
      { images: [{ type: 'image_url', image_url: { url: 'data:image/webp;base64,AA' }, index: 0 }] },
      ['note approximated'],
    ],
    [
      'documents',
      [{ type: 'media', kind: 'document', source: { type: 'text', text: 'x' } }],
      { content: '' },
      ['warn unsupported'],
    ],
    [
      'audio',
      [{ type: 'media', kind: 'audio', source: { type: 'base64', data: 'AA' } }],
      { content: null, audio: { id: 'audio_1', data: 'AA', transcript: '', expires_at: 1_700_003_600 } },
      [],
    ],
  ])('hold %s with the expected losses', (_, parts, message, losses) => {
    const { choice, losses: reported } = encode(parts)
    expect(choice.message).toMatchObject(message)
    expect(reported).toEqual(losses)
  })

  test.each<[Finish, Part[], string]>([
    [{ reason: 'stop' }, [called], 'tool_calls'],
    [{ reason: 'tool-calls' }, [], 'stop'],
    [{ reason: 'stop-sequence', sequence: 'END' }, [], 'stop'],
    [{ reason: 'pause' }, [], 'stop'],
    [{ reason: 'length' }, [called], 'length'],
    [{ reason: 'context-length' }, [], 'length'],
    [{ reason: 'content-filter' }, [], 'content_filter'],
    [{ reason: 'refusal' }, [], 'content_filter'],
    [{ reason: 'refusal', raw: { format: 'chat', value: 'stop' } }, [{ type: 'refusal', text: 'no' }], 'stop'],
    [{ reason: 'other', raw: { format: 'gemini', value: 'LANGUAGE' } }, [{ type: 'text', text: 'x' }], 'stop'],
  ])('end with a finish reason that clients know for %j', (finish, parts, word) => {
    expect(encode(parts, finish).choice.finish_reason).toBe(word)
  })

  test('include the stop sequence and the explanation of a refusal', () => {
    expect(encode([], { reason: 'stop-sequence', sequence: 'END' }).choice.stop_reason).toBe('END')
    expect(encode([], { reason: 'refusal', explanation: 'unsafe' }).choice.message).toMatchObject({ refusal: 'unsafe' })
  })

  test("report losses at the places in the upstream's response", () => {
    const context = testContext({})
    const extra = { messages: { container: { id: 'c' } } }
    const finish: Finish = { reason: 'stop', extra: { messages: { stop_details: { type: 'refusal' } } } }
    const answer = { id: 'a', model: 'm', created: 0, choices: [{ parts: [], finish, extra }] }
    chatCodec.encodeResponse(answer, { ...context, report: responseReport(context.report, responsePointers) })
    expect(context.losses.map(({ path }) => path)).toEqual(['/container', '/stop_details'])
  })

  test.each<Finish>([{ reason: 'error' }, { reason: 'other' }])(
    'throw an error instead of a stop for %j without content',
    (finish) => {
      expect(() => encode([], finish)).toThrow(GatewayError)
    },
  )

  test('use function_call for clients that sent functions', () => {
    const { choice, losses } = encode([called, called], { reason: 'tool-calls' }, { at: { tools: '/functions' } })
    expect(choice).toMatchObject({ message: { content: null, function_call: f }, finish_reason: 'function_call' })
    expect(choice.message).not.toHaveProperty('tool_calls')
    expect(losses).toEqual(['warn unsupported'])
  })
})
