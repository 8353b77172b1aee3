import { createGateway, type FinishEvent, memoryResponseStore, openai, type ResponseStore } from '@modelgate/core'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { Storage } from '../contract/storage.ts'
import type { TokenSettings } from '../contract/token.ts'
import { createTokens, type Tokens } from '../create-tokens.ts'
import { memoryStorage } from '../storage/memory/memory-storage.ts'

const prices = { models: { 'gpt-*': { input: 1, output: 10 } } }
const event = (type: string, response: object): string =>
  `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: 0, response })}\n\n`
const response = { id: 'resp_1', object: 'response', created_at: 1, model: 'gpt-5', output: [], usage: null }
const usage = { input_tokens: 10, output_tokens: 100_000, total_tokens: 100_010 }

interface Setting {
  readonly ended?: object
  readonly store?: ResponseStore
  readonly storage?: Storage
}

/**
 * A gateway with tokens in front of an upstream that continues in the background and then reports 100,000 output tokens.
 *
 * @param ended the response when it has ended
 */
function setUp({ ended = { status: 'completed', usage }, store = memoryResponseStore(), storage }: Setting = {}) {
  const finished: FinishEvent[] = []
  const tokens = createTokens({ storage: storage ?? memoryStorage(), prices, logger: false })
  const calls: string[] = []
  const upstream = { isRunning: false, events: [] as string[], staysOpen: false }
  const gateway = createGateway({
    auth: tokens.authenticate,
    upstreams: { up: openai({ apiKey: 'upstream', baseURL: 'http://up/v1', formats: ['responses'] }) },
    models: { 'gpt-*': 'up' },
    responses: { store },
    plugins: [{ name: 'end', onFinish: (event) => void finished.push(event) }],
    logger: false,
    fetch: (async (url: string, init: RequestInit) => {
      calls.push(`${init.method} ${url}`)
      if (init.method === 'DELETE') return Response.json({ id: 'resp_1', object: 'response', deleted: true })
      if (init.method === 'GET' || url.endsWith('/cancel'))
        return Response.json({ ...response, ...(upstream.isRunning ? { status: 'in_progress' } : ended) })
      const begun = { ...response, status: 'in_progress' }
      if (!new TextDecoder().decode(init.body as Uint8Array).includes('"stream":true')) return Response.json(begun)
      const delta = { type: 'response.output_text.delta', item_id: 'm', output_index: 0, content_index: 0, delta: 'Hi' }
      const text = `${event('response.created', begun)}event: ${delta.type}\ndata: ${JSON.stringify(delta)}\n\n`
      const first = new TextEncoder().encode(text)
      const body = new ReadableStream<Uint8Array>({
        start(controller) {
          controller.enqueue(first)
          for (const text of upstream.events) controller.enqueue(new TextEncoder().encode(text))
          if (upstream.events.length > 0 && !upstream.staysOpen) controller.close()
        },
      })
      return new Response(body, { headers: { 'content-type': 'text/event-stream' } })
    }) as typeof fetch,
  })
  const ask = (secret: string, stream: boolean, more: object = { background: true }) =>
    gateway.fetch('http://gate/v1/responses', {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${secret}` },
      body: JSON.stringify({ model: 'gpt-5', input: 'hello', stream, ...more }),
    })
  const get = (secret: string, method = 'GET', path = '') =>
    gateway.fetch(`http://gate/v1/responses/resp_1${path}`, { method, headers: { authorization: `Bearer ${secret}` } })
  return { gateway, tokens, ask, get, calls, finished, upstream }
}

describe('a background response', () => {
  it.each<[string, TokenSettings]>([
    ['a budget in money', { budget: { money: 1, period: 'day' } }],
    ['a budget of tokens', { budget: { tokens: 1000, period: 'day' } }],
    ['a limit of tokens', { limits: { outputTokens: 1000 } }],
  ])('that no store keeps is rejected for a token with %s, because its usage stays unknown', async (_, settings) => {
    const { tokens, ask, get, calls } = setUp()
    const { secret } = await tokens.issue(settings)
    for (const more of [{ store: false }, { stream: true, store: false }]) {
      const refused = await ask(secret, false, { background: true, ...more })
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
    expect(finished[0]).toMatchObject({ outcome: 'aborted', deferred: true, cost: { amount: 0 } })
    expect(finished[0]?.usage).toBeUndefined()
  })
})

const budget = { tokens: 1_000_000, period: 'total' } as const
const usedBy = async ({ usage: read }: Tokens, id: string): Promise<number | undefined> =>
  (await read(id)).budgets[0]?.used

describe('a background response of a token with a budget', () => {
  it('keeps its reservation until a call finds that it has ended, and is then charged once', async () => {
    const { tokens, ask, get, finished, upstream } = setUp()
    const { secret, id } = await tokens.issue({ budget })
    upstream.isRunning = true
    expect((await ask(secret, false)).status).toBe(200)
    const reserved = await usedBy(tokens, id)
    expect(reserved).toBeGreaterThan(4096)
    expect(finished).toMatchObject([{ operation: 'generate', deferred: true, cost: { amount: 0 } }])
    expect((await get(secret)).status).toBe(200)
    expect(await usedBy(tokens, id)).toBe(reserved)
    upstream.isRunning = false
    await Promise.all([get(secret), get(secret)])
    await get(secret)
    expect(await usedBy(tokens, id)).toBe(100_010)
    const generated = finished.filter(({ operation }) => operation === 'generate')
    expect(generated).toHaveLength(2)
    expect(generated[1]).toMatchObject({
      requestId: generated[0]?.requestId,
      startedAt: generated[0]?.startedAt,
      outcome: 'finished',
      model: 'gpt-5',
      upstream: 'up',
      finish: 'completed',
      basis: 'reported',
      usage: { input: { total: 10 }, output: { total: 100_000 } },
      cost: { amount: 1.00001 },
    })
    expect((await tokens.usage(id)).byModel).toMatchObject([
      expect.anything(),
      { model: 'gpt-5', calls: 1, outputTokens: 100_000, cost: 1.00001 },
    ])
  })

  it('is settled by another process, after the one that began it has ended', async () => {
    const shared = { store: memoryResponseStore(), storage: memoryStorage() }
    const first = setUp(shared)
    const { secret, id } = await first.tokens.issue({ budget })
    const reply = await first.ask(secret, true)
    await reply.body?.getReader().read()
    // The first process ends here: it settles nothing.
    const second = setUp(shared)
    expect((await second.get(secret)).status).toBe(200)
    expect(await usedBy(second.tokens, id)).toBe(100_010)
    expect(second.finished.map(({ operation }) => operation)).toEqual(['generate', 'get-response'])
  })

  it('is settled by its own call if that receives the end of the stream', async () => {
    const { tokens, ask, get, finished, upstream } = setUp()
    const { secret, id } = await tokens.issue({ budget })
    upstream.events = [event('response.completed', { ...response, status: 'completed', usage })]
    await (await ask(secret, true)).text()
    await vi.waitFor(() => expect(finished.some(({ usage: found }) => found !== undefined)).toBe(true))
    expect(await usedBy(tokens, id)).toBe(100_010)
    await get(secret)
    expect(await usedBy(tokens, id)).toBe(100_010)
    expect(finished.filter(({ usage: found }) => found !== undefined)).toHaveLength(1)
    expect((await tokens.usage(id)).totals.outputTokens).toBe(100_000)
  })

  it('is settled before a request that continues it, which has its output without fetching it', async () => {
    const { tokens, ask, calls } = setUp()
    const { secret, id } = await tokens.issue({ budget })
    await ask(secret, false)
    await ask(secret, false, { previous_response_id: 'resp_1' })
    expect(calls).toEqual([
      'POST http://up/v1/responses',
      'GET http://up/v1/responses/resp_1',
      'POST http://up/v1/responses',
    ])
    expect(await usedBy(tokens, id)).toBeGreaterThan(100_010)
  })

  it('is settled before it is deleted', async () => {
    const { tokens, ask, get, calls } = setUp()
    const { secret, id } = await tokens.issue({ budget })
    await ask(secret, false)
    expect((await get(secret, 'DELETE')).status).toBe(200)
    expect(calls.slice(1)).toEqual(['GET http://up/v1/responses/resp_1', 'DELETE http://up/v1/responses/resp_1'])
    expect(await usedBy(tokens, id)).toBe(100_010)
  })

  it.each([
    ['was cancelled keeps its reservation', { status: 'cancelled', usage: null }, (used: number) => used > 4096],
    ['failed is free', { status: 'failed', usage: null, error: null }, (used: number) => used === 0],
  ])('that %s if the upstream reports no usage', async (_, ended, isExpected) => {
    const { tokens, ask, get } = setUp({ ended })
    const { secret, id } = await tokens.issue({ budget })
    await ask(secret, false)
    expect((await get(secret, 'POST', '/cancel')).status).toBe(200)
    await get(secret)
    expect(await usedBy(tokens, id)).toSatisfy(isExpected)
  })

  it('counts as a concurrent call only until it is stored', async () => {
    const { tokens, ask } = setUp()
    const { secret, id } = await tokens.issue({ limits: { concurrent: 1 }, budget })
    expect((await ask(secret, false)).status).toBe(200)
    expect((await tokens.usage(id)).limits).toMatchObject([{ of: 'concurrent', used: 0 }])
    expect((await ask(secret, false)).status).toBe(200)
  })

  it('of another owner is neither fetched nor settled', async () => {
    const { tokens, ask, get, calls } = setUp()
    const { secret } = await tokens.issue({ budget })
    const other = await tokens.issue({ budget })
    await ask(secret, false)
    expect((await get(other.secret)).status).toBe(404)
    expect(calls).toHaveLength(1)
  })
})

describe('a background response whose client does not return', () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    // The middle of the random spread of polls.
    vi.spyOn(Math, 'random').mockReturnValue(0.5)
  })
  afterEach(() => {
    vi.useRealTimers()
    vi.restoreAllMocks()
  })
  const fetched = 'GET http://up/v1/responses/resp_1'

  /** Reads the first events of a stream, and disconnects. */
  const disconnect = async (reply: Response): Promise<void> => {
    const reader = reply.body?.getReader()
    await reader?.read()
    await reader?.cancel()
  }

  it('is charged although the client closed its stream before the last event', async () => {
    const { tokens, ask, finished, calls } = setUp()
    const { secret, id } = await tokens.issue({ budget })
    await disconnect(await ask(secret, true))
    expect(await usedBy(tokens, id)).toBeLessThan(100_000)
    await vi.advanceTimersByTimeAsync(5_000)
    expect(await usedBy(tokens, id)).toBe(100_010)
    expect(finished.map(({ deferred, usage: found }) => [deferred, found?.output.total])).toEqual([
      [true, undefined],
      [undefined, 100_000],
    ])
    await vi.advanceTimersByTimeAsync(3_600_000)
    expect(calls.slice(1)).toEqual([fetched])
  })

  it('is charged once if a call finds its end at the same moment', async () => {
    const { tokens, ask, get } = setUp()
    const { secret, id } = await tokens.issue({ budget })
    await disconnect(await ask(secret, true))
    await Promise.all([vi.advanceTimersByTimeAsync(5_000), get(secret)])
    await vi.advanceTimersByTimeAsync(60_000)
    expect(await usedBy(tokens, id)).toBe(100_010)
    expect((await tokens.usage(id)).totals.outputTokens).toBe(100_000)
  })

  it('is polled until it has ended', async () => {
    const { tokens, ask, upstream, calls } = setUp()
    const { secret, id } = await tokens.issue({ budget })
    upstream.isRunning = true
    await ask(secret, false)
    await vi.advanceTimersByTimeAsync(3_600_000)
    expect(calls.filter((call) => call === fetched).length).toSatisfy((polls: number) => polls > 10 && polls < 30)
    upstream.isRunning = false
    await vi.advanceTimersByTimeAsync(300_000)
    expect(await usedBy(tokens, id)).toBe(100_010)
  })

  it.each([
    ['its client has deleted it', async ({ get }: ReturnType<typeof setUp>, secret: string) => get(secret, 'DELETE')],
    ['the gateway closes', async ({ gateway }: ReturnType<typeof setUp>) => gateway.close()],
  ])('is not polled after %s', async (_, end) => {
    const scene = setUp()
    const { secret } = await scene.tokens.issue({ budget })
    await scene.ask(secret, false)
    await end(scene, secret)
    const before = scene.calls.length
    await vi.advanceTimersByTimeAsync(3_600_000)
    expect(scene.calls).toHaveLength(before)
  })

  it('is not polled if its stream was read to its end', async () => {
    const { tokens, ask, upstream, calls } = setUp()
    const { secret } = await tokens.issue({ budget })
    upstream.events = [event('response.completed', { ...response, status: 'completed', usage })]
    await (await ask(secret, true)).text()
    await vi.advanceTimersByTimeAsync(3_600_000)
    expect(calls).toHaveLength(1)
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
    const fetches = finished.filter(({ operation }) => operation === 'get-response')
    expect(fetches.map(({ operation, cost }) => [operation, cost?.amount ?? 0])).toEqual([
      ['get-response', 0],
      ['get-response', 0],
      ['get-response', 0],
    ])
  })
})

describe('a background response whose client received its output and then cancels it', () => {
  const cancelled = { status: 'cancelled' }
  const delta = {
    type: 'response.output_text.delta',
    item_id: 'm',
    output_index: 0,
    content_index: 0,
    delta: ' word'.repeat(1000),
  }
  const deltas = Array.from({ length: 20 }, () => `event: ${delta.type}\ndata: ${JSON.stringify(delta)}\n\n`)
  const length = deltas.join('').length

  /** Begins a response, and reads all of its deltas. */
  async function receive(given: Setting) {
    const all = setUp(given)
    const { secret, id } = await all.tokens.issue({ budget })
    all.upstream.isRunning = true
    all.upstream.staysOpen = true
    all.upstream.events = deltas
    const reply = await all.ask(secret, true)
    const reader = reply.body?.getReader()
    for (let bytes = 0; bytes < length; ) bytes += (await reader?.read())?.value?.length ?? 0
    return { ...all, secret, id, reader }
  }

  it('is charged for the output and for its reservation', async () => {
    const { tokens, get, secret, id, reader, upstream, finished } = await receive({ ended: cancelled })
    await reader?.cancel()
    await vi.waitFor(() => expect(finished).toHaveLength(1))
    const reserved = (await usedBy(tokens, id)) ?? 0
    upstream.isRunning = false
    await vi.waitFor(async () => {
      expect((await get(secret, 'POST', '/cancel')).status).toBe(200)
      expect(await usedBy(tokens, id)).toBeGreaterThan(reserved + 20_000)
    })
    expect(finished.find(({ deferred, operation }) => operation === 'generate' && deferred !== true)).toMatchObject({
      outcome: 'aborted',
      basis: 'partial',
      unreportedResponses: 1,
    })
  })

  it('is charged in the same way if the client deletes it at once', async () => {
    const { tokens, get, secret, id, reader, upstream } = await receive({ ended: cancelled })
    const reserved = (await usedBy(tokens, id)) ?? 0
    upstream.isRunning = false
    expect((await get(secret, 'POST', '/cancel')).status).toBe(200)
    expect((await get(secret, 'DELETE')).status).toBe(200)
    await reader?.cancel()
    await vi.waitFor(async () => expect(await usedBy(tokens, id)).toBeGreaterThan(reserved + 20_000))
  })

  it('cannot be deleted while it is running', async () => {
    const { get, secret, reader, calls } = await receive({ ended: cancelled })
    const refused = await get(secret, 'DELETE')
    expect(refused.status).toBe(400)
    expect((await refused.json()).error.message).toBe(
      "Response 'resp_1' is still running. Cancel it before you delete it.",
    )
    expect(calls.filter((call) => call.startsWith('DELETE'))).toEqual([])
    await reader?.cancel()
  })
})
