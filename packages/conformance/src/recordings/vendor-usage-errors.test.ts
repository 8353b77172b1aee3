import { createGateway, type FinishEvent } from '@modelgate/core'
import { createFakeProvider } from '@modelgate/testing'
import { describe, expect, it } from 'vitest'
import { upstreamOf } from '../base/gateways.ts'
import type { JsonObject } from '../base/json.ts'
import type { Format } from '../base/recorded-traffic.ts'
import { anthropicClient, googleClient, openaiClient } from '../base/sdk-clients.ts'

const hello = [{ role: 'user' as const, content: 'hello' }]
const base = { model: 'demo', max_tokens: 99, messages: hello }

/** Creates a gateway with the default retries. */
function behind(upstream: Format) {
  const fake = createFakeProvider()
  const finished: FinishEvent[] = []
  const gateway = createGateway({
    auth: 'none',
    upstreams: { up: upstreamOf(upstream) },
    models: { '*': 'up' },
    fetch: fake.fetch,
    plugins: [{ name: 'witness', onFinish: (event) => void finished.push(event) }],
    responses: { store: false },
    logger: false,
  })
  const place = { origin: 'http://gateway.test', fetch: gateway.fetch, token: 'any' }
  return {
    fake,
    finished,
    openai: openaiClient(place),
    anthropic: anthropicClient(place),
    google: googleClient(place),
  }
}

const completion = (usage: JsonObject): string =>
  JSON.stringify({
    id: 'c1',
    object: 'chat.completion',
    created: 1,
    model: 'm',
    choices: [{ index: 0, message: { role: 'assistant', content: 'Hi.' }, finish_reason: 'stop' }],
    usage,
  })

describe('input tokens in the Anthropic SDK', () => {
  it.each<[vendor: string, usage: JsonObject, reported: JsonObject]>([
    [
      "Azure's Grok, which counts cached tokens in addition to the prompt",
      { prompt_tokens: 7, completion_tokens: 1, total_tokens: 8, prompt_tokens_details: { cached_tokens: 163 } },
      { input_tokens: 7, cache_read_input_tokens: 163, output_tokens: 1 },
    ],
    [
      'OpenRouter, which counts the same tokens as read from the cache and as written to it',
      {
        prompt_tokens: 1000,
        completion_tokens: 5,
        total_tokens: 1005,
        prompt_tokens_details: { cached_tokens: 900, cache_write_tokens: 900 },
      },
      { input_tokens: 0, cache_read_input_tokens: 900, cache_creation_input_tokens: 100, output_tokens: 5 },
    ],
    [
      'OpenRouter, which includes both in the prompt',
      {
        prompt_tokens: 2572,
        completion_tokens: 5,
        total_tokens: 2577,
        prompt_tokens_details: { cached_tokens: 2240, cache_write_tokens: 329 },
      },
      { input_tokens: 3, cache_read_input_tokens: 2240, cache_creation_input_tokens: 329, output_tokens: 5 },
    ],
    [
      "Mistral's Voxtral, which counts audio in addition to the prompt",
      {
        prompt_audio_seconds: 3,
        prompt_tokens: 3,
        completion_tokens: 11,
        total_tokens: 389,
        prompt_tokens_details: { cached_tokens: 0, audio_tokens: 375 },
      },
      { input_tokens: 378, output_tokens: 11 },
    ],
  ])('are correct for %s', async (_, usage, reported) => {
    const { fake, anthropic } = behind('chat')
    fake.reply({ raw: { body: completion(usage) } })
    expect((await anthropic.messages.create(base)).usage).toMatchObject(reported)
  })
})

it("settles Mistral's transcriptions by the reported tokens", async () => {
  const { fake, finished, openai } = behind('chat')
  const usage = {
    prompt_audio_seconds: 3,
    prompt_tokens: 3,
    completion_tokens: 11,
    total_tokens: 389,
    prompt_tokens_details: { cached_tokens: 0, audio_tokens: 375 },
  }
  fake.reply({ raw: { body: JSON.stringify({ text: 'Hello.', usage }) } })
  const file = new File([new Uint8Array(4)], 'a.wav', { type: 'audio/wav' })
  await openai.audio.transcriptions.create({ model: 'demo', file })
  await expect.poll(() => finished.at(-1)?.usage).toMatchObject({ input: { total: 378 }, output: { total: 11 } })
})

it('passes all keys of a repeated function call to the OpenAI SDK', async () => {
  const { openai } = behind('messages')
  const response = await openai.responses.create({
    model: 'demo',
    input: 'hello',
    tools: [{ type: 'function', name: 'f', parameters: { type: 'object', properties: { a: {} } } } as never],
  })
  expect(response.tools[0]).toMatchObject({ type: 'function', name: 'f', strict: null, description: null })
})

describe('error with status 200 that names its own status', () => {
  const filtered = {
    error: { message: 'Filtered.', type: null, param: 'prompt', code: 'content_filter', status: 400 },
  }

  it.each(['chat', 'responses'] as const)(
    'is that error in the OpenAI SDK, after one call of the %s upstream',
    async (upstream) => {
      const { fake, openai } = behind(upstream)
      for (let reply = 0; reply < 4; reply++) fake.reply({ raw: { body: JSON.stringify(filtered) } })
      const call = openai.chat.completions.create({ model: 'demo', messages: hello })
      await expect(call).rejects.toMatchObject({ status: 400 })
      expect(fake.requests).toHaveLength(1)
    },
  )

  it('is that error in the Anthropic SDK', async () => {
    const { fake, anthropic } = behind('chat')
    for (let reply = 0; reply < 4; reply++) fake.reply({ raw: { body: JSON.stringify(filtered) } })
    await expect(anthropic.messages.create(base)).rejects.toMatchObject({ status: 400 })
    expect(fake.requests).toHaveLength(1)
  })

  it('has the meaning of its status from a Messages or Gemini upstream', async () => {
    for (const upstream of ['messages', 'gemini'] as const) {
      const { fake, openai } = behind(upstream)
      const body = JSON.stringify({ error: { message: 'No such thing.', code: 404 } })
      for (let reply = 0; reply < 4; reply++) fake.reply({ raw: { body } })
      const call = openai.chat.completions.create({ model: 'demo', messages: hello })
      await expect(call).rejects.toMatchObject({ status: 404 })
      expect(fake.requests).toHaveLength(1)
    }
  })
})

it.each(['chat', 'messages', 'responses'] as const)(
  'reports a Gemini server tool by its name for a %s upstream',
  async (upstream) => {
    const { finished, google } = behind(upstream)
    await google.models.generateContent({ model: 'demo', contents: 'hello', config: { tools: [{ googleSearch: {} }] } })
    await expect.poll(() => finished.length).toBe(1)
    const details = finished[0]?.losses.map(({ detail }) => detail)
    expect(details).toContainEqual(expect.stringContaining("the tool 'googleSearch'"))
  },
)
