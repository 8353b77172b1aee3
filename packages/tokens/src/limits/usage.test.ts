import { describe, expect, it } from 'vitest'
import type { Storage } from '../contract/storage.ts'
import { daysOf, readUsage, sumAll, sumBy } from './usage.ts'

const now = Date.parse('2026-11-21T23:59:59Z')

describe('the range of a usage query', () => {
  it.each([
    ['the last 30 days by default', {}, '2026-10-23', '2026-11-21'],
    ['every day since from', { from: '2026-11-20' }, '2026-11-20', '2026-11-21'],
    ['30 days until to', { to: '2026-03-01' }, '2026-01-31', '2026-03-01'],
    ['a single day', { from: '2024-02-29', to: '2024-02-29' }, '2024-02-29', '2024-02-29'],
  ])('covers %s', (_, query, from, to) => {
    expect(daysOf(query, now)).toEqual({ from, to })
  })

  it.each([
    ['from', { from: 'yesterday' }],
    ['from', { from: '2026-02-30' }],
    ['to', { to: '2026-13-01' }],
    ['to', { to: '2026-11-21T00:00:00Z' }],
    ['from', { from: '2026-11-22' }],
    ['from', { from: '2020-01-01' }],
    ['from', { from: 20261101 as unknown as string }],
  ])('rejects an invalid %s in %o', (param, query) => {
    expect(() => daysOf(query, now)).toThrow(expect.objectContaining({ info: expect.objectContaining({ param }) }))
  })
})

const row = (day: string, model: string, calls: number, cost: number) => ({
  day,
  model,
  calls,
  inputTokens: calls * 10,
  cachedTokens: calls,
  outputTokens: calls * 2,
  cost,
  unpriced: 0,
})
const rows = [
  row('2026-11-20', 'gpt-5', 1, 100_000_000),
  row('2026-11-21', 'claude', 2, 200_000_000),
  row('2026-11-21', 'gpt-5', 4, 1),
]

it('sums rows by day, by model and in total, with exact amounts of money', () => {
  expect(sumBy(rows, ({ day }) => day).map(([day, { calls, cost }]) => [day, calls, cost])).toEqual([
    ['2026-11-20', 1, 0.1],
    ['2026-11-21', 6, 0.200000001],
  ])
  expect(sumBy(rows, ({ model }) => model).map(([model, { calls, cost }]) => [model, calls, cost])).toEqual([
    ['claude', 2, 0.2],
    ['gpt-5', 5, 0.100000001],
  ])
  expect(sumAll(rows)).toEqual({
    calls: 7,
    inputTokens: 70,
    cachedTokens: 7,
    outputTokens: 14,
    cost: 0.300000001,
    unpriced: 0,
  })
})

it('returns zeros without rows', () => {
  expect(sumBy([], () => 'x')).toEqual([])
  expect(sumAll([])).toMatchObject({ calls: 0, cost: 0 })
})

it('reports a store that fails twice at once as one error, without an unhandled rejection', async () => {
  const unhandled: unknown[] = []
  const remember = (reason: unknown) => unhandled.push(reason)
  process.on('unhandledRejection', remember)
  const fail = () => {
    throw new Error('the file is not a database')
  }
  const storage = {
    tokens: { get: () => ({ id: 'tok_1', limits: [{ requests: 1 }], budgets: [] }) },
    meters: { read: fail, sums: fail },
  } as unknown as Storage
  try {
    await expect(
      readUsage({ storage, prices: undefined, homeOf: () => undefined, now: () => now }, 'tok_1'),
    ).rejects.toThrow('the file is not a database')
    await new Promise((resolve) => setImmediate(resolve))
  } finally {
    process.off('unhandledRejection', remember)
  }
  expect(unhandled).toEqual([])
})
