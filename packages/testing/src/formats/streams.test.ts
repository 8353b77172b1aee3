import { describe, expect, it } from 'vitest'
import type { JsonObject } from '../base/json.ts'
import { createFakeProvider } from '../index.ts'
import { call, eventsOf, geminiBody, requestTo } from '../provider/requests.test-support.ts'

const now = () => 1_800_000_000_000
const tools = [{ type: 'function', function: { name: 'now', parameters: { type: 'object', properties: {} } } }]
const claudeTools = [{ name: 'now', input_schema: { type: 'object', properties: {} } }]

describe('Chat Completions stream', () => {
  const chunksOf = async (text: string, more = {}) => {
    const provider = createFakeProvider({ now })
    const response = await call(provider, 'chat', text, { stream: true, ...more })
    expect(response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
    return (await response.text()).split('\n\n').filter((line) => line !== '')
  }

  it('consists of a role chunk, content, a finish chunk and [DONE], without a usage key', async () => {
    const chunks = await chunksOf('[[say:Hi you]]')
    const head =
      /^data: \{"id":"(chatcmpl-\w{29})","object":"chat.completion.chunk","created":1800000000,"model":"demo-chat","service_tier":"default","system_fingerprint":"fp_\w{10}","choices":/
    expect(new Set(chunks.slice(0, -1).map((chunk) => head.exec(chunk)?.[1])).size).toBe(1)
    expect(chunks.map((chunk) => chunk.replace(head, ''))).toEqual([
      '[{"index":0,"delta":{"role":"assistant","content":"","refusal":null},"logprobs":null,"finish_reason":null}]}',
      '[{"index":0,"delta":{"content":"Hi"},"logprobs":null,"finish_reason":null}]}',
      '[{"index":0,"delta":{"content":" you"},"logprobs":null,"finish_reason":null}]}',
      '[{"index":0,"delta":{},"logprobs":null,"finish_reason":"stop"}]}',
      'data: [DONE]',
    ])
  })

  it('has null usage until a last chunk without choices if usage is requested', async () => {
    const chunks = await chunksOf('[[say:Hi]]', { stream_options: { include_usage: true } })
    expect(chunks.slice(0, -2).every((chunk) => chunk.endsWith(',"usage":null}'))).toBe(true)
    expect(chunks.at(-2)).toMatch(
      /"choices":\[\],"usage":\{"prompt_tokens":4,"completion_tokens":1,"total_tokens":5,"prompt_tokens_details":\{"cached_tokens":0,"audio_tokens":0\},"completion_tokens_details":\{"reasoning_tokens":0,"audio_tokens":0,"accepted_prediction_tokens":0,"rejected_prediction_tokens":0\}\}\}$/,
    )
  })

  it('puts a single first tool call into the role chunk, parallel ones after it', async () => {
    const choices = (chunks: string[]) => chunks.map((chunk) => /"delta":(\{.*\}),"logprobs"/.exec(chunk)?.[1])
    const single = choices(await chunksOf('[[tool:now]]', { tools }))
    expect(single[0]).toMatch(
      /^\{"role":"assistant","content":null,"tool_calls":\[\{"index":0,"id":"call_\w{24}","type":"function","function":\{"name":"now","arguments":""\}\}\],"refusal":null\}$/,
    )
    expect(single[1]).toBe('{"tool_calls":[{"index":0,"function":{"arguments":"{}"}}]}')
    const two = choices(await chunksOf('[[tools:2]]', { tools }))
    expect(two[0]).toBe('{"role":"assistant","content":null,"refusal":null}')
    expect(two[3]).toContain('{"tool_calls":[{"index":1,"id":"call_')
  })
})

describe('Messages stream', () => {
  const textOf = async (text: string, more = {}, padding = false) => {
    const provider = createFakeProvider({ padding })
    return (await call(provider, 'messages', text, { stream: true, ...more })).text()
  }

  it('follows the recorded order, with a ping after the first block start', async () => {
    const text = await textOf('[[say:Hi you]]')
    expect(text.replace(/msg_01\w{22}/, 'msg_X')).toBe(
      [
        'event: message_start\ndata: {"type":"message_start","message":{"model":"demo-messages","id":"msg_X","type":"message","role":"assistant","content":[],"stop_reason":null,"stop_sequence":null,"stop_details":null,"usage":{"input_tokens":5,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"cache_creation":{"ephemeral_5m_input_tokens":0,"ephemeral_1h_input_tokens":0},"output_tokens":1,"service_tier":"standard","inference_geo":"not_available"}}}',
        'event: content_block_start\ndata: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}',
        'event: ping\ndata: {"type": "ping"}',
        'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hi"}}',
        'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":" you"}}',
        'event: content_block_stop\ndata: {"type":"content_block_stop","index":0}',
        'event: message_delta\ndata: {"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null,"stop_details":null},"usage":{"input_tokens":5,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":2}}',
        'event: message_stop\ndata: {"type":"message_stop"}',
        '',
      ].join('\n\n'),
    )
  })

  it('pads data before the last brace by default', async () => {
    const padded = await textOf('[[say:Hi you]]', {}, true)
    expect(padded).toMatch(/ \}\n\n/)
    const strip = (text: string) => eventsOf(text.replace(/msg_01\w{22}/, 'msg_X'))
    expect(strip(padded)).toEqual(strip(await textOf('[[say:Hi you]]')))
  })

  it('begins tool input with an empty delta, and sends no other if there are no arguments', async () => {
    const events = eventsOf(await textOf('[[tool:now]] [[tool:now {"zone":"UTC"}]]', { tools: claudeTools }))
    const deltas = events.flatMap(({ data }) => {
      const { index, delta } = data as { index: number; delta?: { partial_json?: string } }
      return delta?.partial_json === undefined ? [] : [[index, delta.partial_json]]
    })
    expect(deltas[0]).toEqual([0, ''])
    expect(deltas[1]).toEqual([1, ''])
    expect(
      deltas
        .slice(1)
        .map(([, part]) => part)
        .join(''),
    ).toBe('{"zone":"UTC"}')
  })

  it('signs thinking in one delta at the end of the block', async () => {
    const events = eventsOf(await textOf('[[think]] Hi'))
    const names = events.map(({ data }) => {
      const { type, delta } = data as { type: string; delta?: { type?: string } }
      return delta?.type ?? type
    })
    expect(names.filter((name) => name === 'signature_delta')).toHaveLength(1)
    expect(names[names.indexOf('signature_delta') + 1]).toBe('content_block_stop')
    expect(events[1]?.data).toMatchObject({ content_block: { type: 'thinking', thinking: '', signature: '' } })
  })
})

interface Chunk {
  readonly candidates: { content: { parts: JsonObject[] } }[]
  readonly usageMetadata: JsonObject
}

describe('generateContent stream', () => {
  const declarations = { tools: [{ functionDeclarations: [{ name: 'now' }] }] }
  const textOf = async (text: string, path: string, more = {}) => {
    const provider = createFakeProvider()
    const response = await provider.fetch(requestTo(`/v1beta/models/demo-gemini:${path}`, geminiBody(text, more)))
    const body = (await response.text()).replaceAll(/"responseId": "[\w-]{23}"/g, '"responseId": "X"')
    return { body, type: response.headers.get('content-type') }
  }
  const usage = '"promptTokensDetails": [{"modality": "TEXT","tokenCount": 5}],"serviceTier": "standard"'
  const tail = '"modelVersion": "demo-gemini","responseId": "X"}'

  it('has one event per word with running usage, CRLF separators and a finish reason in the last event', async () => {
    const { body, type } = await textOf('[[say:Hi you]]', 'streamGenerateContent?alt=sse')
    expect(type).toBe('text/event-stream')
    expect(body.split('\r\n\r\n')).toEqual([
      `data: {"candidates": [{"content": {"parts": [{"text": "Hi"}],"role": "model"},"index": 0}],"usageMetadata": {"promptTokenCount": 5,"candidatesTokenCount": 1,"totalTokenCount": 6,${usage}},${tail}`,
      `data: {"candidates": [{"content": {"parts": [{"text": " you"}],"role": "model"},"finishReason": "STOP","index": 0}],"usageMetadata": {"promptTokenCount": 5,"candidatesTokenCount": 2,"totalTokenCount": 7,${usage}},${tail}`,
      '',
    ])
  })

  it('is one JSON array if events are not requested', async () => {
    const { body, type } = await textOf('[[say:Hi you]]', 'streamGenerateContent')
    expect(type).toBe('application/json; charset=UTF-8')
    expect(body).toMatch(/^\[\{\n {2}"candidates"[\s\S]*\}\n,\r\n\{\n[\s\S]*\}\n\]$/)
    expect(JSON.parse(body)).toHaveLength(2)
    const broken = await textOf('[[say:Hi you]] [[error-event:INTERNAL after:1]]', 'streamGenerateContent')
    expect(JSON.parse(broken.body).at(-1)).toMatchObject({ error: { code: 500, status: 'INTERNAL' } })
  })

  it('begins with uncounted thinking, and signs only the first call', async () => {
    const { body } = await textOf('[[think]] [[tools:2]] now', 'streamGenerateContent?alt=sse', declarations)
    const chunks = eventsOf(body).map(({ data }) => data as Chunk)
    const parts = chunks.map(({ candidates }) => candidates[0]?.content.parts[0])
    expect(parts.slice(0, -2).every((part) => part?.thought === true)).toBe(true)
    expect(parts.slice(-2).map((part) => part && Object.keys(part))).toEqual([
      ['functionCall', 'thoughtSignature'],
      ['functionCall'],
    ])
    expect(chunks[0]?.usageMetadata).not.toHaveProperty('candidatesTokenCount')
    expect(chunks[0]?.usageMetadata).not.toHaveProperty('thoughtsTokenCount')
    expect(chunks.at(-1)?.usageMetadata.thoughtsTokenCount).toBeGreaterThan(0)
    expect(chunks.at(-1)?.candidates[0]).toMatchObject({ finishReason: 'STOP' })
  })
})

describe('Responses stream', () => {
  const eventsFor = async (text: string, more = {}) => {
    const provider = createFakeProvider({ now, padding: false })
    const response = await call(provider, 'responses', text, { stream: true, ...more })
    expect(response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
    return eventsOf(await response.text())
  }
  /** Keys that a response always has, according to the published API description. */
  const keys =
    'id object created_at completed_at status incomplete_details model previous_response_id instructions output error tools tool_choice truncation parallel_tool_calls text top_p presence_penalty frequency_penalty top_logprobs temperature reasoning usage max_output_tokens max_tool_calls store background service_tier metadata safety_identifier prompt_cache_key'.split(
      ' ',
    )

  it('has every event of a text in numbered order, and no [DONE]', async () => {
    const events = await eventsFor('[[say:Hi you]]')
    expect(events.every(({ event, data }) => event === (data as { type: string }).type)).toBe(true)
    const id = /^msg_[0-9a-f]{50}$/
    const at = { item_id: expect.stringMatching(id), output_index: 0 }
    const part = (text: string) => ({ type: 'output_text', annotations: [], logprobs: [], text })
    const item = (status: string, content: object[]) => ({
      id: expect.stringMatching(id),
      type: 'message',
      status,
      content,
      role: 'assistant',
    })
    const text = { ...at, content_index: 0 }
    expect(events.slice(2, -1).map(({ data }) => data)).toEqual(
      [
        { type: 'response.output_item.added', output_index: 0, item: item('in_progress', []) },
        { type: 'response.content_part.added', ...text, part: part('') },
        { type: 'response.output_text.delta', ...text, delta: 'Hi', logprobs: [] },
        { type: 'response.output_text.delta', ...text, delta: ' you', logprobs: [] },
        { type: 'response.output_text.done', ...text, text: 'Hi you', logprobs: [] },
        { type: 'response.content_part.done', ...text, part: part('Hi you') },
        { type: 'response.output_item.done', output_index: 0, item: item('completed', [part('Hi you')]) },
      ].map((event, index) => ({ ...event, sequence_number: index + 2 })),
    )
  })

  it('begins and ends with the whole response, with all its keys', async () => {
    const events = await eventsFor('[[say:Hi]]', { instructions: 'S', metadata: { a: 'b' } })
    const responses = [events[0], events[1], events.at(-1)].map(
      (event) => ((event?.data ?? {}) as { response: JsonObject }).response,
    )
    for (const response of responses) {
      expect(Object.keys(response)).toEqual(expect.arrayContaining(keys))
      expect(response).toMatchObject({ instructions: 'S', metadata: { a: 'b' }, created_at: 1_800_000_000 })
    }
    expect(new Set(responses.map(({ id }) => id)).size).toBe(1)
    expect(responses.map(({ status, usage }) => [status, usage !== null])).toEqual([
      ['in_progress', false],
      ['in_progress', false],
      ['completed', true],
    ])
    const whole = await (await call(createFakeProvider(), 'responses', 'x')).json()
    expect(Object.keys(whole)).toEqual(expect.arrayContaining(keys))
  })

  it('hides the length of words by default', async () => {
    const hidden = async (more = {}) =>
      (await (await call(createFakeProvider(), 'responses', 'x', { stream: true, ...more })).text()).includes(
        '"obfuscation":"',
      )
    expect(await hidden()).toBe(true)
    expect(await hidden({ stream_options: { include_obfuscation: false } })).toBe(false)
  })

  it('contains encrypted content only on request, in the style of the real API', async () => {
    const reasoning = async (more = {}) => {
      const answer = await (await call(createFakeProvider(), 'responses', '[[redacted]] x', more)).json()
      return answer.output[0]
    }
    expect(await reasoning()).toEqual({ id: expect.stringMatching(/^rs_/), type: 'reasoning', summary: [] })
    const include = ['reasoning.encrypted_content']
    expect((await reasoning({ include })).encrypted_content).toMatch(/^gAAAAAB/)
  })
})

describe('token usage', () => {
  it('is reported in each format’s own accounting', async () => {
    const provider = createFakeProvider()
    const usage = { input: 100, cacheRead: 60, cacheWrite: 30, cacheWrite1h: 10, output: 20, reasoning: 5 }
    provider.on({}, { text: 'x', usage })
    expect((await (await call(provider, 'chat', 'x')).json()).usage).toMatchObject({
      prompt_tokens: 100,
      completion_tokens: 20,
      total_tokens: 120,
      prompt_tokens_details: { cached_tokens: 60 },
      completion_tokens_details: { reasoning_tokens: 5 },
    })
    expect((await (await call(provider, 'responses', 'x')).json()).usage).toEqual({
      input_tokens: 100,
      input_tokens_details: { cached_tokens: 60, cache_write_tokens: 30 },
      output_tokens: 20,
      output_tokens_details: { reasoning_tokens: 5 },
      total_tokens: 120,
    })
    expect((await (await call(provider, 'gemini', 'x')).json()).usageMetadata).toMatchObject({
      promptTokenCount: 100,
      cachedContentTokenCount: 60,
      candidatesTokenCount: 15,
      thoughtsTokenCount: 5,
      totalTokenCount: 120,
    })
    expect((await (await call(provider, 'messages', 'x')).json()).usage).toMatchObject({
      input_tokens: 10,
      cache_read_input_tokens: 60,
      cache_creation_input_tokens: 30,
      cache_creation: { ephemeral_5m_input_tokens: 20, ephemeral_1h_input_tokens: 10 },
      output_tokens: 20,
      output_tokens_details: { thinking_tokens: 5 },
    })
  })

  it('counts a repeated chat prefix as cached', async () => {
    const provider = createFakeProvider()
    const messages = [
      { role: 'system', content: 'word '.repeat(100) },
      { role: 'user', content: 'Hi' },
    ]
    const cached = async () =>
      (await (await call(provider, 'chat', '', { messages })).json()).usage.prompt_tokens_details.cached_tokens
    expect(await cached()).toBe(0)
    expect(await cached()).toBe(104)
  })

  it('counts reasoning that a chat model hides', async () => {
    const answer = await (await call(createFakeProvider(), 'chat', 'Hi', { reasoning_effort: 'low' })).json()
    expect(answer.choices[0].message).not.toHaveProperty('reasoning_content')
    expect(answer.usage.completion_tokens_details.reasoning_tokens).toBeGreaterThan(0)
    const shown = createFakeProvider({ chatReasoning: 'reasoning' })
    const open = await (await call(shown, 'chat', 'Hi', { reasoning_effort: 'low' })).json()
    expect(open.choices[0].message.reasoning).toContain('“Hi”')
  })
})

describe('response headers', () => {
  it('are those of each provider', async () => {
    const provider = createFakeProvider()
    const chat = await call(provider, 'chat', 'x')
    expect(chat.headers.get('openai-version')).toBe('2020-10-01')
    expect(chat.headers.get('x-ratelimit-remaining-requests')).toBe('9999')
    const messages = await call(provider, 'messages', 'x')
    expect(messages.headers.get('request-id')).toMatch(/^req_011\w{21}$/)
    expect(messages.headers.get('anthropic-ratelimit-requests-reset')).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/)
  })

  it('contain the id of an Anthropic error body', async () => {
    const response = await createFakeProvider().fetch(requestTo('/v1/messages', {}))
    expect(response.status).toBe(400)
    expect((await response.json()).request_id).toBe(response.headers.get('request-id'))
  })
})

it('returns the same responses for the same seed and calls', async () => {
  const answers = await Promise.all(
    [1, 2].map(async () => (await call(createFakeProvider({ now, seed: 7 }), 'chat', 'Hi', { n: 2 })).text()),
  )
  expect(answers[0]).toBe(answers[1])
})
