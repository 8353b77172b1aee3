import { createGateway, openai } from '@modelgate/core'
import { createFakeProvider } from '@modelgate/testing'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { type Storage, StorageAwayError } from '../contract/storage.ts'
import type { Budget, Limit } from '../contract/token.ts'
import { createTokens, type TokensOptions } from '../create-tokens.ts'
import { fileLedger } from '../ledger/file-ledger.ts'
import { recordWith, tempFolder } from '../ledger/ledger.test-support.ts'
import { type LedgerRecord, memoryLedger } from '../ledger/ledger-record.ts'
import { folderStorage } from '../storage/folder/folder-storage.ts'
import { memoryStorage } from '../storage/memory/memory-storage.ts'
import {
  connect,
  startRedis,
  type TestRedis,
  testPrefix,
  withoutRedisToKill,
} from '../storage/redis/redis.test-support.ts'
import { redisStorage } from '../storage/redis/redis-storage.ts'

const prices = { models: { 'gpt-*': { input: 1000, output: 10_000 } } }
const day = '2026-11-21'
const start = Date.parse(`${day}T12:00:00Z`)

/** Creates a gateway in front of a provider that reports 10 input and 5 output tokens for each call. */
function setUp(options: TokensOptions) {
  const clock = { now: start }
  const tokens = createTokens({ prices, logger: false, now: () => clock.now, ...options })
  onTestFinished(() => tokens.close())
  const provider = createFakeProvider({ brain: () => ({ text: 'Hi', usage: { input: 10, output: 5 } }) })
  const gateway = createGateway({
    auth: async (credential, request) =>
      credential === 'static' ? { id: 'owner' } : tokens.authenticate(credential, request),
    plugins: [tokens.plugin],
    upstreams: { up: openai({ apiKey: 'upstream', baseURL: 'http://up/v1', formats: ['chat'] }) },
    models: { 'gpt-*': 'up', free: 'up' },
    fetch: provider.fetch,
    logger: false,
  })
  const call = async (secret: string, model: string, times = 1): Promise<void> => {
    for (let n = 0; n < times; n++) {
      const response = await gateway.fetch('http://gate/v1/chat/completions', {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${secret}` },
        body: JSON.stringify({ model, messages: [{ role: 'user', content: 'hello' }], max_completion_tokens: 20 }),
      })
      await response.text()
    }
  }
  return { tokens, gateway, call, clock }
}

let redis: TestRedis | undefined
beforeAll(async () => {
  if (withoutRedisToKill === undefined) redis = await startRedis()
})
afterAll(() => redis?.close())

const storages: readonly (readonly [string, () => Promise<Storage>])[] = [
  ['memory', async () => memoryStorage()],
  ['a folder', async () => folderStorage(tempFolder(), { logger: false })],
  ...(withoutRedisToKill === undefined
    ? [
        [
          'Redis',
          async () => {
            const { client, close } = await connect['node-redis'](redis?.url ?? '')
            onTestFinished(close)
            return redisStorage({ client, prefix: testPrefix(), logger: false })
          },
        ] as const,
      ]
    : []),
]

describe.each(storages)('a report of the counters in %s', (_, open) => {
  it('has a row for each token, model and day, which add up to the calls', async () => {
    const { tokens, call } = setUp({ storage: await open(), now: Date.now })
    const limits: Limit = { requests: 100, window: 'day' }
    const budget: Budget = { money: 10, period: 'total' }
    const ada = await tokens.issue({ name: 'Ada', owner: 'team', limits, budget })
    const eve = await tokens.issue()
    const old = await tokens.issue({ name: 'Old' })
    await tokens.revoke(old.id)
    await call(ada.secret, 'gpt-5', 3)
    await call(eve.secret, 'free')
    await call(eve.secret, 'gpt-5', 2)
    await call('static', 'gpt-5')
    await call(old.secret, 'gpt-5')
    const report = await tokens.report()
    const one = { cachedTokens: 0, day: report.to, unpriced: 0 }
    expect(report).toMatchObject({ source: 'counters', currency: 'USD' })
    expect(report).not.toHaveProperty('truncated')
    expect(new Set(report.rows)).toEqual(
      new Set([
        { ...one, token: ada.id, name: 'Ada', model: 'gpt-5', calls: 3, inputTokens: 30, outputTokens: 15, cost: 0.18 },
        { ...one, token: eve.id, model: 'gpt-5', calls: 2, inputTokens: 20, outputTokens: 10, cost: 0.12 },
        { ...one, token: eve.id, model: 'free', calls: 1, inputTokens: 10, outputTokens: 5, cost: 0, unpriced: 1 },
      ]),
    )
    const listed = new Map(report.tokens.map((token) => [token.id, token]))
    expect([...listed.keys()].sort()).toEqual([ada.id, eve.id, old.id].sort())
    expect(listed.get(ada.id)).toMatchObject({
      name: 'Ada',
      owner: 'team',
      limits: [{ of: 'requests', per: 'day', limit: 100 }],
      budgets: [{ of: 'money', per: 'total', limit: 10, used: 0.18 }],
    })
    expect(listed.get(eve.id)).toEqual({ id: eve.id, limits: [], budgets: [] })
    expect(listed.get(old.id)).toMatchObject({ name: 'Old', revokedAt: expect.any(Number) })
    const { totals } = await tokens.usage(ada.id)
    expect(totals).toMatchObject({ calls: 3, cost: 0.18 })
    const text = JSON.stringify(report)
    for (const { secret } of [ada, eve, old]) expect(text).not.toContain(secret)
    expect(text).not.toMatch(/digest|secret/)
  })

  it('selects a token, a model and days', async () => {
    const { tokens, call } = setUp({ storage: await open(), now: Date.now })
    const ada = await tokens.issue({ name: 'Ada' })
    const eve = await tokens.issue()
    await call(ada.secret, 'gpt-5')
    await call(ada.secret, 'gpt-6', 2)
    await call(eve.secret, 'gpt-5', 4)
    const callsOf = async (query: object) => (await tokens.report(query)).rows.map(({ calls }) => calls).sort()
    expect(await callsOf({})).toEqual([1, 2, 4])
    expect(await callsOf({ token: ada.id })).toEqual([1, 2])
    expect(await callsOf({ model: 'gpt-5' })).toEqual([1, 4])
    expect(await callsOf({ token: ada.id, model: 'gpt-6' })).toEqual([2])
    expect(await callsOf({ token: '' })).toEqual([1, 2, 4])
    expect(await callsOf({ to: '2026-01-01' })).toEqual([])
    expect((await tokens.report({ token: eve.id })).tokens.map(({ id }) => id)).toEqual([eve.id])
    expect(await tokens.report({ token: 'tok_unknown' })).toMatchObject({ rows: [], tokens: [] })
  })
})

describe.skipIf(withoutRedisToKill !== undefined)('while Redis is unavailable', () => {
  it('rejects a report with a 503 that names the reason', async () => {
    const own = await startRedis()
    onTestFinished(() => own.close())
    const { client, close } = await connect['node-redis'](own.url)
    onTestFinished(close)
    const tokens = createTokens({ storage: redisStorage({ client, logger: false }), logger: false })
    await tokens.issue()
    expect((await tokens.report()).tokens).toHaveLength(1)
    await own.close()
    await expect(tokens.report()).rejects.toMatchObject({
      info: { status: 503 },
      message: 'Usage cannot be read at the moment: the storage of tokens is unavailable. Try again shortly.',
    })
  })
})

describe('a report of a ledger', () => {
  it.each([
    ['in memory', () => memoryLedger()],
    ['in files', () => fileLedger({ folder: tempFolder(), logger: false })],
  ])('%s contains all authenticated calls, with names of issued tokens', async (_, ledger) => {
    const { tokens, call } = setUp({ storage: memoryStorage(), ledger: ledger(), now: Date.now })
    const ada = await tokens.issue({ name: 'Ada', limits: { requests: 2, window: 'day' } })
    await call(ada.secret, 'gpt-5', 3)
    await call('static', 'gpt-5')
    const report = await tokens.report()
    expect(report).toMatchObject({ source: 'ledger', currency: 'USD' })
    const day = report.to
    const counts = { model: 'gpt-5', day, cachedTokens: 0, unpriced: 0 }
    expect(new Set(report.rows)).toEqual(
      new Set([
        { ...counts, token: 'owner', calls: 1, failed: 0, inputTokens: 10, outputTokens: 5, cost: 0.06 },
        { ...counts, token: ada.id, name: 'Ada', calls: 3, failed: 1, inputTokens: 20, outputTokens: 10, cost: 0.12 },
      ]),
    )
    expect(report.tokens).toMatchObject([{ id: ada.id, limits: [{ of: 'requests', used: 2, remaining: 0 }] }])
    expect((await tokens.report({ token: 'owner' })).rows).toMatchObject([{ token: 'owner', calls: 1 }])
    expect((await tokens.report({ to: '2026-01-01' })).rows).toEqual([])
  })

  const reportOf = (records: readonly LedgerRecord[], options: TokensOptions = {}, query = {}) => {
    const ledger = {
      ...memoryLedger(),
      read: ({ from, to }: { from: string; to: string }) => within(records, from, to),
    }
    const { tokens } = setUp({ storage: memoryStorage(), ledger, ...options })
    return tokens.report(query)
  }
  const within = (records: readonly LedgerRecord[], from: string, to: string) =>
    records.filter(({ time }) => time.slice(0, 10) >= from && time.slice(0, 10) <= to)

  it('orders rows by day, token and model, with calls without a token first', async () => {
    const { rows } = await reportOf([
      recordWith({ time: '2026-11-21T23:59:59.999Z', token: 'b' }),
      recordWith({ token: 'a', model: 'y' }),
      recordWith({ token: 'a', model: 'x' }),
      recordWith({ token: null }),
      recordWith({ time: '2026-11-20T00:00:00.000Z', token: 'z' }),
      recordWith({ time: '2026-10-01T00:00:00.000Z', token: 'too old' }),
    ])
    expect(rows.map(({ day, token, model }) => [day, token, model])).toEqual([
      ['2026-11-20', 'z', 'fast'],
      ['2026-11-21', null, 'fast'],
      ['2026-11-21', 'a', 'x'],
      ['2026-11-21', 'a', 'y'],
      ['2026-11-21', 'b', 'fast'],
    ])
  })

  it('counts costs in another currency as unpriced', async () => {
    const records = [
      recordWith({ cost: 1, currency: 'EUR' }),
      recordWith({ cost: 2, currency: 'USD' }),
      recordWith({ time: '2026-11-20T10:00:00.000Z', cost: 4, currency: 'USD' }),
    ]
    expect((await reportOf(records)).rows.map(({ cost, unpriced }) => [cost, unpriced])).toEqual([
      [4, 0],
      [2, 1],
    ])
    const tokens = createTokens({ storage: memoryStorage(), ledger: { append() {}, read: () => [] }, logger: false })
    expect(await tokens.report()).not.toHaveProperty('currency')
    const unpriced = createTokens({
      storage: memoryStorage(),
      ledger: { append() {}, read: ({ from, to }) => within(records, from, to) },
      logger: false,
      now: () => start,
    })
    const { currency, rows } = await unpriced.report()
    expect([currency, ...rows.map(({ cost, unpriced }) => [cost, unpriced])]).toEqual(['EUR', [0, 1], [1, 1]])
  })

  it('has at most 10,000 rows, those of the newest days', async () => {
    const records = Array.from({ length: 10_005 }, (_, n) =>
      recordWith({ model: `model-${n % 10_003}`, time: `2026-11-${n < 7000 ? 21 : 20}T10:00:00.000Z` }),
    )
    const report = await reportOf(records)
    expect(report.truncated).toBe(true)
    expect(report.rows).toHaveLength(10_000)
    const newest = report.rows.filter(({ day }) => day === '2026-11-21')
    expect(newest).toHaveLength(7000)
    expect((await reportOf(records.slice(0, 10_000))).truncated).toBeUndefined()
  })
})

describe('a report', () => {
  it.each([
    ['from', { from: 'yesterday' }],
    ['from', { from: '2025-01-01' }],
    ['to', { to: '2026-11-31' }],
    ['token', { token: 'x'.repeat(513) }],
    ['model', { model: 5 as unknown as string }],
  ])('rejects an invalid %s', async (param, query) => {
    const { tokens } = setUp({ storage: memoryStorage() })
    await expect(tokens.report(query)).rejects.toMatchObject({ info: { status: 400, param } })
  })

  /** Creates a storage with many tokens whose sums are read when `release` is called. */
  function manyTokens(count: number, rowsOfEach = 1) {
    const inner = memoryStorage()
    const waiting: (() => void)[] = []
    const reading = { now: 0, most: 0 }
    const storage: Storage = {
      ...inner,
      meters: {
        ...inner.meters,
        async sums({ to }) {
          reading.most = Math.max(reading.most, ++reading.now)
          await new Promise<void>((resolve) => waiting.push(resolve))
          reading.now--
          return Array.from({ length: rowsOfEach }, (_, n) => ({
            day: to,
            model: `m${n}`,
            calls: 1,
            inputTokens: 1,
            cachedTokens: 0,
            outputTokens: 1,
            cost: 1_000_000_000,
            unpriced: 0,
          }))
        },
      },
    }
    const { tokens } = setUp({ storage })
    const issue = async () => {
      for (let n = 0; n < count; n++) await tokens.issue({ name: `token ${n}` })
    }
    const releaseAll = async (until: Promise<unknown>) => {
      let isDone = false
      void until
        .finally(() => {
          isDone = true
        })
        .catch(() => {})
      while (!isDone) {
        for (const release of waiting.splice(0)) release()
        await new Promise((resolve) => setImmediate(resolve))
      }
    }
    return { tokens, issue, reading, releaseAll, waiting }
  }

  it('reads at most 8 tokens at the same time, and lists all pages of tokens', async () => {
    const { tokens, issue, reading, releaseAll } = manyTokens(250)
    await issue()
    const pending = tokens.report()
    await releaseAll(pending)
    const report = await pending
    expect(reading.most).toBe(8)
    expect(new Set(report.tokens.map(({ name }) => name)).size).toBe(250)
    expect(report.rows).toHaveLength(250)
    expect(report.rows.reduce((sum, { cost }) => sum + cost, 0)).toBe(250)
  })

  it('is marked as truncated beyond 1,000 tokens or 10,000 rows', async () => {
    const many = manyTokens(1001)
    await many.issue()
    const pending = many.tokens.report()
    await many.releaseAll(pending)
    const report = await pending
    expect([report.truncated, report.tokens.length]).toEqual([true, 1000])
    const wide = manyTokens(20, 600)
    await wide.issue()
    const wideReport = wide.tokens.report()
    await wide.releaseAll(wideReport)
    expect([(await wideReport).truncated, (await wideReport).rows.length]).toEqual([true, 10_000])
  })

  it('waits while two others are read, and is rejected with 503 if 20 wait already', async () => {
    const { tokens, issue, reading, releaseAll } = manyTokens(1)
    await issue()
    const pending = Array.from({ length: 22 }, () => tokens.report())
    await expect(tokens.report()).rejects.toMatchObject({ info: { status: 503 } })
    const all = Promise.all(pending)
    await releaseAll(all)
    expect((await all).map(({ rows }) => rows.length)).toEqual(pending.map(() => 1))
    expect(reading.most).toBe(2)
  })

  it('ends when its signal is aborted, and lets the next one start', async () => {
    const { tokens, issue, releaseAll, waiting } = manyTokens(20)
    await issue()
    const controller = new AbortController()
    const pending = tokens.report({}, { signal: controller.signal })
    const ended = expect(pending).rejects.toMatchObject({ info: { kind: 'cancelled' } })
    while (waiting.length < 8) await new Promise((resolve) => setImmediate(resolve))
    controller.abort()
    await releaseAll(pending)
    await ended
    const next = tokens.report()
    await releaseAll(next)
    expect((await next).rows).toHaveLength(20)
  })

  it('stops to read tokens after a failure of the storage', async () => {
    const inner = memoryStorage()
    let reads = 0
    const tokens = createTokens({
      storage: {
        ...inner,
        meters: {
          ...inner.meters,
          async sums() {
            reads++
            throw new StorageAwayError('gone')
          },
        },
      },
      logger: false,
    })
    for (let n = 0; n < 50; n++) await tokens.issue()
    await expect(tokens.report()).rejects.toMatchObject({ info: { status: 503 } })
    expect(reads).toBe(8)
  })
})
