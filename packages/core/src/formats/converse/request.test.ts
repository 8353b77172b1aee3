import { describe, expect, it, test } from 'vitest'
import type { JsonObject } from '../../base/json/json.ts'
import { chatCodec } from '../chat/codec.ts'
import type { Codec } from '../codec.ts'
import type { Loss } from '../ir.ts'
import { createReport } from '../loss-report.ts'
import { messagesCodec } from '../messages/index.ts'
import { converseCodec } from './index.ts'

const nova = 'us.amazon.nova-lite-v1:0'
const claude = 'us.anthropic.claude-sonnet-4-5-20250929-v1:0'

/** Translates a client's body as the pipeline does. */
function send(client: Codec, body: JsonObject, model = nova): { sent: JsonObject; losses: readonly Loss[] } {
  const report = createReport(body)
  let ids = 0
  const context = {
    report,
    newId: (prefix: string) => `${prefix}${++ids}`,
    now: () => 1,
    upstream: 'converse' as const,
  }
  const decoded = client.decodeRequest(structuredClone(body), context)
  const request = { ...decoded, at: { ...client.fieldPointers, ...decoded.at } }
  const sent = converseCodec.encodeRequest(request, { ...context, target: { model, quirks: {} } })
  return { sent: JSON.parse(JSON.stringify(sent)) as JsonObject, losses: report.losses }
}
const places = (losses: readonly Loss[]): string[] => losses.map(({ path, severity }) => `${path} ${severity}`)
const hi = { role: 'user', content: 'hi' }
const chat = (more: JsonObject, model?: string) => send(chatCodec, { model: 'm', messages: [hi], ...more }, model)
const messages = (more: JsonObject, model?: string) =>
  send(messagesCodec, { model: 'm', max_tokens: 10, messages: [hi], ...more }, model)

const schema = {
  type: 'object',
  properties: { city: { type: 'string' } },
  required: ['city'],
  additionalProperties: false,
}
const tool = { type: 'function', function: { name: 'weather', description: 'The weather.', parameters: schema } }
const spec = { name: 'weather', description: 'The weather.', inputSchema: { json: schema } }
const pixel = 'iVBORw0KGgo='

describe('requests of chat clients', () => {
  test('are encoded as Converse requests', () => {
    const { sent, losses } = chat({
      messages: [{ role: 'system', content: 'Be brief.' }, hi],
      max_tokens: 9,
      temperature: 0.5,
      top_p: 0.9,
      stop: ['END'],
      stream: true,
      tools: [tool],
      tool_choice: 'required',
    })
    expect(sent).toEqual({
      messages: [{ role: 'user', content: [{ text: 'hi' }] }],
      system: [{ text: 'Be brief.' }],
      inferenceConfig: { maxTokens: 9, temperature: 0.5, topP: 0.9, stopSequences: ['END'] },
      toolConfig: { tools: [{ toolSpec: spec }], toolChoice: { any: {} } },
    })
    expect(losses).toEqual([])
  })

  test('keep ids, results and their order in a tool loop', () => {
    const { sent, losses } = chat({
      tools: [tool],
      messages: [
        hi,
        {
          role: 'assistant',
          content: 'I look.',
          tool_calls: [
            {
              id: 'functions.weather:0',
              type: 'function',
              function: { name: 'weather', arguments: '{"city":"Oslo"}' },
            },
          ],
        },
        { role: 'tool', tool_call_id: 'functions.weather:0', content: 'Rain.' },
        { role: 'user', content: 'And now?' },
      ],
    })
    expect(sent.messages).toEqual([
      { role: 'user', content: [{ text: 'hi' }] },
      {
        role: 'assistant',
        content: [
          { text: 'I look.' },
          { toolUse: { toolUseId: 'functions.weather:0', name: 'weather', input: { city: 'Oslo' } } },
        ],
      },
      {
        role: 'user',
        content: [
          { toolResult: { toolUseId: 'functions.weather:0', content: [{ text: 'Rain.' }] } },
          { text: 'And now?' },
        ],
      },
    ])
    expect(losses).toEqual([])
  })

  test.each([
    ['functions.weather:0', nova, 'functions.weather:0'],
    ['functions.weather:0', claude, 'functions_weather_0'],
    ['x'.repeat(70), nova, /^x{51}_[0-9a-f]{8}$/],
  ])('pair call and result with the id %s for %s', (id, model, expected) => {
    const call = { id, type: 'function', function: { name: 'weather', arguments: '{}' } }
    const turns = [
      hi,
      { role: 'assistant', content: null, tool_calls: [call] },
      { role: 'tool', tool_call_id: id, content: 'x' },
    ]
    const { sent } = chat({ tools: [tool], messages: turns }, model)
    const [called, answered] = [...JSON.stringify(sent).matchAll(/"toolUseId":"([^"]+)"/g)].map(([, found]) => found)
    expect(called).toEqual(typeof expected === 'string' ? expected : expect.stringMatching(expected))
    expect(answered).toBe(called)
  })

  test('report losses at their place in the request', () => {
    const { losses } = chat({
      seed: 7,
      logprobs: true,
      logit_bias: { '5': 1 },
      frequency_penalty: 1,
      temperature: 1.5,
      user: 'u',
      response_format: { type: 'json_object' },
      parallel_tool_calls: false,
      tools: [tool],
      messages: [{ ...hi, name: 'Ada' }],
    })
    expect(places(losses).sort()).toEqual([
      '/frequency_penalty warn',
      '/logit_bias warn',
      '/logprobs warn',
      '/messages/0/name warn',
      '/parallel_tool_calls warn',
      '/response_format warn',
      '/seed warn',
      '/temperature warn',
      '/user note',
    ])
  })

  test('send a tool with a long name under a shorter one', () => {
    const name = `mcp__${'x'.repeat(80)}`
    const { sent } = chat({ tools: [{ type: 'function', function: { name } }] })
    expect(JSON.stringify(sent)).toMatch(/"toolSpec":\{"name":"[a-zA-Z0-9_-]{1,64}"/)
  })
})

describe('tools with the choice none', () => {
  const call = { id: 'c', type: 'function', function: { name: 'weather', arguments: '{}' } }
  const loop = [
    hi,
    { role: 'assistant', content: null, tool_calls: [call] },
    { role: 'tool', tool_call_id: 'c', content: 'x' },
  ]

  it('are not offered', () => {
    const { sent, losses } = chat({ tools: [tool], tool_choice: 'none' })
    expect(sent).not.toHaveProperty('toolConfig')
    expect(places(losses)).toEqual(['/tool_choice note', '/tools note'])
  })

  it('are declared after earlier calls, and the consequence is reported', () => {
    const { sent, losses } = chat({ tools: [tool], tool_choice: 'none', messages: loop })
    expect(sent.toolConfig).toEqual({ tools: [{ toolSpec: spec }] })
    expect(places(losses)).toEqual(['/tool_choice warn'])
  })

  it('are declared by name if the request lists none', () => {
    const { sent, losses } = chat({ messages: loop })
    expect(sent.toolConfig).toEqual({
      tools: [{ toolSpec: { name: 'weather', inputSchema: { json: { type: 'object', properties: {} } } } }],
    })
    expect(places(losses)).toEqual(['/tools warn'])
  })
})

describe('requests of messages clients', () => {
  test('keep thinking, seals, cache hints and top_k for Claude', () => {
    const seal = 'mgs1.converse.c2lnbmVk'
    const { sent, losses } = messages(
      {
        max_tokens: 5000,
        system: [{ type: 'text', text: 'Long.', cache_control: { type: 'ephemeral', ttl: '1h' } }],
        thinking: { type: 'enabled', budget_tokens: 2048 },
        tools: [{ name: 'weather', input_schema: schema, cache_control: { type: 'ephemeral' } }],
        messages: [
          hi,
          {
            role: 'assistant',
            content: [
              { type: 'thinking', thinking: 'Hm.', signature: seal },
              { type: 'redacted_thinking', data: seal },
              { type: 'tool_use', id: 'c', name: 'weather', input: { city: 'Oslo' } },
            ],
          },
          { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c', is_error: true, content: 'No.' }] },
        ],
      },
      claude,
    )
    expect(sent).toMatchObject({
      system: [{ text: 'Long.' }, { cachePoint: { type: 'default', ttl: '1h' } }],
      inferenceConfig: { maxTokens: 5000 },
      additionalModelRequestFields: { thinking: { type: 'enabled', budget_tokens: 2048 } },
      toolConfig: { tools: [{ toolSpec: { name: 'weather' } }, { cachePoint: { type: 'default' } }] },
      messages: [
        {},
        {
          content: [
            { reasoningContent: { reasoningText: { text: 'Hm.', signature: 'c2lnbmVk' } } },
            { reasoningContent: { redactedContent: 'c2lnbmVk' } },
            { toolUse: { toolUseId: 'c', input: { city: 'Oslo' } } },
          ],
        },
        { content: [{ toolResult: { toolUseId: 'c', status: 'error', content: [{ text: 'No.' }] } }] },
      ],
    })
    expect(losses).toEqual([])
  })

  test('do not send signatures of Anthropic to Bedrock', () => {
    const turns = [
      hi,
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'Hm.', signature: 'abc' },
          { type: 'text', text: 'So.' },
        ],
      },
      hi,
    ]
    const { sent, losses } = messages({ messages: turns })
    expect(JSON.stringify(sent)).not.toContain('abc')
    expect(places(losses)).toEqual(['/messages/1/content/0 note'])
  })

  test('begin with a user message, merge neighbours and report moved content', () => {
    const { sent, losses } = messages({
      messages: [
        { role: 'assistant', content: 'Hello.' },
        hi,
        {
          role: 'user',
          content: [
            { type: 'text', text: ' ' },
            { type: 'text', text: 'again' },
          ],
        },
      ],
    })
    expect(sent.messages).toEqual([
      { role: 'user', content: [{ text: '.' }] },
      { role: 'assistant', content: [{ text: 'Hello.' }] },
      { role: 'user', content: [{ text: 'hi' }, { text: 'again' }] },
    ])
    expect(places(losses)).toEqual(['/messages/2/content/0 note', '/messages/0 warn'])
  })
})

describe('media', () => {
  const document = (title: string | undefined, data = 'JVBERi0=') => ({
    type: 'document',
    source: { type: 'base64', media_type: 'application/pdf', data },
    ...(title === undefined ? {} : { title }),
  })
  const userRequest = (...content: JsonObject[]) => messages({ messages: [{ role: 'user', content }] })

  test('are sent as bytes', () => {
    const { sent, losses } = userRequest(
      { type: 'text', text: 'Look.' },
      { type: 'image', source: { type: 'base64', media_type: 'image/png', data: pixel } },
      document('Report'),
      { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'Grüße' }, title: 'Notes' },
    )
    expect(sent.messages).toEqual([
      {
        role: 'user',
        content: [
          { text: 'Look.' },
          { image: { format: 'png', source: { bytes: pixel } } },
          { document: { format: 'pdf', name: 'Report', source: { bytes: 'JVBERi0=' } } },
          { document: { format: 'txt', name: 'Notes', source: { bytes: 'R3LDvMOfZQ==' } } },
        ],
      },
    ])
    expect(losses).toEqual([])
  })

  test('get unique, accepted names and an added text if their names are equal or invalid', () => {
    const { sent, losses } = userRequest(document('report.pdf'), document('report.pdf'), document(undefined))
    const [message] = sent.messages as { content: { document?: { name: string } }[] }[]
    const names = message?.content.flatMap((block) => block.document?.name ?? [])
    expect(names).toEqual(['report pdf', 'report pdf 2', 'Document'])
    expect(message?.content).toContainEqual({ text: '.' })
    expect(places(losses)).toEqual([
      '/messages/0/content/0 note',
      '/messages/0/content/1 note',
      '/messages/0/content/2 note',
      '/messages/0 note',
    ])
  })

  test.each([
    ['s3://bucket/cat.jpg', { format: 'jpeg', source: { s3Location: { uri: 's3://bucket/cat.jpg' } } }],
    ['https://example.com/cat.jpg', undefined],
  ])('are accepted only from S3: %s', (url, image) => {
    const { sent, losses } = chat({
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'Look.' },
            { type: 'image_url', image_url: { url } },
          ],
        },
      ],
    })
    if (image === undefined) expect(places(losses)).toEqual(['/messages/0/content/1 fatal'])
    else expect((sent.messages as { content: JsonObject[] }[])[0]?.content[1]).toEqual({ image })
  })

  test.each([
    ['image/tiff', 'image'],
    ['application/zip', 'document'],
    ['constructor', 'document'],
    ['__proto__', 'document'],
  ])('of the type %s are rejected', (media_type, type) => {
    const { losses } = userRequest(
      { type: 'text', text: 'x' },
      { type, source: { type: 'base64', media_type, data: 'AAAA' } },
    )
    expect(places(losses)).toEqual(['/messages/0/content/1 fatal'])
  })
})

describe('reasoning', () => {
  it.each([
    ['openai.gpt-oss-120b-1:0', 'high', { reasoning_effort: 'high' }],
    ['openai.gpt-oss-120b-1:0', 'minimal', { reasoning_effort: 'low' }],
    ['qwen.qwen3-32b-v1:0', 'medium', { reasoning_config: 'high' }],
    ['us.amazon.nova-2-lite-v1:0', 'medium', { reasoningConfig: { type: 'enabled', maxReasoningEffort: 'medium' } }],
    ['us.anthropic.claude-sonnet-4-5-20250929-v1:0', 'low', { thinking: { type: 'enabled', budget_tokens: 4096 } }],
    ['us.anthropic.claude-opus-4-7', 'high', { thinking: { type: 'adaptive' }, output_config: { effort: 'high' } }],
    ['meta.llama3-70b-instruct-v1:0', 'high', undefined],
  ])('is encoded for %s with the effort %s', (model, reasoning_effort, fields) => {
    expect(chat({ reasoning_effort }, model).sent.additionalModelRequestFields).toEqual(fields)
  })

  it('drops settings that exclude thinking for Claude, and sets maxTokens', () => {
    const { sent, losses } = chat({ reasoning_effort: 'low', temperature: 0.2 }, claude)
    expect(sent.inferenceConfig).toEqual({ maxTokens: expect.any(Number) })
    expect(places(losses)).toEqual(['/reasoning_effort note', '/temperature warn', '/max_completion_tokens note'])
  })
})

describe('output schema', () => {
  const response_format = { type: 'json_schema', json_schema: { name: 'place', schema, strict: true } }
  it('is sent as text within the body', () => {
    const { sent, losses } = chat({ response_format }, 'qwen.qwen3-32b-v1:0')
    expect(sent.outputConfig).toEqual({
      textFormat: {
        type: 'json_schema',
        structure: { jsonSchema: { schema: JSON.stringify(schema), name: 'place' } },
      },
    })
    expect(losses).toEqual([])
  })
  it('is reported if the model does not accept it', () => {
    expect(places(chat({ response_format }).losses)).toEqual(['/response_format warn'])
  })
})

test('requests the stop sequence from Claude', () => {
  expect(chat({ stop: ['END', ''] }, claude).sent).toMatchObject({
    inferenceConfig: { stopSequences: ['END'] },
    additionalModelResponseFieldPaths: ['/stop_sequence'],
  })
  const { sent, losses } = chat({ stop: ['END', ''] })
  expect(sent).not.toHaveProperty('additionalModelResponseFieldPaths')
  expect(places(losses)).toEqual(['/stop warn'])
})

test.each([
  [{ team: 'blue' }, { team: 'blue' }, []],
  [{ team: 'blau & grün' }, undefined, ['/metadata note']],
  [Object.fromEntries(Array.from({ length: 17 }, (_, at) => [`k${at}`, 'v'])), undefined, ['/metadata note']],
])('encodes or reports the metadata %j', (metadata, expected, expectedLosses) => {
  const { sent, losses } = chat({ metadata })
  expect(sent.requestMetadata).toEqual(expected)
  expect(places(losses)).toEqual(expectedLosses)
})

test.each([
  ['flex', { type: 'flex' }, []],
  ['auto', undefined, []],
  ['scale', undefined, ['/service_tier warn']],
])('encodes or reports the service tier %s', (service_tier, expected, expectedLosses) => {
  const { sent, losses } = chat({ service_tier })
  expect(sent.serviceTier).toEqual(expected)
  expect(places(losses)).toEqual(expectedLosses)
})
