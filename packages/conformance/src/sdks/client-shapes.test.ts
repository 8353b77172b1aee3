import { createFakeProvider } from '@modelgate/testing'
import type OpenAI from 'openai'
import { describe, expect, it } from 'vitest'
import { gatewayTo, requestTo } from '../base/gateways.ts'
import { type JsonObject, objectOf } from '../base/json.ts'
import { formats } from '../base/recorded-traffic.ts'
import { anthropicClient, openaiClient } from '../base/sdk-clients.ts'

const hello = [{ role: 'user' as const, content: 'hello' }]
const tokens = { input: 1000, cacheRead: 640, output: 90, reasoning: 70 }

function behind(upstream: (typeof formats)[number]) {
  const fake = createFakeProvider({ chatReasoning: 'reasoning_content' })
  const gateway = gatewayTo(upstream, { fetch: fake.fetch })
  const place = { origin: 'http://gateway.test', fetch: gateway.fetch, token: 'any' }
  return { fake, gateway, openai: openaiClient(place), anthropic: anthropicClient(place) }
}

describe.each(formats.filter((format) => format !== 'chat'))('chat response of a %s upstream', (upstream) => {
  it('has a system_fingerprint, unstreamed and in every chunk', async () => {
    const { openai } = behind(upstream)
    const body = { model: 'demo', messages: hello }
    expect(await openai.chat.completions.create(body)).toHaveProperty('system_fingerprint', null)
    for await (const chunk of await openai.chat.completions.create({ ...body, stream: true }))
      expect(chunk).toHaveProperty('system_fingerprint', null)
  })

  it('has every usage detail of the specification, with matching totals', async () => {
    const { fake, openai } = behind(upstream)
    const body = { model: 'demo', messages: hello, reasoning_effort: 'high' as const, max_completion_tokens: 32_000 }
    for (const stream of [false, true]) {
      fake.reply({ thinking: 'Hm.', text: 'Hello.', usage: tokens })
      const { usage } = stream
        ? await openai.chat.completions
            .stream({ ...body, stream, stream_options: { include_usage: true } })
            .finalChatCompletion()
        : await openai.chat.completions.create(body)
      expect(usage).toMatchObject({
        prompt_tokens: 1000,
        completion_tokens: 90,
        total_tokens: 1090,
        prompt_tokens_details: { cached_tokens: 640, text_tokens: 1000, audio_tokens: 0, image_tokens: 0 },
        completion_tokens_details: { text_tokens: 20, audio_tokens: 0, reasoning_tokens: 70 },
      })
    }
  })
})

describe.each(formats.filter((format) => format !== 'responses'))('response of a %s upstream', (upstream) => {
  it('has reasoning items with a status, unstreamed and streamed', async () => {
    const { fake, openai } = behind(upstream)
    const body = {
      model: 'demo',
      input: 'hello',
      reasoning: { effort: 'high' as const, summary: 'auto' as const },
      max_output_tokens: 32_000,
    }
    fake.reply({ thinking: 'Hm.', text: 'Hello.' }, { thinking: 'Hm.', text: 'Hello.' })
    const whole = await openai.responses.create(body)
    const thoughts = whole.output.filter(({ type }) => type === 'reasoning')
    expect(thoughts.length).toBeGreaterThan(0)
    for (const item of thoughts) expect(item).toHaveProperty('status', 'completed')
    const reported: (string | undefined)[] = []
    for await (const event of await openai.responses.create({ ...body, stream: true }))
      if ('item' in event && event.item.type === 'reasoning') reported.push(event.item.status)
    expect(reported).toEqual(thoughts.flatMap(() => ['in_progress', 'completed']))
  })
})

it("sends message_start with the input tokens of the upstream's first chunk", async () => {
  const { fake, anthropic } = behind('gemini')
  fake.reply({ text: 'one two three', usage: { input: 1000, output: 3 } })
  const stream = await anthropic.messages.create({ model: 'demo', max_tokens: 99, messages: hello, stream: true })
  for await (const event of stream)
    if (event.type === 'message_start') {
      expect(event.message.usage.input_tokens).toBe(1000)
      break
    }
})

it('sends message_start with the input tokens of a chat upstream that counts in every chunk', async () => {
  const { fake, anthropic } = behind('chat')
  const chunk = (delta: JsonObject, finish: string | null): JsonObject => ({
    id: 'c1',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'sonar',
    choices: [{ index: 0, delta, finish_reason: finish }],
    usage: { prompt_tokens: 1000, completion_tokens: 1, total_tokens: 1001 },
  })
  const events = [chunk({ role: 'assistant', content: 'Hello' }, null), chunk({}, 'stop')]
  fake.reply({ events: [...events.map((data) => ({ data })), { data: '[DONE]' }] })
  const stream = await anthropic.messages.create({ model: 'demo', max_tokens: 99, messages: hello, stream: true })
  for await (const event of stream)
    if (event.type === 'message_start') expect(event.message.usage.input_tokens).toBe(1000)
})

it('names both headers in the error for a Messages request without a version', async () => {
  const { gateway } = behind('messages')
  const request = requestTo('messages', JSON.stringify({ model: 'demo', max_tokens: 9, messages: hello }))
  request.headers.delete('anthropic-version')
  const response = await gateway.fetch(request)
  expect(response.status).toBe(400)
  expect(await response.text()).toContain('anthropic-version or vendor-version: header is required')
})

describe('path with an unknown method of a model', () => {
  it.each(['/v1beta/models/demo:foo', '/v1/models/org/demo:summarizeText'])(
    'causes a 404 with the names of the methods: %s',
    async (path) => {
      const { gateway } = behind('gemini')
      const response = await gateway.fetch(`http://gateway.test${path}`, { method: 'POST', body: '{}' })
      expect(response.status).toBe(404)
      const error = objectOf(objectOf(await response.json()).error)
      expect(error.status).toBe('NOT_FOUND')
      expect(error.message).toContain(path)
      expect(error.message).toContain(':generateContent')
    },
  )

  it('is distinguished from a model name with a tag', async () => {
    const { gateway } = behind('gemini')
    const response = await gateway.fetch('http://gateway.test/v1/models/qwen3:8b', { method: 'POST', body: '{}' })
    expect(response.status).toBe(405)
  })
})

it('returns a constant creation time in the model list of the OpenAI SDK', async () => {
  const { gateway } = behind('chat')
  const openai = openaiClient({ origin: 'http://gateway.test', fetch: gateway.fetch, token: 'any' })
  const model = (): Promise<OpenAI.Model> => openai.models.retrieve('demo')
  const first = await model()
  expect(first.created).toBeGreaterThan(1_700_000_000)
  expect((await model()).created).toBe(first.created)
})
