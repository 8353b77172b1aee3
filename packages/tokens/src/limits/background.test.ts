import { createGateway, type FinishEvent, memoryResponseStore, openai } from '@modelgate/core'
import { describe, expect, it, vi } from 'vitest'
import type { TokenSettings } from '../contract/token.ts'
import { createTokens } from '../create-tokens.ts'
import { memoryStorage } from '../storage/memory/memory-storage.ts'

const prices = { models: { 'gpt-*': { input: 1, output: 10 } } }
const event = (type: string, response: object): string =>
  `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: 0, response })}\n\n`
const response = { id: 'resp_1', object: 'response', created_at: 1, model: 'gpt-5', output: [], usage: null }
const usage = { input_tokens: 10, output_tokens: 100_000, total_tokens: 100_010 }

/** A gateway with tokens in front of an upstream that continues in the background and then reports 100,000 output tokens. */
function setUp() {
  const finished: FinishEvent[] = []
  const tokens = createTokens({ storage: memoryStorage(), prices, logger: false })
  const calls: string[] = []
  const gateway = createGateway({
    auth: tokens.authenticate,
    upstreams: { up: openai({ apiKey: 'upstream', baseURL: 'http://up/v1', formats: ['responses'] }) },
    models: { 'gpt-*': 'up' },
    responses: { store: memoryResponseStore() },
    plugins: [{ name: 'end', onFinish: (event) => void finished.push(event) }],
    logger: false,
    fetch: (async (url: string, init: RequestInit) => {
      calls.push(`${init.method} ${url}`)
      if (init.method === 'GET') return Response.json({ ...response, status: 'completed', usage })
      const begun = { ...response, status: 'in_progress' }
      if (!new TextDecoder().decode(init.body as Uint8Array).includes('"stream":true')) return Response.json(begun)
      const delta = { type: 'response.output_text.delta', item_id: 'm', output_index: 0, content_index: 0, delta: 'Hi' }
      const text = `${event('response.created', begun)}event: ${delta.type}\ndata: ${JSON.stringify(delta)}\n\n`
      const first = new TextEncoder().encode(text)
      const body = new ReadableStream<Uint8Array>({ start: (controller) => controller.enqueue(first) })
      return new Response(body, { headers: { 'content-type': 'text/event-stream' } })
    }) as typeof fetch,
  })
  const ask = (secret: string, stream: boolean, more: object = { background: true }) =>
    gateway.fetch('http://gate/v1/responses', {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${secret}` },
      body: JSON.stringify({ model: 'gpt-5', input: 'hello', stream, ...more }),
    })
  const get = (secret: string) =>
    gateway.fetch('http://gate/v1/responses/resp_1', { headers: { authorization: `Bearer ${secret}` } })
  return { tokens, ask, get, calls, finished }
}

describe('a background response', () => {
  it.each<[string, TokenSettings]>([
    ['a budget in money', { budget: { money: 1, period: 'day' } }],
    ['a budget of tokens', { budget: { tokens: 1000, period: 'day' } }],
    ['a limit of tokens', { limits: { outputTokens: 1000 } }],
  ])('is rejected for a token with %s, because its usage is known too late', async (_, settings) => {
    const { tokens, ask, get, calls } = setUp()
    const { secret } = await tokens.issue(settings)
    for (const stream of [true, false]) {
      const refused = await ask(secret, stream)
      expect(refused.status).toBe(403)
      expect((await refused.json()).error).toMatchObject({ param: 'background', code: 'background_not_allowed' })
    }
    expect(calls).toEqual([])
    expect((await get(secret)).status).toBe(404)
    expect((await ask(secret, false, { background: false })).status).toBe(200)
  })

  it('is accepted for a token whose limits apply to other models or only count calls', async () => {
    const { tokens, ask } = setUp()
    const { secret } = await tokens.issue({
      limits: [{ requests: 5 }, { models: 'claude-*', tokens: 5 }],
      budget: { models: 'claude-*', money: 1, period: 'day' },
    })
    expect((await ask(secret, false)).status).toBe(200)
  })

  it('has unknown usage instead of its usage so far if the client disconnects', async () => {
    const { tokens, ask, finished } = setUp()
    const { secret } = await tokens.issue({})
    const reply = await ask(secret, true)
    const reader = reply.body?.getReader()
    await reader?.read()
    await reader?.cancel()
    await vi.waitFor(() => expect(finished).toHaveLength(1))
    expect(finished[0]).toMatchObject({ outcome: 'aborted' })
    expect(finished[0]?.usage).toBeUndefined()
    expect(finished[0]?.cost).toBeUndefined()
  })
})

describe('a stored response', () => {
  it('counts as a free request of its owner when it is fetched', async () => {
    const { tokens, ask, get, finished } = setUp()
    const { secret } = await tokens.issue({ limits: { requests: 3, window: 60 } })
    expect((await ask(secret, false)).status).toBe(200)
    const fetched = await get(secret)
    expect([fetched.status, fetched.headers.get('x-ratelimit-remaining-requests')]).toEqual([200, '1'])
    expect((await get(secret)).status).toBe(200)
    expect((await get(secret)).status).toBe(429)
    expect(finished.slice(1).map(({ operation, cost }) => [operation, cost?.amount ?? 0])).toEqual([
      ['get-response', 0],
      ['get-response', 0],
      ['get-response', 0],
    ])
  })
})
