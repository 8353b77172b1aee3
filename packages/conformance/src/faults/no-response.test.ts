import Anthropic from '@anthropic-ai/sdk'
import { GoogleGenAI } from '@google/genai'
import { anthropic, type FinishEvent, gemini, openai, type Upstream } from '@modelgate/core'
import OpenAI from 'openai'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { simpleRequest } from '../base/client-formats.ts'
import { fetchOf, gatewayTo, requestTo } from '../base/gateways.ts'
import { type Format, formats } from '../base/recorded-traffic.ts'
import { serveBytes } from '../base/upstream-fetch.ts'
import { readResponse, runClockUntil, stopClock } from './router-fixture.ts'

type Fetch = typeof globalThis.fetch

const baseURL = 'http://gateway.test'
const messages = [{ role: 'user' as const, content: 'hi' }]

/** SDK calls whose response must have content. */
const calls: readonly [name: string, format: Format, ask: (fetch: Fetch) => Promise<unknown>][] = [
  ['openai chat.completions', 'chat', (fetch) => openaiOf(fetch).chat.completions.create({ model: 'm', messages })],
  ['openai completions', 'chat', (fetch) => openaiOf(fetch).completions.create({ model: 'm', prompt: 'hi' })],
  ['openai embeddings', 'chat', (fetch) => openaiOf(fetch).embeddings.create({ model: 'm', input: 'hi' })],
  ['openai images', 'chat', (fetch) => openaiOf(fetch).images.generate({ model: 'm', prompt: 'hi' })],
  ['openai moderations', 'chat', (fetch) => openaiOf(fetch).moderations.create({ model: 'm', input: 'hi' })],
  ['openai responses', 'responses', (fetch) => openaiOf(fetch).responses.create({ model: 'm', input: 'hi' })],
  [
    'anthropic messages',
    'messages',
    (fetch) =>
      new Anthropic({ apiKey: 'k', baseURL, fetch, maxRetries: 0 }).messages.create({
        model: 'm',
        max_tokens: 10,
        messages,
      }),
  ],
  [
    'google generateContent',
    'gemini',
    (fetch) => googleOf(fetch, (ai) => ai.models.generateContent({ model: 'm', contents: 'hi' })),
  ],
  [
    'google embedContent',
    'gemini',
    (fetch) => googleOf(fetch, (ai) => ai.models.embedContent({ model: 'm', contents: 'hi' })),
  ],
]

const openaiOf = (fetch: Fetch): OpenAI => new OpenAI({ apiKey: 'k', baseURL: `${baseURL}/v1`, fetch, maxRetries: 0 })

/** Replaces the global `fetch`, which Google's SDK calls. */
async function googleOf(fetch: Fetch, ask: (client: GoogleGenAI) => Promise<unknown>): Promise<unknown> {
  vi.stubGlobal('fetch', fetch)
  try {
    return await ask(new GoogleGenAI({ apiKey: 'k', httpOptions: { baseUrl: baseURL } }))
  } finally {
    vi.unstubAllGlobals()
  }
}

const upstreams: Readonly<Record<Format, Upstream>> = {
  chat: openai({ apiKey: 'up', baseURL: 'http://upstream.test/v1', formats: ['chat'] }),
  responses: openai({ apiKey: 'up', baseURL: 'http://upstream.test/v1', formats: ['responses'] }),
  messages: anthropic({ apiKey: 'up', baseURL: 'http://upstream.test' }),
  gemini: gemini({ apiKey: 'up', baseURL: 'http://upstream.test' }),
}

/** Bodies without content, and the status that clients of all formats receive. */
const bodies: readonly [body: string, status: number][] = [
  ['{}', 502],
  ['{"choices":[]}', 502],
  ['{"error":"model is loading"}', 502],
  ['{"detail":"Not ready"}', 502],
  ['{"object":"error","message":"The model does not exist.","type":"NotFoundError","param":null,"code":404}', 404],
  ['{"error":{"message":"Slow down.","code":429}}', 429],
  ['{"error":{"message":"Slow down.","code":"429"}}', 429],
  ['{"error":{"message":"Too long.","status":413}}', 413],
  ['{"error":{"message":"The response was filtered.","code":"content_filter","status":400}}', 400],
  ['{"error":{"message":"Out of luck.","code":700}}', 502],
]

describe.each(bodies)('upstream response 200 with %s', (body, status) => {
  test.each(calls)(`makes the SDK throw ${status}: %s`, async (_name, format, ask) => {
    const finished: FinishEvent[] = []
    const gateway = gatewayTo(format, {
      upstream: upstreams[format],
      fetch: serveBytes(body, { stream: false }).fetch,
      plugins: [{ name: 'witness', onFinish: (event) => void finished.push(event) }],
    })
    const error = await ask(fetchOf(gateway)).then(
      () => undefined,
      (cause: { status?: number }) => cause,
    )
    expect(error?.status).toBe(status)
    expect(finished).toMatchObject([{ outcome: 'failed', status }])
  })

  test.each(
    formats.flatMap((client) =>
      formats.flatMap((upstream) => [false, true].map((stream) => ({ client, upstream, stream }))),
    ),
  )(
    'is the same error for a $client client of a $upstream upstream (stream: $stream)',
    async ({ client, upstream, stream }) => {
      const gateway = gatewayTo(upstream, { fetch: serveBytes(body, { stream: false }).fetch })
      const request = requestTo(client, JSON.stringify(simpleRequest(client, stream)), {}, { stream })
      expect((await gateway.fetch(request)).status).toBe(status)
    },
  )
})

/**
 * Chat responses that contain an error, as OpenRouter documents them, and the status that clients of all formats
 * receive.
 */
const failedAnswers: readonly [name: string, more: object, choice: object, status: number][] = [
  ['an error next to the choices', { error: { message: 'Slow down.', code: 429 } }, { finish_reason: 'stop' }, 429],
  [
    'an error without a status next to the choices',
    { error: { message: 'Provider down.' } },
    { finish_reason: 'stop' },
    502,
  ],
  ['a choice with an error', {}, { finish_reason: 'error', error: { message: 'Slow down.', code: 429 } }, 429],
  ['a choice with finish_reason error', {}, { finish_reason: 'error' }, 502],
]

describe.each(failedAnswers)('upstream response 200 with %s', (_name, more, choice, status) => {
  const frame = { id: 'c1', created: 1, model: 'm', ...more }
  const message = { role: 'assistant', content: 'Half an ans' }
  const whole = JSON.stringify({
    ...frame,
    object: 'chat.completion',
    choices: [{ index: 0, message, text: 'Half', ...choice }],
  })
  const event = (body: object): string =>
    `data: ${JSON.stringify({ id: 'c1', created: 1, model: 'm', object: 'chat.completion.chunk', ...body })}\n\n`
  const output = event({ choices: [{ index: 0, delta: message, finish_reason: null }] })
  const failed = event({ ...more, choices: [{ index: 0, delta: { content: '' }, ...choice }] })
  const done = 'data: [DONE]\n\n'
  const witnessed = (body: string, stream: boolean) => {
    const finished: FinishEvent[] = []
    const gateway = gatewayTo('chat', {
      fetch: serveBytes(body, { stream }).fetch,
      plugins: [{ name: 'witness', onFinish: (event) => void finished.push(event) }],
    })
    return { gateway, finished }
  }

  test.each(formats.flatMap((client) => [false, true].map((stream) => ({ client, stream }))))(
    'is an error for a $client client (stream: $stream)',
    async ({ client, stream }) => {
      const { gateway, finished } = witnessed(whole, false)
      const request = requestTo(client, JSON.stringify(simpleRequest(client, stream)), {}, { stream })
      expect((await gateway.fetch(request)).status).toBe(status)
      expect(finished).toMatchObject([{ outcome: 'failed', status }])
    },
  )

  test('is an error for a client of completions', async () => {
    const { gateway } = witnessed(whole, false)
    const pending = openaiOf(fetchOf(gateway)).completions.create({ model: 'm', prompt: 'hi' })
    await expect(pending).rejects.toMatchObject({ status })
  })

  test.each(formats)('ends the stream of a %s client with an error in mid-stream', async (client) => {
    const { gateway, finished } = witnessed(output + failed + done, true)
    const request = requestTo(client, JSON.stringify(simpleRequest(client, true)), {}, { stream: true })
    const response = await gateway.fetch(request)
    expect(response.status).toBe(200)
    expect(await response.text()).toContain('Half an ans')
    expect(finished).toMatchObject([{ outcome: 'failed' }])
  })

  test('passes through unchanged to a chat client in mid-stream', async () => {
    const { gateway } = witnessed(output + failed + done, true)
    const request = requestTo('chat', JSON.stringify(simpleRequest('chat', true)), {}, { stream: true })
    const text = await (await gateway.fetch(request)).text()
    expect(text.startsWith(output + failed.trimEnd())).toBe(true)
  })

  test.each(formats)('is the response status of a %s stream that begins with it', async (client) => {
    const { gateway } = witnessed(failed + done, true)
    const request = requestTo(client, JSON.stringify(simpleRequest(client, true)), {}, { stream: true })
    expect((await gateway.fetch(request)).status).toBeGreaterThanOrEqual(400)
  })
})

describe('target that returns 200 without content', () => {
  test('is skipped for the next target', async () => {
    const answer = JSON.stringify({
      choices: [{ index: 0, message: { role: 'assistant', content: 'hello' }, finish_reason: 'stop' }],
    })
    const fetch: Fetch = async (input) =>
      new Response(String(input).includes('second') ? answer : '{"choices":[]}', {
        headers: { 'content-type': 'application/json' },
      })
    const second = openai({ apiKey: 'up', baseURL: 'http://second.test/v1', formats: ['chat'] })
    const gateway = gatewayTo('chat', { fetch })
    gateway.reconfigure({
      auth: 'none',
      upstreams: { up: upstreams.chat, second },
      models: { m: ['up', 'second'] },
      retry: { attempts: 2 },
      logger: false,
      fetch,
    })
    const { choices } = await openaiOf(fetchOf(gateway)).chat.completions.create({ model: 'm', messages })
    expect(choices[0]?.message.content).toBe('hello')
  })
})

describe('streaming call that is rejected with a stalled body', () => {
  beforeEach(stopClock)
  afterEach(() => void vi.useRealTimers())

  test.each([false, true])('receives the status of the rejection (stream: %s)', async (stream) => {
    const stalled: Fetch = async () =>
      new Response(
        new ReadableStream({ start: (controller) => controller.enqueue(new TextEncoder().encode('{"err')) }),
        {
          status: 400,
          headers: { 'content-type': 'application/json' },
        },
      )
    const gateway = gatewayTo('chat', { fetch: stalled, limits: { firstByteMs: 1000 } })
    const body = JSON.stringify(simpleRequest('chat', stream))
    expect((await runClockUntil(gateway.fetch(requestTo('chat', body)).then(readResponse))).status).toBe(400)
  })
})
