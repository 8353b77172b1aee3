import {
  type AdmitCall,
  anthropic,
  createGateway,
  type FinishEvent,
  type Gateway,
  type GatewayConfig,
  memoryResponseStore,
  type Plugin,
  type ResponseStore,
} from '@modelgate/core'
import { createFakeProvider } from '@modelgate/testing'
import { createTokens, memoryStorage } from '@modelgate/tokens'
import { beforeEach, describe, expect, test, vi } from 'vitest'

const provider = createFakeProvider({ models: ['sonnet-real', 'haiku-real'] })
const finished: FinishEvent[] = []
const admitted: AdmitCall[] = []
const watch: Plugin = {
  name: 'watch',
  admit: (call) => void admitted.push(call) as undefined,
  onFinish: (event) => void finished.push(event),
}

const setUp = (config: Partial<GatewayConfig> = {}): Gateway =>
  createGateway({
    auth: (token) => ({ id: token }),
    upstreams: {
      one: anthropic({ apiKey: 'k', baseURL: 'http://one' }),
      two: anthropic({ apiKey: 'k', baseURL: 'http://two' }),
    },
    models: {
      sonnet: { upstream: 'one', model: 'sonnet-real' },
      haiku: ['two', 'one'].map((upstream) => ({ upstream, model: 'haiku-real' })),
      other: { upstream: 'two', model: 'haiku-real' },
      capped: { upstream: 'one', model: 'haiku-real', overrides: { max_tokens: 7 } },
    },
    responses: { store: memoryResponseStore() },
    fetch: provider.fetch,
    plugins: [watch],
    logger: false,
    ...config,
  } as GatewayConfig)

let gateway: Gateway

beforeEach(() => {
  provider.reset()
  finished.length = 0
  admitted.length = 0
  gateway = setUp()
})

const path = '/v1/messages/batches'

const send = (token: string, method: string, at: string, body?: object): Promise<Response> =>
  gateway.fetch(`http://gateway${at}`, {
    method,
    headers: { 'x-api-key': token, 'anthropic-version': '2023-06-01', 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })

const line = (custom_id: string, model: string, more: object = {}) => ({
  custom_id,
  params: { model, max_tokens: 50, messages: [{ role: 'user', content: `Say ${custom_id}` }], ...more },
})

const create = async (token: string, ...requests: object[]): Promise<string> => {
  const response = await send(token, 'POST', path, { requests })
  expect(response.status).toBe(200)
  return ((await response.json()) as { id: string }).id
}

const retrieve = async (token: string, id: string) =>
  (await (await send(token, 'GET', `${path}/${id}`)).json()) as {
    processing_status: string
    results_url: string | null
  }

const batchEvents = () => finished.filter(({ operation }) => operation === 'batch')

describe('an interrupted creation of a batch', () => {
  test('is completed and recorded for its owner if the client disconnects meanwhile', async () => {
    const leaving = new AbortController()
    gateway = setUp({
      async fetch(input, init) {
        leaving.abort()
        if (init?.signal?.aborted) throw new Error('aborted')
        return provider.fetch(input, init)
      },
    })
    await gateway
      .fetch(`http://gateway${path}`, {
        method: 'POST',
        headers: { 'x-api-key': 'ann', 'anthropic-version': '2023-06-01', 'content-type': 'application/json' },
        body: JSON.stringify({ requests: [line('a', 'sonnet')] }),
        signal: leaving.signal,
      })
      .catch(() => undefined)
    await vi.waitFor(() => expect(finished).toHaveLength(1))
    const list = (await (await send('ann', 'GET', path)).json()) as { data: object[] }
    expect(list.data).toHaveLength(1)
    expect(batchEvents()).toEqual([])
  })

  test('is charged for the input of each model at the price of batches if its response is lost', async () => {
    gateway = setUp({ fetch: async () => new Response('<html>') })
    const response = await send('ann', 'POST', path, { requests: [line('a', 'sonnet'), line('b', 'haiku')] })
    expect(response.status).toBe(502)
    expect(batchEvents()).toMatchObject([
      { model: 'sonnet', outcome: 'failed', tier: 'batch', basis: 'partial', attempts: [{ upstream: 'one' }] },
      { model: 'haiku', outcome: 'failed', tier: 'batch', basis: 'partial', attempts: [{ upstream: 'one' }] },
    ])
    for (const { usage } of batchEvents()) expect(usage?.input.total).toBeGreaterThan(0)
  })
})

describe('a batch of messages', () => {
  test("is sent with the upstream's names of the models, and with the overrides of their targets", async () => {
    await create('ann', line('a', 'sonnet'), line('b', 'capped'), line('c', 'haiku'))
    const { body } = provider.requests.at(-1) ?? {}
    const { requests } = body as { requests: { custom_id: string; params: { model: string; max_tokens: number } }[] }
    expect(requests.map(({ custom_id, params }) => [custom_id, params.model, params.max_tokens])).toEqual([
      ['a', 'sonnet-real', 50],
      ['b', 'haiku-real', 7],
      ['c', 'haiku-real', 50],
    ])
  })

  test.each([
    ['an unknown model', [line('a', 'sonnet'), line('b', 'nope')], 404, 'requests[1].params'],
    ['a model of another upstream', [line('a', 'sonnet'), line('b', 'other')], 400, 'requests[1].params.model'],
    ['no messages', [line('a', 'sonnet', { messages: 'x' })], 400, 'requests[0].params.messages'],
    ['no model', [line('a', '', { model: undefined })], 400, 'requests[0].params'],
    ['no parameters', [{ custom_id: 'a' }], 400, 'requests[0].params'],
    ['no id', [{ params: line('a', 'sonnet').params }], 400, 'requests[0].custom_id'],
    ['no requests', [], 400, 'requests: '],
    [
      "another caller's file",
      [
        line('a', 'sonnet', {
          messages: [
            { role: 'user', content: [{ type: 'document', source: { type: 'file', file_id: 'file_of_bob' } }] },
          ],
        }),
      ],
      400,
      'requests[0].params.messages[0]',
    ],
  ])('with %s is rejected with its place, without an upstream call', async (_, requests, status, text) => {
    const response = await send('ann', 'POST', path, { requests })
    expect([response.status, await response.text()]).toEqual([status, expect.stringContaining(text)])
    expect(provider.requests).toHaveLength(0)
  })

  test('names only models that the caller may use, also in further members', async () => {
    gateway = setUp({ auth: (token) => ({ id: token, models: ['sonnet'] }) })
    expect((await send('ann', 'POST', path, { requests: [line('a', 'sonnet'), line('b', 'haiku')] })).status).toBe(404)
    const fallbacks = line('a', 'sonnet', { fallbacks: [{ model: 'haiku-real' }] })
    expect((await send('ann', 'POST', path, { requests: [fallbacks] })).status).toBe(404)
    expect(provider.requests).toHaveLength(0)
    await create('ann', line('a', 'sonnet'))
  })

  test('shows the results at the gateway, not at its upstream', async () => {
    const id = await create('ann', line('a', 'sonnet'))
    expect((await retrieve('ann', id)).results_url).toBeNull()
    const url = `http://gateway${path}/${id}/results`
    expect((await retrieve('ann', id)).results_url).toBe(url)
    const { data } = (await (await send('ann', 'GET', path)).json()) as { data: { results_url: string }[] }
    expect(data.map((batch) => batch.results_url)).toEqual([url])
    const text = await (await send('ann', 'GET', `${path}/${id}/results`)).text()
    expect(text).not.toContain('http://one')
    expect(JSON.parse(text)).toMatchObject({ custom_id: 'a', result: { type: 'succeeded' } })
    expect((await send('bob', 'GET', `${path}/${id}/results`)).status).toBe(404)
  })

  test('is settled once, with the usage of each model, for two calls at the same time', async () => {
    const id = await create('ann', line('a', 'sonnet'), line('b', 'haiku'), line('c', 'haiku'))
    await retrieve('ann', id)
    expect(batchEvents()).toEqual([])
    await Promise.all([retrieve('ann', id), retrieve('ann', id), send('ann', 'GET', `${path}/${id}/results`)])
    await retrieve('ann', id)
    const text = await (await send('ann', 'GET', `${path}/${id}/results`)).text()
    const usages = new Map(
      text
        .trim()
        .split('\n')
        .map((one) => JSON.parse(one))
        .map(({ custom_id, result }) => [custom_id, result.message.usage]),
    )
    const outputOf = (...ids: string[]) => ids.reduce((sum, one) => sum + usages.get(one).output_tokens, 0)
    expect(
      batchEvents().map(({ model, upstreamModel, upstream, tier, basis, usage, identity, status }) => [
        ...[model, upstreamModel, upstream, tier, basis, usage?.output.total, identity?.id, status],
      ]),
    ).toEqual([
      ['sonnet', 'sonnet-real', 'one', 'batch', 'reported', outputOf('a'), 'ann', 200],
      ['haiku', 'haiku-real', 'one', 'batch', 'reported', outputOf('b', 'c'), 'ann', 200],
    ])
    expect(admitted.flatMap(({ batch, model }) => (batch === undefined ? [] : [[model, batch.requests]]))).toEqual([
      ['sonnet', 1],
      ['haiku', 2],
    ])
  })

  test('is settled by a later call if its results cannot be read at first', async () => {
    let fails = true
    gateway = setUp({
      fetch: async (input, init) =>
        fails && String(input).endsWith('/results') ? new Response('', { status: 503 }) : provider.fetch(input, init),
    })
    const id = await create('ann', line('a', 'sonnet'))
    for (const _ of [1, 2]) await retrieve('ann', id)
    expect(batchEvents()).toEqual([])
    fails = false
    await send('ann', 'DELETE', `${path}/${id}`)
    expect(batchEvents()).toHaveLength(1)
  })

  test('gives no results while its usage cannot be read, neither to a waiting call nor to a deletion', async () => {
    let failures = Number.POSITIVE_INFINITY
    let reads = 0
    gateway = setUp({
      fetch: async (input, init) => {
        if (!String(input).endsWith('/results')) return provider.fetch(input, init)
        return ++reads <= failures ? new Response('', { status: 503 }) : provider.fetch(input, init)
      },
    })
    const id = await create('ann', line('a', 'sonnet'))
    await retrieve('ann', id)
    const results = () => send('ann', 'GET', `${path}/${id}/results`)
    const refused = [...(await Promise.all([results(), results()])), await send('ann', 'DELETE', `${path}/${id}`)]
    for (const response of refused)
      expect([response.status, await response.text()]).toEqual([503, expect.stringContaining('Try again later.')])
    expect(batchEvents()).toEqual([])
    expect(provider.requests.filter(({ path: at }) => at.endsWith('/results'))).toEqual([])
    failures = 0
    expect((await results()).status).toBe(200)
    expect(batchEvents()).toHaveLength(1)
  })

  test('is settled by a waiting call if the client whose call began the settlement disconnects', async () => {
    const leaving = new AbortController()
    let isFirst = true
    let begun = () => {}
    const beginning = new Promise<void>((resolve) => {
      begun = resolve
    })
    gateway = setUp({
      fetch: (input, init) => {
        if (!isFirst || !String(input).endsWith('/results')) return provider.fetch(input, init)
        isFirst = false
        begun()
        return new Promise((_, reject) => {
          init?.signal?.addEventListener('abort', () => reject(new Error('aborted')))
        })
      },
    })
    const id = await create('ann', line('a', 'sonnet'))
    await retrieve('ann', id)
    const headers = { 'x-api-key': 'ann', 'anthropic-version': '2023-06-01' }
    const url = `http://gateway${path}/${id}/results`
    const first = gateway.fetch(url, { headers, signal: leaving.signal }).catch(() => undefined)
    await beginning
    const second = send('ann', 'GET', `${path}/${id}/results`)
    await new Promise((resolve) => setTimeout(resolve, 20))
    leaving.abort()
    await first
    expect((await second).status).toBe(200)
    expect(batchEvents()).toMatchObject([{ usage: { output: { total: expect.any(Number) } } }])
  })

  test('is not found if a store with little room has dropped its oldest key', async () => {
    const kept = memoryResponseStore()
    const keys = new Map<string, string | undefined>()
    const set: ResponseStore['set'] = (key, value, ttl, owner) => {
      keys.set(key, owner)
      return kept.set(key, value, ttl, owner)
    }
    let fails = true
    gateway = setUp({
      responses: { store: { ...kept, set } },
      fetch: async (input, init) =>
        fails && String(input).endsWith('/results') ? new Response('', { status: 503 }) : provider.fetch(input, init),
    })
    const id = await create('ann', line('a', 'sonnet'))
    // The batch ends, and is not settled.
    for (const _ of [1, 2]) await retrieve('ann', id)
    fails = false
    // The oldest keys first.
    for (const [key, owner] of keys) {
      if (!key.includes(id)) continue
      await kept.delete(key, owner)
      const { status } = await send('ann', 'GET', `${path}/${id}/results`)
      expect([status, batchEvents().length]).toEqual([404, 0])
    }
  })

  test('of an earlier version, whose work has a record of its own, is settled', async () => {
    const kept = memoryResponseStore()
    // Writes records as an earlier version did.
    const set: ResponseStore['set'] = async (key, value, ttl, owner) => {
      const { work, ...record } = JSON.parse(value)
      await kept.set(key, JSON.stringify(record), ttl, owner)
      if (work === undefined) return
      const old = JSON.stringify({ ...record, fields: { work } })
      await kept.set(key.replace(':batches:', ':batchWork:'), old, ttl, owner)
    }
    gateway = setUp({ responses: { store: { ...kept, set } } })
    const id = await create('ann', line('a', 'sonnet'))
    for (const _ of [1, 2, 3]) await retrieve('ann', id)
    expect(batchEvents()).toHaveLength(1)
  })

  test('is not settled twice if another process settles it while this one reads its usage', async () => {
    const kept = memoryResponseStore()
    let record: Parameters<ResponseStore['set']> | undefined
    const set: ResponseStore['set'] = (key, value, ttl, owner) => {
      if (key.startsWith('object:') && value.includes('"work"')) record = [key, value, ttl, owner]
      return kept.set(key, value, ttl, owner)
    }
    gateway = setUp({
      responses: { store: { ...kept, set } },
      fetch: async (input, init) => {
        if (String(input).endsWith('/results') && record !== undefined) {
          const [key, value, ttl, owner] = record
          const { work: _, ...settled } = JSON.parse(value)
          await kept.set(key, JSON.stringify(settled), ttl, owner)
        }
        return provider.fetch(input, init)
      },
    })
    const id = await create('ann', line('a', 'sonnet'))
    await retrieve('ann', id)
    expect((await send('ann', 'GET', `${path}/${id}/results`)).status).toBe(200)
    expect(record).toBeDefined()
    expect(batchEvents()).toEqual([])
  })

  test('that its upstream rejects is settled as failed', async () => {
    const response = await send('ann', 'POST', path, { requests: [line('a b', 'sonnet')] })
    expect(response.status).toBe(400)
    expect(batchEvents().map(({ outcome, usage }) => [outcome, usage])).toEqual([['failed', undefined]])
  })

  test('needs stored owners', async () => {
    gateway = setUp({ responses: { store: false }, references: { batches: 'pass' } })
    const response = await send('ann', 'POST', path, { requests: [line('a', 'sonnet')] })
    const text = await response.text()
    expect([response.status, text]).toEqual([400, expect.stringContaining("can set 'responses.store'.")])
    expect(text).not.toContain("'pass'")
    expect(provider.requests).toHaveLength(0)
    gateway = setUp({ auth: 'none', responses: { store: memoryResponseStore() } })
    expect((await send('ann', 'POST', path, { requests: [line('a', 'sonnet')] })).status).toBe(200)
  })

  test.each([
    ['batches', 'not charged', true],
    ['batches', 'charged for its input', false],
  ] as const)('whose owner cannot be stored (%s) is settled and %s if cancelled: %s', async (kind, _, isCancelled) => {
    const kept = memoryResponseStore()
    const store: ResponseStore = {
      ...kept,
      set: (key, value, ...more) => {
        if (value.includes('msgbatch_') && key.includes(kind)) throw new Error('full')
        return kept.set(key, value, ...more)
      },
    }
    const settled: FinishEvent[] = []
    const reserve: Plugin = {
      name: 'reserve',
      admit: ({ operation }) => (operation === 'batch' ? { defer: () => 'kept' } : undefined),
      resume: () => ({ settle: (event) => void settled.push(event) }),
    }
    const urls: string[] = []
    gateway = setUp({
      responses: { store },
      plugins: [watch, reserve],
      fetch: async (input, init) => {
        urls.push(`${init?.method} ${String(input)}`)
        if (!isCancelled && String(input).endsWith('/cancel')) throw new Error('unreachable')
        return provider.fetch(input, init)
      },
    })
    const response = await send('ann', 'POST', path, { requests: [line('a', 'sonnet'), line('b', 'haiku')] })
    expect([response.status, await response.text()]).toEqual([
      500,
      expect.stringContaining('The owner of the new batch could not be stored.'),
    ])
    expect(urls).toEqual([`POST http://one${path}`, expect.stringMatching(/^POST .*\/cancel$/)])
    expect(batchEvents()).toMatchObject([
      { model: 'sonnet', outcome: 'failed', status: 500 },
      { model: 'haiku', outcome: 'failed', status: 500 },
    ])
    for (const { usage, basis } of batchEvents())
      expect([usage?.input.total, basis]).toEqual(
        isCancelled ? [undefined, undefined] : [expect.any(Number), 'partial'],
      )
    expect(settled).toEqual(batchEvents())
  })
})

describe('a batch of a token', () => {
  const prices = { models: { 'sonnet-real': { input: 10, output: 20 }, 'haiku-real': { input: 1, output: 2 } } }
  const storage = memoryStorage()
  const tokens = createTokens({ storage, prices, logger: false })

  test('reserves its requests at half the price, and corrects that when it has ended, in another process', async () => {
    const responses = { store: memoryResponseStore() }
    gateway = setUp({ auth: tokens.authenticate, responses })
    const { secret, id: tokenId } = await tokens.issue({
      budget: { money: 1, period: 'day' },
      limits: { requests: 100, window: 'day' },
    })
    const used = async () => {
      const { budgets, limits, totals } = await tokens.usage(tokenId)
      return { money: budgets[0]?.used, requests: limits[0]?.used, cost: totals.cost }
    }
    const requests = Array.from({ length: 20 }, (_, at) => line(`r${at}`, 'sonnet', { max_tokens: 1000 }))
    const id = await create(secret, ...requests)
    const reserved = await used()
    // 20 requests of at most 1000 output tokens at 10 for a million, and a little input.
    expect(reserved.money).toBeGreaterThan(0.2)
    expect(reserved.money).toBeLessThan(0.21)
    expect(reserved.requests).toBe(21)
    gateway = setUp({ auth: createTokens({ storage, prices, logger: false }).authenticate, responses })
    for (const _ of [1, 2, 3]) await retrieve(secret, id)
    const [event] = batchEvents()
    const { input = { total: 0 }, output = { total: 0 } } = event?.usage ?? {}
    const cost = (input.total * 5 + output.total * 10) / 1e6
    expect(event?.cost?.amount).toBeCloseTo(cost, 9)
    expect(await used()).toEqual({ money: expect.closeTo(cost, 9), requests: 24, cost: expect.closeTo(cost, 9) })
  })

  test('is rejected if its requests exceed a limit or a budget', async () => {
    gateway = setUp({ auth: tokens.authenticate })
    const requests = Array.from({ length: 20 }, (_, at) => line(`r${at}`, 'sonnet', { max_tokens: 1000 }))
    for (const settings of [
      { limits: { requests: 10 } },
      { budget: { money: 0.1, period: 'day' } as const },
      { budget: { tokens: 10_000, period: 'day' } as const },
    ]) {
      const { secret } = await tokens.issue(settings)
      const response = await send(secret, 'POST', path, { requests })
      expect([JSON.stringify(settings), response.status]).toEqual([JSON.stringify(settings), 429])
    }
    expect(provider.requests).toHaveLength(0)
  })

  test('that its upstream rejects leaves the budget as it was', async () => {
    gateway = setUp({ auth: tokens.authenticate })
    const { secret, id: tokenId } = await tokens.issue({ budget: { money: 1, period: 'day' } })
    expect((await send(secret, 'POST', path, { requests: [line('a b', 'sonnet')] })).status).toBe(400)
    expect((await tokens.usage(tokenId)).budgets[0]?.used).toBe(0)
  })
})
