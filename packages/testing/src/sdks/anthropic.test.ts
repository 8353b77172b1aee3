import Anthropic from '@anthropic-ai/sdk'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createFakeProvider, type ListeningProvider, listen } from '../index.ts'

const provider = createFakeProvider({ apiKey: 'good-key', models: ['demo-messages'] })
let server: ListeningProvider
let client: Anthropic

beforeAll(async () => {
  server = await listen(provider)
  client = new Anthropic({ apiKey: 'good-key', baseURL: server.origin, maxRetries: 0 })
})
afterAll(() => server.close())
beforeEach(() => provider.reset())

const ask = (content: string | Anthropic.ContentBlockParam[]) => ({
  model: 'demo-messages',
  max_tokens: 4096,
  messages: [{ role: 'user' as const, content }],
})
const weather: Anthropic.Tool = {
  name: 'get_weather',
  input_schema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
}
const enabled = { type: 'enabled' as const, budget_tokens: 1024 }

describe('official Anthropic client', () => {
  it('reads a text response', async () => {
    const answer = await client.messages.create(ask('Hello there'))
    expect(answer.content[0]).toMatchObject({ type: 'text', text: expect.stringContaining('“Hello there”') })
    expect(answer).toMatchObject({ stop_reason: 'end_turn', stop_sequence: null, type: 'message', role: 'assistant' })
    expect(answer.id).toMatch(/^msg_01[A-Za-z0-9]{22}$/)
    expect(answer._request_id).toMatch(/^req_011/)
    expect(answer.usage).toMatchObject({ cache_read_input_tokens: 0, service_tier: 'standard' })
  })

  it('streams the same content as the unstreamed response', async () => {
    const whole = await client.messages.create(ask('Hello there'))
    const final = await client.messages.stream(ask('Hello there')).finalMessage()
    expect(final.content).toEqual(whole.content)
    expect(final.usage.output_tokens).toBe(whole.usage.output_tokens)
    expect(final.stop_reason).toBe('end_turn')
  })

  it('runs a thinking tool loop with valid signatures', async () => {
    const tools = [weather]
    const first = await client.messages
      .stream({ ...ask('[[tools:2]] What is the weather in Paris?'), thinking: enabled, tools })
      .finalMessage()
    expect(first.content.map((block) => block.type)).toEqual(['thinking', 'tool_use', 'tool_use'])
    expect(first.stop_reason).toBe('tool_use')
    const results = first.content
      .filter((block) => block.type === 'tool_use')
      .map((block) => ({ type: 'tool_result' as const, tool_use_id: block.id, content: 'sunny' }))
    const next = (content: Anthropic.ContentBlockParam[]) => ({
      ...ask('[[tools:2]] What is the weather in Paris?'),
      thinking: enabled,
      tools,
      messages: [
        { role: 'user' as const, content: '[[tools:2]] What is the weather in Paris?' },
        { role: 'assistant' as const, content },
        { role: 'user' as const, content: results },
      ],
    })
    const second = await client.messages.create(next(first.content))
    expect(second.content.at(-1)).toMatchObject({ text: 'get_weather answered: sunny. get_weather answered: sunny.' })
    const [thinking, ...calls] = first.content
    if (thinking?.type !== 'thinking') throw new Error('expected thinking')
    await expect(client.messages.create(next([{ ...thinking, thinking: 'other' }, ...calls]))).rejects.toMatchObject({
      status: 400,
      message: expect.stringContaining('messages.1.content.0: Invalid `signature` in `thinking` block'),
    })
    await expect(client.messages.create(next(calls))).rejects.toMatchObject({
      status: 400,
      message: expect.stringContaining('Expected `thinking` or `redacted_thinking`, but found `tool_use`'),
    })
  })

  it('receives no thinking if its display is omitted, and redacted thinking on demand', async () => {
    const omitted = await client.messages.create({ ...ask('Hi'), thinking: { type: 'adaptive', display: 'omitted' } })
    expect(omitted.content[0]).toMatchObject({ type: 'thinking', thinking: '', signature: expect.stringMatching(/^E/) })
    const redacted = await client.messages.stream(ask('[[redacted]] Hi')).finalMessage()
    expect(redacted.content[0]).toMatchObject({ type: 'redacted_thinking' })
    const again = [
      ...ask('Hi').messages,
      { role: 'assistant' as const, content: redacted.content },
      ...ask('Go').messages,
    ]
    expect((await client.messages.create({ ...ask('Hi'), messages: again })).type).toBe('message')
  })

  it('receives citations of documents and descriptions of images', async () => {
    const document: Anthropic.DocumentBlockParam = {
      type: 'document',
      title: 'facts.txt',
      citations: { enabled: true },
      source: { type: 'text', media_type: 'text/plain', data: 'Ruby is a language. It is nice.' },
    }
    const cited = await client.messages.stream(ask([document, { type: 'text', text: 'What is Ruby?' }])).finalMessage()
    expect(cited.content[0]).toMatchObject({
      text: 'Ruby is a language.',
      citations: [
        { type: 'char_location', cited_text: 'Ruby is a language. ', document_title: 'facts.txt', document_index: 0 },
      ],
    })
    const image: Anthropic.ImageBlockParam = {
      type: 'image',
      source: { type: 'base64', media_type: 'image/png', data: btoa('x'.repeat(70)) },
    }
    const seen = await client.messages.create(ask([image, { type: 'text', text: 'And this?' }]))
    expect(seen.content[0]).toMatchObject({ text: expect.stringContaining('image/png, 70 bytes') })
  })

  it('receives structured output, stop sequences, token limits and refusals', async () => {
    const format = { type: 'json_schema' as const, schema: { type: 'object', properties: { ok: { type: 'boolean' } } } }
    const json = await client.messages.create({ ...ask('Now'), output_config: { format } })
    expect(json.content[0]).toMatchObject({ text: '{"ok":true}' })
    const stopped = await client.messages.create({ ...ask('[[words:9]]'), stop_sequences: ['zebra', ' brown'] })
    expect(stopped).toMatchObject({
      stop_reason: 'stop_sequence',
      stop_sequence: ' brown',
      content: [{ text: 'the quick' }],
    })
    const short = await client.messages.create({ ...ask('[[words:9]]'), max_tokens: 2 })
    expect(short).toMatchObject({
      stop_reason: 'max_tokens',
      usage: { output_tokens: 2 },
      content: [{ text: 'the quick' }],
    })
    const refused = await client.messages.create(ask('[[refuse]]'))
    expect(refused.stop_reason).toBe('refusal')
  })

  it('counts cache reads and writes', async () => {
    const system: Anthropic.TextBlockParam[] = [
      { type: 'text', text: 'word '.repeat(100).trim(), cache_control: { type: 'ephemeral' } },
    ]
    const first = await client.messages.create({ ...ask('Hi'), system })
    const second = await client.messages.create({ ...ask('Hi again'), system })
    expect(first.usage).toMatchObject({ cache_creation_input_tokens: 100, cache_read_input_tokens: 0, input_tokens: 4 })
    expect(second.usage).toMatchObject({
      cache_creation_input_tokens: 0,
      cache_read_input_tokens: 100,
      input_tokens: 5,
    })
  })

  it('throws its own error classes', async () => {
    const wrongKey = new Anthropic({ apiKey: 'bad', baseURL: server.origin, maxRetries: 0 })
    await expect(wrongKey.messages.create(ask('Hi'))).rejects.toBeInstanceOf(Anthropic.AuthenticationError)
    await expect(client.messages.create({ ...ask('Hi'), model: 'nope' })).rejects.toBeInstanceOf(
      Anthropic.NotFoundError,
    )
    await expect(client.messages.create(ask('[[status:529]]'))).rejects.toMatchObject({ status: 529 })
    const midStream = client.messages.stream(ask('[[error-event:overloaded_error after:3]]')).finalMessage()
    await expect(midStream).rejects.toThrow('Overloaded')
    await expect(client.messages.stream(ask('[[cut after:6]]')).finalMessage()).rejects.toThrow()
    await expect(client.messages.create(ask('[[reset]]'))).rejects.toBeInstanceOf(Anthropic.APIConnectionError)
  })

  it('lists models page by page', async () => {
    const many = createFakeProvider({ models: ['a', 'b', 'c'] })
    const reader = new Anthropic({ apiKey: 'any', baseURL: 'http://fake.test', fetch: many.fetch as typeof fetch })
    const ids: string[] = []
    for await (const { id } of reader.models.list({ limit: 2 })) ids.push(id)
    expect(ids).toEqual(['a', 'b', 'c'])
    expect(many.requests.map(({ query }) => query)).toEqual(['limit=2', 'limit=2&after_id=b'])
  })

  it('counts tokens and lists models', async () => {
    expect(await client.messages.countTokens({ model: 'demo-messages', messages: ask('one two').messages })).toEqual({
      input_tokens: 5,
    })
    expect((await client.models.list()).data.map((model) => model.id)).toEqual(['demo-messages'])
  })

  it('disconnects, and the fake records it', async () => {
    const stream = client.messages.stream(ask('[[words:500]] [[slow:20]]'))
    for await (const _event of stream) break
    stream.abort()
    await expect.poll(() => provider.stats.aborted).toBe(1)
  })
})
