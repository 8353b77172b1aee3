import { describe, expect, it } from 'vitest'
import type { Meter } from './meter-store.ts'
import type { Counted } from './redis-counts.ts'
import { stateOf, waitOf } from './redis-counts.ts'

const counted = (meter: Partial<Meter>, rest: Omit<Counted, 'meter'>): Counted => ({
  meter: { kind: 'window', windowMs: 1000, name: 'm', limit: 10, amount: 1, ...meter } as Meter,
  ...rest,
})

describe('a sliding window', () => {
  it.each([
    // now, taken, before: used
    [5000, 3, 10, 13],
    [5250, 3, 10, 11],
    [5999, 3, 10, 4],
    [5500, 0, 0, 0],
  ])('at %i with %i taken and %i before is full by %i', (now, taken, before, used) => {
    expect(stateOf(counted({}, { now, taken, before }))).toEqual({ name: 'm', limit: 10, used, resetsAt: 6000 })
  })

  it.each([
    ['the one before shrinks', { amount: 1 }, 5000, 3, 10, 400],
    ['more of it shrinks', { amount: 6 }, 5500, 3, 10, 400],
    ['the running one shrinks in its turn', { amount: 5 }, 5000, 10, 0, 1500],
    ['all of it is gone', { amount: 10 }, 5200, 4, 0, 1800],
    ['never: it is larger than the limit', { amount: 11 }, 5200, 4, 0, undefined],
  ])('has room again when %s', (_, meter, now, taken, before, wait) => {
    expect(waitOf(counted(meter, { now, taken, before }))).toBe(wait)
  })

  it('has room after the wait, and not a moment before', () => {
    const room = (meter: Meter, at: number, taken: number, before: number): boolean => {
      const [start, asked] = [5000, Math.floor(at / 1000) * 1000]
      const now =
        asked === start
          ? { taken, before }
          : asked === start + 1000
            ? { taken: 0, before: taken }
            : { taken: 0, before: 0 }
      return stateOf({ meter, now: at, ...now }).used + meter.amount <= meter.limit
    }
    let checked = 0
    for (let taken = 0; taken <= 12; taken++) {
      for (let before = 0; before <= 12; before++) {
        for (let amount = 0; amount <= 10; amount++) {
          const all = counted({ amount }, { now: 5137, taken, before })
          if (room(all.meter, all.now, taken, before)) continue
          const wait = waitOf(all) ?? Number.NaN
          expect(room(all.meter, all.now + wait, taken, before), `${taken} ${before} ${amount}`).toBe(true)
          expect(room(all.meter, all.now + wait - 1, taken, before), `${taken} ${before} ${amount}`).toBe(false)
          checked++
        }
      }
    }
    expect(checked).toBeGreaterThan(500)
  })
})

describe('a period', () => {
  it('has room again at its end', () => {
    const now = Date.parse('2026-11-21T11:00:00Z')
    const all = counted({ kind: 'period', period: 'day' }, { now, taken: 10, before: 0 })
    expect(stateOf(all)).toEqual({ name: 'm', limit: 10, used: 10, resetsAt: now + 13 * 3_600_000 })
    expect(waitOf(all)).toBe(13 * 3_600_000)
  })

  it('that is the total has no end', () => {
    const all = counted({ kind: 'period', period: 'total' }, { now: 5000, taken: 10, before: 0 })
    expect(stateOf(all)).toEqual({ name: 'm', limit: 10, used: 10 })
    expect(waitOf(all)).toBeUndefined()
  })
})

it('how long calls run is not known', () => {
  const all = counted({ kind: 'concurrent' }, { now: 5000, taken: 10, before: 0 })
  expect([stateOf(all), waitOf(all)]).toEqual([{ name: 'm', limit: 10, used: 10 }, undefined])
})
