import fc from 'fast-check'
import { expect, it } from 'vitest'
import { fileLedger } from './file-ledger.ts'
import { recordWith, tempFolder } from './ledger.test-support.ts'
import type { LedgerRecord } from './ledger-record.ts'
import { readLedger } from './read-ledger.ts'
import { type LedgerKey, sumLedger } from './sum-ledger.ts'

const without = (...fields: (keyof LedgerRecord)[]): LedgerRecord => {
  const record: Partial<Record<keyof LedgerRecord, unknown>> = recordWith()
  for (const field of fields) delete record[field]
  return record as LedgerRecord
}
const refused: LedgerRecord = {
  ...without('basis', 'usage', 'cost', 'currency'),
  status: 429,
  outcome: 'failed',
  error: 'rate_limited',
}
const records: readonly LedgerRecord[] = [
  recordWith({ cost: 0.1 }),
  recordWith({ cost: 0.2, token: 'tok_2', time: '2026-11-22T00:00:00.000Z' }),
  recordWith({ cost: 0.3, model: 'smart', usage: { input: 5, output: 6, reasoning: 6 } }),
  { ...without('cost', 'currency'), token: null },
  refused,
  { ...without('usage', 'cost'), outcome: 'aborted', basis: 'partial' },
]

const usual = { inputTokens: 100, cachedTokens: 80, outputTokens: 20 }
it.each<[LedgerKey[], unknown]>([
  [
    [],
    [
      {
        calls: 6,
        failed: 1,
        inputTokens: 305,
        cachedTokens: 240,
        outputTokens: 66,
        costs: [{ amount: 0.6, currency: 'USD' }],
        unpriced: 2,
      },
    ],
  ],
  [
    ['token'],
    [
      {
        token: 'tok_1',
        calls: 4,
        failed: 1,
        inputTokens: 105,
        cachedTokens: 80,
        outputTokens: 26,
        costs: [{ amount: 0.4, currency: 'USD' }],
        unpriced: 1,
      },
      { token: 'tok_2', calls: 1, failed: 0, ...usual, costs: [{ amount: 0.2, currency: 'USD' }], unpriced: 0 },
      { token: null, calls: 1, failed: 0, ...usual, costs: [], unpriced: 1 },
    ],
  ],
  [
    ['day', 'model'],
    [
      {
        day: '2026-11-21',
        model: 'fast',
        calls: 4,
        failed: 1,
        inputTokens: 200,
        cachedTokens: 160,
        outputTokens: 40,
        costs: [{ amount: 0.1, currency: 'USD' }],
        unpriced: 2,
      },
      {
        day: '2026-11-21',
        model: 'smart',
        calls: 1,
        failed: 0,
        inputTokens: 5,
        cachedTokens: 0,
        outputTokens: 6,
        costs: [{ amount: 0.3, currency: 'USD' }],
        unpriced: 0,
      },
      {
        day: '2026-11-22',
        model: 'fast',
        calls: 1,
        failed: 0,
        ...usual,
        costs: [{ amount: 0.2, currency: 'USD' }],
        unpriced: 0,
      },
    ],
  ],
])('groups sums by %j', async (by, rows) => expect(await sumLedger(records, { by })).toEqual(rows))

it('sums each currency separately', async () => {
  const both = [recordWith({ cost: 1 }), recordWith({ cost: 2, currency: 'EUR' }), recordWith({ cost: 3 })]
  expect((await sumLedger(both))[0]?.costs).toEqual([
    { amount: 4, currency: 'USD' },
    { amount: 2, currency: 'EUR' },
  ])
})

it('counts a call as unpriced only if it reached a model', async () => {
  const unpriced = async (record: LedgerRecord) => (await sumLedger([record]))[0]?.unpriced
  expect(await unpriced(refused)).toBe(0)
  expect(await unpriced({ ...refused, outcome: 'aborted', status: 499 })).toBe(0)
  expect(await unpriced({ ...refused, outcome: 'finished' })).toBe(1)
  expect(await unpriced({ ...refused, units: { images: 1 } })).toBe(1)
  expect(await unpriced({ ...refused, abandoned: true })).toBe(1)
  expect(await unpriced(recordWith({ cost: 0 }))).toBe(0)
})

it('returns one row of zeros for no records, and no rows if they are grouped', async () => {
  expect(await sumLedger([])).toEqual([
    { calls: 0, failed: 0, inputTokens: 0, cachedTokens: 0, outputTokens: 0, costs: [], unpriced: 0 },
  ])
  expect(await sumLedger([], { by: ['token'] })).toEqual([])
})

it('lists the known keys in the error for an unknown one', async () =>
  expect(sumLedger([], { by: ['owner' as LedgerKey] })).rejects.toThrow(
    "sumLedger: unknown key 'owner' in by. Known keys: token, model, day",
  ))

it('sums costs exactly, in any order', () =>
  fc.assert(
    fc.asyncProperty(fc.array(fc.integer({ min: 0, max: 10 ** 12 }), { minLength: 1 }), async (billionths) => {
      const sum = await sumLedger(billionths.map((amount) => recordWith({ cost: amount / 1e9 })))
      expect(sum[0]?.costs).toEqual([{ amount: billionths.reduce((a, b) => a + b) / 1e9, currency: 'USD' }])
    }),
  ))

it('writes and sums 100,000 records with little memory', async () => {
  const folder = tempFolder()
  const ledger = fileLedger({ folder, logger: false })
  const count = 100_000
  const models = ['a', 'b', 'c']
  let [tokens, billionths, most] = [0, 0, 0]
  globalThis.gc?.()
  const before = process.memoryUsage().heapUsed
  const look = (): void => {
    most = Math.max(most, process.memoryUsage().heapUsed - before)
  }
  for (let n = 0; n < count; n++) {
    const cost = (n * 7919) % 1_000_003
    tokens += n % 1000
    billionths += cost
    ledger.append(
      recordWith({
        id: String(n),
        time: new Date(Date.UTC(2026, 10, 21) + n * 2000).toISOString(),
        token: `tok_${n % 10}`,
        model: models[n % 3] ?? '',
        usage: { input: n % 1000, output: 1 },
        cost: cost / 1e9,
      }),
    )
    if (n % 2000 === 1999) {
      await ledger.flush()
      look()
    }
  }
  await ledger.close()
  expect(ledger.dropped).toBe(0)

  let read = 0
  const watched = async function* () {
    for await (const record of readLedger(folder)) {
      if (++read % 5000 === 0) look()
      yield record
    }
  }
  const rows = await sumLedger(watched(), { by: ['token', 'model', 'day'] })
  // 200,000 seconds are three days.
  expect(rows).toHaveLength(10 * 3 * 3)
  const [all] = await sumLedger(readLedger(folder))
  expect(all).toEqual({
    calls: count,
    failed: 0,
    inputTokens: tokens,
    cachedTokens: 0,
    outputTokens: count,
    costs: [{ amount: billionths / 1e9, currency: 'USD' }],
    unpriced: 0,
  })
  const sum = (of: (row: (typeof rows)[0]) => number): number => rows.reduce((total, row) => total + of(row), 0)
  expect(sum(({ calls }) => calls)).toBe(count)
  expect(sum(({ inputTokens }) => inputTokens)).toBe(tokens)
  expect(Math.round(sum(({ costs }) => costs[0]?.amount ?? 0) * 1e9)).toBe(billionths)
  // All records in memory are more than 150 MB.
  expect(most).toBeLessThan(100 * 1024 * 1024)
}, 60_000)
