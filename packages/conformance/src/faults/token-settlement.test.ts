import { createPrices, createTokens, memoryLedger, memoryStorage } from '@modelgate/tokens'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { fullRun } from '../base/recorded-traffic.ts'
import { exitNames, randomExits } from './router-exits.ts'
import { runPendingWork, stopClock } from './router-fixture.ts'

beforeEach(stopClock)
afterEach(() => void vi.useRealTimers())

test('settles every call once, however it ends, with records that agree with the limits and the upstream', async () => {
  const total = fullRun ? 10_000 : 4000
  const ledger = memoryLedger()
  const tokens = createTokens({
    storage: memoryStorage(),
    ledger,
    prices: createPrices({ models: { '*': { input: 1, output: 2 } } }),
  })
  const roomy = {
    limits: { requests: 1e6, tokens: 1e12, concurrent: 1000 },
    budget: { period: 'total', money: 1e6 },
  } as const
  const issued = [
    await tokens.issue({ name: 'plain' }),
    await tokens.issue({ name: 'roomy', ...roomy }),
    await tokens.issue({ name: 'counted', budget: { period: 'total', tokens: 1e9 } }),
    await tokens.issue({ name: 'narrow', limits: { requests: 200, window: 'hour' } }),
    await tokens.issue({ name: 'crowded', limits: { concurrent: 10 } }),
  ]
  const ids = issued.map(({ id }) => id)
  const { world, expected, served } = await randomExits(total, {
    credentials: issued.map(({ secret }) => secret),
    config: { auth: tokens.authenticate },
  })
  await runPendingWork()

  // One record per authenticated call, each with the expected outcome.
  expect(new Set(ledger.records.map(({ model }) => model)).size).toBe(total)
  expect(ledger.records).toHaveLength(total)
  const refused = ledger.records.filter(({ status, attempts }) => status === 429 && attempts.length === 0)
  expect(refused.length).toBeGreaterThan(500)
  expect(new Set(refused.map(({ token }) => token))).toEqual(new Set([ids[3], ids[4]]))
  const wrong = ledger.records.filter(
    (record) => !refused.includes(record) && record.outcome !== expected.get(record.model)?.outcome,
  )
  expect(wrong).toEqual([])

  // The upstream counted finished calls; others are marked.
  const finished = ledger.records.filter(({ outcome }) => outcome === 'finished')
  expect(finished.every(({ basis }) => basis === 'reported')).toBe(true)
  expect(finished.reduce((sum, { usage }) => sum + (usage?.input ?? 0), 0)).toBe(served.input)
  expect(finished.reduce((sum, { usage }) => sum + (usage?.output ?? 0), 0)).toBe(served.output)
  for (const { outcome, basis, usage } of ledger.records)
    if (outcome !== 'finished')
      expect(usage === undefined ? basis : ['reported', 'partial'].includes(basis ?? '')).toBe(
        usage === undefined ? undefined : true,
      )

  // The counts of limits and budgets agree with the records.
  const counted: string[] = []
  for (const [at, id] of ids.entries()) {
    const own = ledger.records.filter(({ token }) => token === id)
    const sum = (of: (record: (typeof own)[number]) => number): number =>
      own.reduce((all, record) => all + of(record), 0)
    const usage = await tokens.usage(id)
    expect(usage.totals.inputTokens).toBe(sum(({ usage }) => usage?.input ?? 0))
    expect(usage.totals.outputTokens).toBe(sum(({ usage }) => usage?.output ?? 0))
    expect(usage.totals.cost).toBeCloseTo(
      sum(({ cost }) => cost ?? 0),
      9,
    )
    for (const { of, used } of [...usage.limits, ...usage.budgets]) {
      if (of === 'concurrent') expect(used).toBe(0)
      if (of === 'money') expect(used).toBeCloseTo(usage.totals.cost ?? 0, 9)
      if (of === 'tokens' && at === 2) expect(used).toBe(usage.totals.inputTokens + usage.totals.outputTokens)
      counted.push(of)
    }
  }
  expect(counted.sort()).toEqual(['concurrent', 'concurrent', 'money', 'requests', 'requests', 'tokens', 'tokens'])
  console.log(
    `${total} calls, ${exitNames.length} kinds of outcomes and rejections: ${ledger.records.length} settlements, ${refused.length} not authenticated`,
  )
  expect(world.logged).toEqual([])
  await tokens.close()
})
