import { expect, it } from 'vitest'
import { sumBy, total } from './usage-sums.ts'

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

it('adds rows up, by day, by model and in all; money exactly', () => {
  expect(sumBy(rows, ({ day }) => day).map(([day, { calls, cost }]) => [day, calls, cost])).toEqual([
    ['2026-11-20', 1, 0.1],
    ['2026-11-21', 6, 0.200000001],
  ])
  expect(sumBy(rows, ({ model }) => model).map(([model, { calls, cost }]) => [model, calls, cost])).toEqual([
    ['claude', 2, 0.2],
    ['gpt-5', 5, 0.100000001],
  ])
  expect(total(rows)).toEqual({
    calls: 7,
    inputTokens: 70,
    cachedTokens: 7,
    outputTokens: 14,
    cost: 0.300000001,
    unpriced: 0,
  })
})

it('is nothing where there is nothing', () => {
  expect(sumBy([], () => 'x')).toEqual([])
  expect(total([])).toMatchObject({ calls: 0, cost: 0 })
})
