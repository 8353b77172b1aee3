import { describe, expect, test } from 'vitest'
import { isObject, type Json, type JsonObject } from '../../base/json/json.ts'
import type { ModelRequest } from '../ir.ts'
import type { Quirks } from '../target-traits.ts'
import { chatCodec } from './codec.ts'
import { testContext } from './context.test-support.ts'

const decode = (body: JsonObject): ModelRequest => chatCodec.decodeRequest(structuredClone(body), testContext())
function roundTrip(body: JsonObject, quirks: Quirks = {}) {
  const context = testContext({ quirks })
  const wire = chatCodec.encodeRequest(chatCodec.decodeRequest(structuredClone(body), context), context)
  return { wire, losses: context.losses }
}

const user = { role: 'user', content: 'hi' }
const call = { id: 'call_1', type: 'function', function: { name: 'f', arguments: '{"a": 1}' } }

/** Every field that a client can send, in the form that a round trip keeps unchanged. */
const rich: JsonObject = {
  model: 'm',
  messages: [
    { role: 'developer', content: 'be brief' },
    {
      role: 'system',
      name: 'root',
      content: [
        { type: 'text', text: 'a' },
        { type: 'text', text: 'b' },
      ],
    },
    {
      role: 'user',
      name: 'ann',
      content: [
        { type: 'text', text: 'look' },
        { type: 'image_url', image_url: { url: 'https://a/b.png', detail: 'low' } },
        { type: 'image_url', image_url: { url: 'data:image/webp;base64,AAAA', resize: 'fit' } },
        { type: 'input_audio', input_audio: { data: 'BBBB', format: 'mp3' } },
        { type: 'file', file: { file_data: 'data:application/pdf;base64,CCCC', filename: 'a.pdf' } },
        { type: 'file', file: { file_id: 'file-1' } },
        { type: 'document_url', document_url: 'https://a/b.pdf' },
      ],
    },
    {
      role: 'assistant',
      content: 'thinking aloud',
      tool_calls: [call, { id: 'c2', type: 'custom', custom: { name: 'c', input: 'not json' } }],
    },
    { role: 'tool', tool_call_id: 'call_1', content: 'one' },
    {
      role: 'tool',
      tool_call_id: 'c2',
      content: [
        { type: 'text', text: 'two' },
        { type: 'text', text: 'three' },
      ],
      name: 'c',
    },
    { role: 'assistant', content: null, refusal: 'no' },
    { role: 'assistant', content: null, audio: { id: 'audio_1' } },
    { role: 'assistant', content: 'partial', prefix: true },
  ],
  temperature: 0.5,
  top_p: 0.9,
  n: 2,
  seed: 7,
  stop: ['a', 'b'],
  max_completion_tokens: 99,
  presence_penalty: 1,
  frequency_penalty: -1,
  logit_bias: { '50256': -100 },
  logprobs: true,
  top_logprobs: 3,
  user: 'u',
  prompt_cache_key: 'k',
  safety_identifier: 's',
  metadata: { a: 'b' },
  service_tier: 'flex',
  store: true,
  verbosity: 'low',
  reasoning_effort: 'minimal',
  modalities: ['text', 'audio'],
  audio: { voice: 'alloy', format: 'mp3' },
  prediction: { type: 'content', content: 'x' },
  web_search_options: {},
  parallel_tool_calls: false,
  tools: [
    {
      type: 'function',
      function: { name: 'f', description: 'd', parameters: { type: 'object' }, strict: true, returns: 'x' },
    },
    { type: 'function', function: { name: 'bare' }, kind: 'x' },
    {
      type: 'custom',
      custom: { name: 'c', format: { type: 'grammar', grammar: { syntax: 'lark', definition: 'start: /a/' } } },
    },
    { type: 'vendor:search', parameters: { depth: 1 } },
  ],
  tool_choice: {
    type: 'allowed_tools',
    allowed_tools: {
      mode: 'required',
      tools: [
        { type: 'function', function: { name: 'f' } },
        { type: 'custom', custom: { name: 'c' } },
      ],
    },
  },
  response_format: {
    type: 'json_schema',
    json_schema: { name: 'n', description: 'd', schema: { type: 'object' }, strict: true },
  },
  stream: true,
  stream_options: { include_usage: true, include_obfuscation: false },
  invented_last_week: { deep: [1, 2] },
}

describe('a chat request through the IR', () => {
  test('keeps every field and reports no loss', () => {
    expect(roundTrip(rich)).toEqual({ wire: rich, losses: [] })
  })

  const conversation = (message: JsonObject): JsonObject => ({ model: 'm', messages: [user, message] })
  test.each([
    ['null for absent', { stop: null, tools: null, stream_options: null, seed: null, store: null }, {}],
    ['defaults written out', { stream: false, logprobs: false }, {}],
    ['one stop sequence', { stop: 'a' }, { stop: ['a'] }],
    ['max_tokens', { max_tokens: 5 }, { max_completion_tokens: 5 }],
    ['both token limits', { max_tokens: 5, max_completion_tokens: 5 }, { max_completion_tokens: 5 }],
    ["Mistral's 'any'", { tools: rich.tools, tool_choice: 'any' }, { tools: rich.tools, tool_choice: 'required' }],
    ['an effort in an object', { reasoning: { effort: 'high' } }, { reasoning_effort: 'high' }],
    ['a stream without options', { stream: true }, { stream: true, stream_options: { include_usage: true } }],
    ['no tools', { tools: [], tool_choice: 'auto', parallel_tool_calls: true }, {}],
    ['JSON mode', { response_format: { type: 'json_object' } }, { response_format: { type: 'json_object' } }],
    [
      'an unknown format',
      { response_format: { type: 'grammar', value: 'x' } },
      { response_format: { type: 'grammar', value: 'x' } },
    ],
    ['metadata of other types', { metadata: { a: 1 } }, { metadata: { a: 1 } }],
    ['an unknown tool choice', { tool_choice: 'sometimes' }, { tool_choice: 'sometimes' }],
  ] as const)('is written with %s in the plain form', (_, fields, plain) => {
    const { wire, losses } = roundTrip({ model: 'm', messages: [user], ...structuredClone(fields) } as JsonObject)
    expect(wire).toEqual({ model: 'm', messages: [user], ...plain })
    expect(losses).toEqual([])
  })

  test.each<[string, JsonObject, JsonObject]>([
    [
      'empty content next to calls',
      { role: 'assistant', content: '', tool_calls: [call] },
      { role: 'assistant', content: null, tool_calls: [call] },
    ],
    [
      'missing content next to calls',
      { role: 'assistant', tool_calls: [call] },
      { role: 'assistant', content: null, tool_calls: [call] },
    ],
    ['one text as a list', { role: 'user', content: [{ type: 'text', text: 'x' }] }, { role: 'user', content: 'x' }],
    [
      'an echoed response with nulls',
      { role: 'assistant', content: 'x', refusal: null, annotations: [], audio: null },
      { role: 'assistant', content: 'x' },
    ],
    [
      "the Agents SDK's parts",
      { role: 'assistant', content: [{ type: 'text', text: 'x', role: 'assistant', refusal: null, annotations: [] }] },
      { role: 'assistant', content: 'x' },
    ],
    [
      'an image as a bare URL',
      { role: 'user', content: [{ type: 'image_url', image_url: 'https://a' }] },
      { role: 'user', content: [{ type: 'image_url', image_url: { url: 'https://a' } }] },
    ],
    [
      'a call without its input',
      { role: 'assistant', content: null, tool_calls: [{ id: 'a', function: { name: 'f', arguments: '' } }] },
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } }],
      },
    ],
  ])('is written with %s in the plain form of a message', (_, message, plain) => {
    expect(roundTrip(conversation(message))).toEqual({ wire: { ...conversation(plain) }, losses: [] })
  })

  test.each<[string, Quirks, JsonObject, JsonObject]>([
    ['the old name of the limit', { maxTokensField: 'max_tokens' }, { max_completion_tokens: 5 }, { max_tokens: 5 }],
    ['no stream options', { streamOptions: false }, { stream: true }, { stream: true }],
    ['top_k', { topK: true }, { top_k: 5 }, { top_k: 5 }],
    [
      'an object for reasoning',
      { reasoningObject: true },
      { reasoning_effort: 'low' },
      { reasoning: { effort: 'low' } },
    ],
    [
      'a budget for reasoning',
      { reasoningObject: true },
      { reasoning: { max_tokens: 5, exclude: true } },
      { reasoning: { max_tokens: 5, exclude: true } },
    ],
  ])('is written for an upstream that accepts %s', (_, quirks, fields, plain) => {
    const { wire, losses } = roundTrip({ model: 'm', messages: [user], ...fields }, quirks)
    expect(wire).toEqual({ model: 'm', messages: [user], ...plain })
    expect(losses).toEqual([])
  })

  test('is written with developer turns as system turns for an upstream without a developer role', () => {
    const { wire } = roundTrip(
      { model: 'm', messages: [{ role: 'developer', content: 'x' }] },
      { developerRole: 'system' },
    )
    expect(wire.messages).toEqual([{ role: 'system', content: 'x' }])
  })

  test('keeps cache hints for upstreams that support them and reports them for others', () => {
    const hint = { type: 'ephemeral', ttl: '1h' }
    const body: JsonObject = {
      model: 'm',
      messages: [{ role: 'user', content: [{ type: 'text', text: 'x', cache_control: hint }] }],
      tools: [{ type: 'function', function: { name: 'f' }, cache_control: { type: 'ephemeral' } }],
    }
    expect(roundTrip(body, { cacheControl: true })).toEqual({ wire: body, losses: [] })
    const { wire, losses } = roundTrip(body)
    expect(JSON.stringify(wire)).not.toContain('cache_control')
    expect(losses.map(({ path, severity }) => [path, severity])).toEqual([
      ['/messages/0/content/0/cache_control', 'note'],
      ['/tools/0/cache_control', 'note'],
    ])
  })

  test('keeps functions, their calls and their results in the old form', () => {
    const body: JsonObject = {
      model: 'm',
      messages: [
        user,
        { role: 'assistant', content: null, function_call: { name: 'f', arguments: '{}' } },
        { role: 'function', name: 'f', content: 'done' },
      ],
      functions: [{ name: 'f', parameters: { type: 'object' } }],
      function_call: { name: 'f' },
    }
    expect(roundTrip(body)).toEqual({ wire: body, losses: [] })
    const { turns } = decode(body)
    expect(turns[1]?.parts[0]).toMatchObject({ type: 'tool-call', id: 'function_call_1' })
    expect(turns[2]?.parts[0]).toMatchObject({ type: 'tool-result', callId: 'function_call_1', name: 'f' })
  })
})

/** Lists the JSON pointers of all objects within a value. */
function objectsIn(value: Json, at = ''): string[] {
  if (Array.isArray(value)) return value.flatMap((item, index) => objectsIn(item, `${at}/${index}`))
  if (!isObject(value)) return []
  return [at, ...Object.entries(value).flatMap(([key, item]) => objectsIn(item, `${at}/${key}`))]
}
function objectAt(value: JsonObject, at: string): JsonObject {
  let found: unknown = value
  for (const step of at.split('/').slice(1)) found = (found as { [key: string]: unknown })[step]
  return found as JsonObject
}

describe('an unknown field of a chat request', () => {
  test.each(objectsIn(rich))('is kept in the object at %s/', (at) => {
    const body = structuredClone(rich)
    objectAt(body, at).invented = { deep: [1, { two: 3 }] }
    expect(roundTrip(body)).toEqual({ wire: body, losses: [] })
  })
})

describe('a decoded chat request', () => {
  test('holds adjacent tool messages as one turn in their order', () => {
    const { turns } = decode(rich)
    expect(turns.map(({ role, parts }) => [role, parts.map((part) => part.type)])).toEqual([
      ['developer', ['text']],
      ['system', ['text', 'text']],
      ['user', ['text', 'media', 'media', 'media', 'media', 'media', 'native']],
      ['assistant', ['text', 'tool-call', 'tool-call']],
      ['user', ['tool-result', 'tool-result']],
      ['assistant', ['refusal']],
      ['assistant', ['media']],
      ['assistant', ['text']],
    ])
  })

  test('holds opaque and unknown fields under their format', () => {
    const request = decode(rich)
    expect(request.extra?.chat).toMatchObject({ store: true, invented_last_week: { deep: [1, 2] } })
    expect(request.turns[2]?.parts[5]).toMatchObject({
      source: { type: 'file', seal: { issuer: 'chat', data: 'file-1' } },
    })
    expect(request.turns[7]?.extra?.chat).toEqual({ prefix: true })
  })

  test("names the place of each field in the client's body", () => {
    expect(
      decode({ model: 'm', messages: [user], max_tokens: 3, reasoning: { effort: 'low' }, tool_choice: 'none' }).at,
    ).toMatchObject({
      'sampling.maxTokens': '/max_tokens',
      'reasoning.effort': '/reasoning/effort',
      'tools.choice': '/tool_choice',
    })
    expect(decode(rich).at).toMatchObject({
      'sampling.maxTokens': '/max_completion_tokens',
      'user.cacheKey': '/prompt_cache_key',
    })
  })

  test('holds the input of a call as the exact text of the model', () => {
    expect(decode(rich).turns[3]?.parts[1]).toMatchObject({ input: '{"a": 1}', at: '/messages/3/tool_calls/0' })
  })

  test('holds echoed reasoning before the text', () => {
    const { turns } = decode({
      model: 'm',
      messages: [user, { role: 'assistant', content: 'x', reasoning_content: 'hm' }],
    })
    expect(turns[1]?.parts).toMatchObject([
      { type: 'reasoning', text: 'hm' },
      { type: 'text', text: 'x' },
    ])
  })
})
