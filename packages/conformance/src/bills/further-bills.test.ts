import { createGateway, type FinishEvent, openaiCompatible, type Plugin } from '@modelgate/core'
import { until } from '@modelgate/testing/test-support'
import { createPrices, pricePlugin } from '@modelgate/tokens'
import { describe, expect, it } from 'vitest'
import { sessionOf, startRealtime } from '../protocols/realtime-fixture.ts'

// Bills of calls that have no usage of their own: sessions with many responses, and attempts whose response did not reach the client.

const prices = createPrices({
  models: {
    'gpt-realtime': { input: 4, cachedInput: 0.4, audioInput: 32, imageInput: 5, output: 16, audioOutput: 64 },
    slow: { input: 3, output: 15 },
    quick: { input: 1, output: 5 },
  },
})
const million = 1_000_000

it('adds up text, audio and cached input and output of a realtime session', async () => {
  const finished: FinishEvent[] = []
  const end: Plugin = { name: 'end', onFinish: (event) => void finished.push(event) }
  const setting = await startRealtime(undefined, { config: { plugins: [pricePlugin(prices), end] } })
  const client = setting.ws()
  await client.opened
  const session = await sessionOf(setting)
  // Usages as OpenAI reports them. Of the first, 320 of the cached tokens are audio.
  const usages = [
    {
      input_tokens: 1000,
      output_tokens: 260,
      input_token_details: {
        text_tokens: 300,
        audio_tokens: 650,
        image_tokens: 50,
        cached_tokens: 448,
        cached_tokens_details: { text_tokens: 128, audio_tokens: 320, image_tokens: 0 },
      },
      output_token_details: { text_tokens: 60, audio_tokens: 200 },
    },
    {
      input_tokens: 120,
      output_tokens: 30,
      input_token_details: { text_tokens: 120, audio_tokens: 0, cached_tokens: 0 },
      output_token_details: { text_tokens: 30, audio_tokens: 0 },
    },
  ]
  for (const usage of usages)
    await session.send(JSON.stringify({ type: 'response.done', response: { id: 'r', status: 'completed', usage } }))
  await until(() => client.messages.length === 3, 'both responses')
  client.socket.close()
  await until(() => finished.length === 1, 'the end')
  const first = 448 * 0.4 + (650 - 320) * 32 + 50 * 5 + (300 - 128) * 4 + 60 * 16 + 200 * 64
  expect(finished[0]?.cost?.amount).toBeCloseTo((first + 120 * 4 + 30 * 16) / million, 9)
})

const body = (model: string) => ({
  id: 'c',
  object: 'chat.completion',
  created: 1,
  model,
  choices: [{ index: 0, message: { role: 'assistant', content: 'yes' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 800, completion_tokens: 20, total_tokens: 820 },
})

/** A gateway whose target `slow` never responds. The request has about 1,000 tokens. */
function setUp(route: object = {}) {
  const finished: FinishEvent[] = []
  const chunk = { id: 'c', object: 'chat.completion.chunk', created: 1, model: 'slow' }
  const gateway = createGateway({
    auth: 'none',
    upstreams: { up: openaiCompatible({ baseURL: 'http://up.test/v1' }) },
    models: {
      m: {
        targets: [
          { upstream: 'up', model: 'slow', limits: { firstByteMs: 20 } },
          { upstream: 'up', model: 'quick' },
        ],
        retry: { attempts: 2 },
        ...route,
      },
      slow: 'up',
    },
    plugins: [pricePlugin(prices), { name: 'end', onFinish: (event) => void finished.push(event) }],
    logger: false,
    fetch: (async (_url: string, init: RequestInit) => {
      const { model, stream } = (await new Response(init.body).json()) as Record<string, unknown>
      if (model === 'quick') return Response.json(body('quick'))
      if (stream === true) {
        const delta = { index: 0, delta: { content: 'word '.repeat(400) }, finish_reason: null }
        const text = `data: ${JSON.stringify({ ...chunk, choices: [delta] })}\n\n`
        const events = new ReadableStream({ start: (to) => to.enqueue(new TextEncoder().encode(text)) })
        return new Response(events, { headers: { 'content-type': 'text/event-stream' } })
      }
      return new Promise<Response>((_, reject) => {
        init.signal?.addEventListener('abort', () => reject(init.signal?.reason))
      })
    }) as typeof fetch,
  })
  const ask = (model: string, more: object = {}) =>
    gateway.fetch('http://gate.test/v1/chat/completions', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model, messages: [{ role: 'user', content: 'a fact '.repeat(600) }], ...more }),
    })
  return { ask, finished }
}

describe('a lost attempt', () => {
  it.each([
    ['that timed out', {}, 'upstream_timeout'],
    [
      'that lost a race with another target',
      { hedgeMs: 5, targets: ['up/slow', 'up/quick'].map((name) => ({ upstream: 'up', model: name.slice(3) })) },
      'cancelled',
    ],
  ])('%s is estimated by its input, at the prices of its own model', async (_, route, error) => {
    const { ask, finished } = setUp(route)
    expect((await ask('m')).status).toBe(200)
    const [{ cost, attempts } = { attempts: [] }] = finished
    expect(cost?.amount).toBeCloseTo((800 * 1 + 20 * 5) / million, 9)
    const { lostInputTokens = 0, lostCost, error: found } = attempts[0] ?? {}
    expect(found).toBe(error)
    // 600 times two words.
    expect(lostInputTokens).toSatisfy((tokens: number) => tokens > 900 && tokens < 1500)
    expect(lostCost?.amount).toBeCloseTo((lostInputTokens * 3) / million, 9)
  })
})

it('charges a client that disconnects for its input and for the output until then, as an estimate', async () => {
  const { ask, finished } = setUp()
  const reader = (await ask('slow', { stream: true })).body?.getReader()
  await reader?.read()
  await reader?.cancel()
  await until(() => finished.length === 1, 'the end')
  const { usage, cost, basis } = finished[0] ?? {}
  expect(basis).toBe('partial')
  const { input, output } = usage ?? { input: { total: 0 }, output: { total: 0 } }
  expect(input.total).toSatisfy((tokens: number) => tokens > 900 && tokens < 1500)
  expect(output.total).toSatisfy((tokens: number) => tokens > 300 && tokens < 700)
  expect(cost?.amount).toBeCloseTo((input.total * 3 + output.total * 15) / million, 9)
})
