import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createBreaker } from './breaker.ts'
import { memoryHealthState } from './state.ts'

beforeEach(() => void vi.useFakeTimers({ now: 1_000_000 }))
afterEach(() => void vi.useRealTimers())

const make = (settings: Parameters<typeof createBreaker>[0] = {}) => {
  const state = memoryHealthState()
  const breaker = createBreaker(settings, state)
  /** `F`: a call that fails; `s`: one that succeeds. */
  const calls = (outcomes: string): void => {
    for (const outcome of outcomes) {
      const probe = breaker.enter('up/m')
      if (outcome === 's') breaker.answered('up/m', probe)
      breaker.over('up/m', probe, outcome === 'F')
    }
  }
  return { state, breaker, calls, open: () => breaker.waitMs('up/m') > 0 }
}

describe('a breaker opens', () => {
  const eight = 'FFs'.repeat(4)
  it.each([
    ['after five failures in a row', {}, 'FFFFF', true],
    ['not after four', {}, 'FFFF', false],
    ['not after four, a success, and four', {}, 'FFFFsFFFF', false],
    ['at half of the last twenty', {}, `ssssss${eight}FF`, true],
    ['not at half of fewer than twenty', {}, `sssss${eight}FF`, false],
    ['not at less than half of twenty', {}, `ssssss${eight}sF`, false],
    ['not for failures that twenty calls have followed', {}, `FFFF${'s'.repeat(20)}FFFF`, false],
    ['as configured: in a row', { failures: 2 }, 'FF', true],
    ['as configured: rate and window', { failures: 99, failureRate: 0.25, window: 4 }, 'sssF', true],
    ['never, where it is switched off', false, 'F'.repeat(50), false],
  ] as const)('%s', (_, settings, outcomes, opens) => {
    const { calls, open } = make(settings)
    calls(outcomes)
    expect(open()).toBe(opens)
  })

  it('for one target alone, for the configured time, and says why in the shared state', () => {
    const { breaker, calls, state } = make({ restMs: 700 })
    calls('FFFFF')
    expect([breaker.waitMs('up/m'), breaker.waitMs('up/other')]).toEqual([700, 0])
    expect(state.read('up/m')).toEqual({ until: 1_000_700, reason: 'failing' })
    vi.advanceTimersByTime(300)
    expect(breaker.waitMs('up/m')).toBe(400)
  })

  it('when another process says so', () => {
    const { breaker, state } = make()
    state.write('up/m', { until: Date.now() + 250, reason: 'failing' })
    expect(breaker.waitMs('up/m')).toBe(250)
  })
})

describe('an open breaker', () => {
  const opened = () => {
    const all = make()
    all.calls('FFFFF')
    vi.advanceTimersByTime(5000)
    return all
  }

  it('lets one call through after its rest, and nobody else meanwhile', () => {
    const { breaker } = opened()
    expect(breaker.waitMs('up/m')).toBe(0)
    expect(breaker.enter('up/m')).toBe(true)
    expect(breaker.waitMs('up/m')).toBe(5000)
    // Who had looked before the first one entered is no second one.
    expect(breaker.enter('up/m')).toBe(false)
  })

  it('closes when that call is answered, and has forgotten the failures', () => {
    const { breaker, calls, open } = opened()
    breaker.answered('up/m', breaker.enter('up/m'))
    expect(open()).toBe(false)
    calls('FFFF')
    expect(open()).toBe(false)
    calls('F')
    expect(open()).toBe(true)
  })

  it('rests anew, from then on, when that call fails', () => {
    const { breaker } = opened()
    const probe = breaker.enter('up/m')
    vi.advanceTimersByTime(2000)
    breaker.over('up/m', probe, true)
    expect(breaker.waitMs('up/m')).toBe(5000)
  })

  it('lets another through when that call is never heard of again', () => {
    const { breaker } = opened()
    expect(breaker.enter('up/m')).toBe(true)
    vi.advanceTimersByTime(5000)
    expect(breaker.enter('up/m')).toBe(true)
  })

  it.each([
    ['fails', true],
    ['succeeds', false],
  ])('is neither prolonged nor closed by a call of before that %s', (_, failed) => {
    const { breaker, calls } = make()
    const early = breaker.enter('up/m')
    calls('FFFFF')
    const late = breaker.enter('up/m')
    vi.advanceTimersByTime(3000)
    for (const probe of [early, late]) {
      if (!failed) breaker.answered('up/m', probe)
      breaker.over('up/m', probe, failed)
    }
    expect(breaker.waitMs('up/m')).toBe(2000)
  })
})
