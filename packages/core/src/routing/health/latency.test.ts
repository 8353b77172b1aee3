import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createLatencies } from './latency.ts'

beforeEach(() => void vi.useFakeTimers({ now: 1_000_000 }))
afterEach(() => void vi.useRealTimers())

describe('the latency of a target', () => {
  it('is the first measurement, and then moves a fifth of the way towards each other', () => {
    const latencies = createLatencies()
    const means = [100, 200, 200, 20].map((ms) => {
      latencies.note('a', true, ms)
      return latencies.expect('a', true)
    })
    expect(means).toEqual([100, 120, 136, expect.closeTo(112.8)])
  })

  it('is known apart for streams and whole answers, and for each target', () => {
    const latencies = createLatencies()
    latencies.note('a', true, 100)
    latencies.note('a', false, 900)
    expect([latencies.look('a', true), latencies.look('a', false), latencies.look('b', true)]).toEqual([100, 900, -1])
  })

  it.each([
    ['that nobody has measured', undefined, Number.POSITIVE_INFINITY],
    ['that was measured a minute ago', 100, 100],
  ])('%s is to be found out by one call; others hear of what is known', (_, known, meanwhile) => {
    const latencies = createLatencies()
    if (known !== undefined) latencies.note('a', true, known)
    vi.advanceTimersByTime(60_000)
    expect(latencies.look('a', true)).toBe(-1)
    expect([latencies.expect('a', true), latencies.expect('a', true)]).toEqual([-1, meanwhile])
    expect(latencies.look('a', true)).toBe(meanwhile)
    vi.advanceTimersByTime(60_000)
    expect(latencies.expect('a', true)).toBe(-1)
  })

  it.each([59_999, 60_000])('is replaced by a measurement after a minute, not mixed with it (%i ms)', (ms) => {
    const latencies = createLatencies()
    latencies.note('a', true, 10_000)
    vi.advanceTimersByTime(ms)
    latencies.expect('a', true)
    latencies.note('a', true, 100)
    expect(latencies.look('a', true)).toBe(ms < 60_000 ? 8020 : 100)
  })

  it('that was asked for and never measured is replaced by the first measurement', () => {
    const latencies = createLatencies()
    latencies.expect('a', true)
    latencies.note('a', true, 50)
    expect(latencies.expect('a', true)).toBe(50)
  })

  it('does not fill the memory when clients name the models', () => {
    const latencies = createLatencies()
    latencies.note('first', true, 5)
    for (let at = 0; at < 10_000; at++) latencies.note(`m${at}`, true, 5)
    expect([latencies.look('first', true), latencies.look('m9999', true)]).toEqual([-1, 5])
  })
})
