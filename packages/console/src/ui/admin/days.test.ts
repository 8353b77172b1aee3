import { describe, expect, it } from 'vitest'
import { addUp, rangeOf, sumsByDay } from './days.ts'

const now = Date.parse('2026-11-24T23:59:00Z')
const calls = (count: number, more: object = {}) => ({
  calls: count,
  inputTokens: 10 * count,
  outputTokens: count,
  cost: 0.5 * count,
  unpriced: 0,
  ...more,
})

describe('the days of a preset', () => {
  it.each([
    ['today', '2026-11-24'],
    ['7', '2026-11-18'],
    ['30', '2026-10-26'],
    ['month', '2026-11-01'],
  ] as const)('%s begin on %s and end today, in UTC', (preset, from) => {
    expect(rangeOf(preset, now)).toEqual({ from, to: '2026-11-24' })
  })
})

describe('sums', () => {
  it('count failed calls only if a row has them', () => {
    expect(addUp([calls(1), calls(2, { cachedTokens: 4 })])).toEqual({ ...calls(3), cachedTokens: 4 })
    expect(addUp([calls(1), calls(2, { failed: 1 })]).failed).toBe(1)
  })

  it('exist for each day of a range, also for days without calls', () => {
    const rows = [
      { ...calls(1), day: '2026-02-28' },
      { ...calls(2), day: '2026-03-01' },
      { ...calls(3), day: '2026-02-28' },
    ]
    const sums = sumsByDay(rows, { from: '2026-02-27', to: '2026-03-01' })
    expect(sums.map(({ day, calls }) => [day, calls])).toEqual([
      ['2026-02-27', 0],
      ['2026-02-28', 4],
      ['2026-03-01', 2],
    ])
  })

  it('have no days if the range is invalid', () => {
    expect(sumsByDay([], { from: '2026-03-01', to: '2026-02-01' })).toEqual([])
  })
})
