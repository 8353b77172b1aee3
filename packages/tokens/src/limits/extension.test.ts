import {
  createGateway,
  type FinishEvent,
  memoryResponseStore,
  openaiCompatible,
  type ResponseStore,
} from '@modelgate/core'
import { describe, expect, it, vi } from 'vitest'
import type { TokenSettings } from '../contract/token.ts'
import { createTokens } from '../create-tokens.ts'
import { memoryStorage } from '../storage/memory/memory-storage.ts'

const reply = {
  id: 'c',
  object: 'chat.completion',
  created: 1,
  model: 'm',
  choices: [{ index: 0, message: { role: 'assistant', content: 'yes' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 1200, completion_tokens: 3, total_tokens: 1203 },
}

/** A gateway that stores conversations, and counts how often its store is read. */
async function setUp(settings: TokenSettings) {
  const memory = memoryResponseStore()
  const reads: string[] = []
  const store: ResponseStore = {
    ...memory,
    get(key) {
      reads.push(key)
      return memory.get(key)
    },
  }
  const storage = memoryStorage()
  const tokens = createTokens({ storage, prices: { models: { m: { input: 1, output: 1 } } }, logger: false })
  const calls: string[] = []
  const finished: FinishEvent[] = []
  const upstream = { fails: false }
  const gateway = createGateway({
    auth: tokens.authenticate,
    upstreams: { up: openaiCompatible({ baseURL: 'http://up/v1' }) },
    models: { m: 'up' },
    responses: { store },
    explain: true,
    plugins: [{ name: 'end', onFinish: (event) => void finished.push(event) }],
    retry: { attempts: 1 },
    logger: false,
    fetch: (async (_url: string, init: RequestInit) => {
      calls.push(String(init.body))
      return upstream.fails ? new Response('{}', { status: 200 }) : Response.json(reply)
    }) as typeof fetch,
  })
  const { secret, id } = await tokens.issue(settings)
  const ask = async (body: object, path = '/v1/responses') => {
    const response = await gateway.fetch(`http://gate${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${secret}` },
      body: JSON.stringify({ model: 'm', ...body }),
    })
    const reply = (await response.json()) as { id: string; error?: { message: string } }
    return { status: response.status, headers: response.headers, body: reply }
  }
  const used = async (): Promise<number | undefined> => (await tokens.usage(id)).budgets[0]?.used
  return { ask, reads, calls, finished, tokens, id, used, upstream }
}

/** About 1,000 tokens. */
const long = 'a fact about gateways '.repeat(200)

describe('a request that refers to stored responses', () => {
  it.each<[string, TokenSettings, number]>([
    ['requests', { limits: { requests: 1 } }, 429],
    ['a budget', { budget: { tokens: 10, period: 'total' } }, 429],
  ])('does not read the store for a caller without %s', async (_, settings, status) => {
    const { ask, reads, calls } = await setUp(settings)
    await ask({ input: 'hi', max_output_tokens: 1 })
    reads.length = 0
    const before = calls.length
    for (const [body, path] of [
      [{ input: [{ type: 'item_reference', id: 'msg_1' }], previous_response_id: 'resp_1' }, '/v1/responses'],
      [{ input: [{ type: 'item_reference', id: 'msg_1' }] }, '/v1/responses/compact'],
      [{ input: 'go on', previous_response_id: 'resp_1' }, '/v1/responses?modelgate=explain'],
      [
        { messages: [{ role: 'user', content: [{ type: 'file', file: { file_id: 'file-1' } }] }] },
        '/v1/chat/completions',
      ],
    ] as const)
      expect((await ask(body, path)).status).toBe(status)
    expect([reads, calls.length]).toEqual([[], before])
  })

  it('is charged as one request, with the actual use of its whole conversation', async () => {
    const { ask, used, finished, tokens, id } = await setUp({
      limits: [{ requests: 9, window: 'day' }, { inputTokens: 100_000, window: 'day' }, { concurrent: 2 }],
      budget: { tokens: 100_000, period: 'total' },
    })
    const first = await ask({ input: long })
    const second = await ask({ input: 'go on', previous_response_id: first.body.id })
    expect(second.status).toBe(200)
    expect(await used()).toBe(2 * 1203)
    expect((await tokens.usage(id)).limits.map(({ used: count }) => count)).toEqual([2, 2 * 1200, 0])
    expect(finished.map(({ operation }) => operation)).toEqual(['generate', 'generate'])
  })

  it('counts as one request without use if it is explained', async () => {
    const { ask, used, calls, finished, tokens, id } = await setUp({
      limits: [{ requests: 9, window: 'day' }, { inputTokens: 100_000, window: 'day' }, { concurrent: 2 }],
      budget: { tokens: 100_000, period: 'total' },
    })
    const first = await ask({ input: long })
    const path = '/v1/responses?modelgate=explain'
    expect((await ask({ input: long }, path)).status).toBe(200)
    const explained = await ask({ input: 'go on', previous_response_id: first.body.id }, path)
    expect([explained.status, JSON.stringify(explained.body).includes('a fact about gateways')]).toEqual([200, true])
    expect([await used(), calls.length]).toEqual([1203, 1])
    expect((await tokens.usage(id)).limits.map(({ used: count }) => count)).toEqual([2, 1200, 0])
    expect(finished.map(({ attempts, usage, cost }) => [attempts.length, usage?.input.total, cost?.amount])).toEqual([
      [1, 1200, 0.001203],
      [0, undefined, 0],
    ])
  })

  it('is rejected for what its conversation needs, before an upstream is called', async () => {
    const { ask, calls, used, tokens, id } = await setUp({
      limits: { inputTokens: 2000, window: 'day' },
      budget: { tokens: 20_000, period: 'total' },
    })
    const first = await ask({ input: long })
    const refused = await ask({ input: 'go on', previous_response_id: first.body.id })
    expect([refused.status, calls.length]).toEqual([429, 1])
    expect(refused.body.error?.message).toMatch(/input tokens per day: limit 2000, used 1200, requested 1\d\d\d\b/)
    expect(await used()).toBe(1203)
    expect((await tokens.usage(id)).limits).toMatchObject([{ used: 1200 }])
  })

  it('reports the quotas after the reservation of its whole conversation', async () => {
    const { ask } = await setUp({
      limits: [
        { requests: 9, window: 'day' },
        { inputTokens: 100_000, window: 'day' },
      ],
      budget: { tokens: 100_000, period: 'total' },
    })
    const left = ({ headers }: Awaited<ReturnType<typeof ask>>): (number | undefined)[] => [
      Number(/remaining=(\d+)/.exec(headers.get('modelgate-budget') ?? '')?.[1]),
      Number(headers.get('x-ratelimit-remaining-requests')),
    ]
    const first = await ask({ input: long, max_output_tokens: 10 })
    const [before = 0] = left(first)
    const second = await ask({ input: 'go on', max_output_tokens: 10, previous_response_id: first.body.id })
    const [after = 0, requests] = left(second)
    // The second request needs what the first one used, and more for its conversation.
    expect(before - after).toBeGreaterThan(1203)
    expect(requests).toBe(7)
  })

  it('is admitted if its least use fits, although its output is not bounded', async () => {
    // 1,203 tokens are used. About 1,050 more are needed, and 4,096 are reserved for the output.
    const { ask, used } = await setUp({ budget: { tokens: 2500, period: 'total' } })
    const first = await ask({ input: long })
    expect((await ask({ input: 'go on', previous_response_id: first.body.id })).status).toBe(200)
    expect(await used()).toBe(2 * 1203)
  })

  it('is charged the input of its whole conversation if no response arrives', async () => {
    const { ask, used, upstream, finished } = await setUp({ budget: { money: 1, period: 'total' } })
    const first = await ask({ input: long })
    const before = (await used()) ?? 0
    upstream.fails = true
    await ask({ input: 'go on', previous_response_id: first.body.id, max_output_tokens: 10 })
    await vi.waitFor(() => expect(finished).toHaveLength(2))
    expect(((await used()) ?? 0) - before).toBeGreaterThan(0.0008)
  })
})
