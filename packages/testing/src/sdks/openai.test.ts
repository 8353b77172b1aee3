import OpenAI from 'openai'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createFakeProvider, type ListeningProvider, listen } from '../index.ts'

const provider = createFakeProvider({ apiKey: 'good-key', models: ['demo-chat'] })
let server: ListeningProvider
let client: OpenAI

beforeAll(async () => {
  server = await listen(provider)
  client = new OpenAI({ apiKey: 'good-key', baseURL: server.url, maxRetries: 0 })
})
afterAll(() => server.close())
beforeEach(() => provider.reset())

const ask = (content: string) => ({ model: 'demo-chat', messages: [{ role: 'user' as const, content }] })
const weather = {
  type: 'function' as const,
  function: {
    name: 'get_weather',
    parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  },
}

describe('official OpenAI client', () => {
  it('reads a text response', async () => {
    const answer = await client.chat.completions.create(ask('Hello there'))
    expect(answer.choices[0]?.message.content).toContain('You said: “Hello there”.')
    expect(answer.choices[0]?.finish_reason).toBe('stop')
    expect(answer.id).toMatch(/^chatcmpl-[A-Za-z0-9]{29}$/)
    expect(answer._request_id).toMatch(/^req_[0-9a-f]{32}$/)
    expect(answer.usage?.total_tokens).toBe((answer.usage?.prompt_tokens ?? 0) + (answer.usage?.completion_tokens ?? 0))
  })

  it('streams the same text as the unstreamed response, with usage on request', async () => {
    const whole = await client.chat.completions.create(ask('Hello there'))
    const stream = client.chat.completions.stream({ ...ask('Hello there'), stream_options: { include_usage: true } })
    const final = await stream.finalChatCompletion()
    expect(final.choices[0]?.message.content).toBe(whole.choices[0]?.message.content)
    expect(final.usage?.completion_tokens).toBe(whole.usage?.completion_tokens)
  })

  it('runs a parallel tool round trip', async () => {
    const seen: unknown[] = []
    const runner = client.chat.completions.runTools({
      ...ask('[[tools:2]] what is the weather in Paris?'),
      tools: [
        {
          type: 'function' as const,
          function: {
            ...weather.function,
            description: 'The weather in a city.',
            parse: (text: string): object => JSON.parse(text),
            function: (input: object) => {
              seen.push(input)
              return 'sunny'
            },
          },
        },
      ],
    })
    expect(await runner.finalContent()).toBe('get_weather answered: sunny. get_weather answered: sunny.')
    expect(seen).toEqual([{ city: 'Paris' }, { city: 'Paris' }])
  })

  it('accumulates streamed tool calls', async () => {
    const stream = client.chat.completions.stream({
      ...ask('[[tool:get_weather {"city":"Oslo"}]] [[tool:get_weather {}]]'),
      tools: [weather],
    })
    const message = (await stream.finalChatCompletion()).choices[0]
    expect(message?.finish_reason).toBe('tool_calls')
    expect(message?.message.tool_calls?.map((call) => call.type === 'function' && call.function.arguments)).toEqual([
      '{"city":"Oslo"}',
      '{}',
    ])
  })

  it('parses structured output', async () => {
    const schema = {
      type: 'object',
      properties: { name: { type: 'string' }, age: { type: 'integer', maximum: 9 } },
      required: ['name', 'age'],
      additionalProperties: false,
    }
    const answer = await client.chat.completions.parse({
      ...ask('Tell me about Ada'),
      response_format: { type: 'json_schema', json_schema: { name: 'person', strict: true, schema } },
    })
    expect(JSON.parse(answer.choices[0]?.message.content ?? '')).toEqual({ name: 'Ada', age: 9 })
  })

  it('receives refusals, log probabilities, several choices and limits', async () => {
    const refused = await client.chat.completions.create(ask('[[refuse]]'))
    expect(refused.choices[0]?.message).toMatchObject({ content: null, refusal: expect.stringContaining('sorry') })
    const many = await client.chat.completions.create({ ...ask('Hi'), n: 3, logprobs: true, top_logprobs: 2 })
    expect(many.choices.map((choice) => choice.index)).toEqual([0, 1, 2])
    const tokens = many.choices[1]?.logprobs?.content ?? []
    expect(tokens.map((token) => token.token).join('')).toBe(many.choices[1]?.message.content)
    expect(tokens[0]?.top_logprobs).toHaveLength(2)
    const short = await client.chat.completions.create({ ...ask('[[words:50]]'), max_completion_tokens: 4 })
    expect(short.choices[0]).toMatchObject({ finish_reason: 'length', message: { content: 'the quick brown fox' } })
    const stopped = await client.chat.completions.create({ ...ask('[[words:50]]'), stop: [' fox'] })
    expect(stopped.choices[0]).toMatchObject({ finish_reason: 'stop', message: { content: 'the quick brown' } })
    const streamed = await client.chat.completions.stream({ ...ask('[[refuse]]'), n: 2 }).finalChatCompletion()
    expect(streamed.choices.map((choice) => choice.message.refusal?.length)).toEqual([38, 38])
  })

  it('receives descriptions of its images', async () => {
    const url = `data:image/png;base64,${btoa('x'.repeat(68))}`
    const answer = await client.chat.completions.create({
      model: 'demo-chat',
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'Look' },
            { type: 'image_url', image_url: { url } },
          ],
        },
      ],
    })
    expect(answer.choices[0]?.message.content).toContain('image/png, 68 bytes')
  })

  it('throws its own error classes', async () => {
    const wrongKey = new OpenAI({ apiKey: 'sk-not-the-right-key', baseURL: server.url, maxRetries: 0 })
    await expect(wrongKey.chat.completions.create(ask('Hi'))).rejects.toMatchObject({
      status: 401,
      code: 'invalid_api_key',
      message: expect.stringContaining('Incorrect API key provided: sk-not-t********-key.'),
    })
    await expect(client.chat.completions.create({ ...ask('Hi'), model: 'nope' })).rejects.toBeInstanceOf(
      OpenAI.NotFoundError,
    )
    await expect(client.chat.completions.create(ask('[[status:429 retry-after:2]]'))).rejects.toBeInstanceOf(
      OpenAI.RateLimitError,
    )
    await expect(client.chat.completions.create({ ...ask('Hi'), temperature: 3 })).rejects.toMatchObject({
      status: 400,
      param: 'temperature',
      code: 'decimal_above_max_value',
    })
    const midStream = client.chat.completions.stream(ask('[[error-event after:3]]')).finalContent()
    await expect(midStream).rejects.toThrow('The server had an error')
    await expect(client.chat.completions.create(ask('[[reset]]'))).rejects.toBeInstanceOf(OpenAI.APIConnectionError)
  })

  it('retries after the delay of a rate limit', async () => {
    provider.reply({ status: 429, headers: { 'retry-after': '0' } })
    const patient = new OpenAI({ apiKey: 'good-key', baseURL: server.url })
    expect((await patient.chat.completions.create(ask('[[say:fine]]'))).choices[0]?.message.content).toBe('fine')
    expect(provider.requests).toHaveLength(2)
  })

  it('disconnects, and the fake records it', async () => {
    const stream = await client.chat.completions.create({ ...ask('[[words:500]] [[slow:20]]'), stream: true })
    for await (const _chunk of stream) break
    await expect.poll(() => provider.requests[0]?.aborted).toBe(true)
    expect(provider.stats).toEqual({ started: 1, finished: 0, aborted: 1, faulted: 0, open: 0 })
  })

  it('works in process, without a server', async () => {
    const local = new OpenAI({ apiKey: 'good-key', baseURL: 'http://fake.invalid/v1', fetch: provider.fetch })
    const models = await local.models.list()
    expect(models.data.map((model) => model.id)).toEqual(['demo-chat'])
    expect(await local.chat.completions.stream(ask('[[say:in process]]')).finalContent()).toBe('in process')
  })
})
