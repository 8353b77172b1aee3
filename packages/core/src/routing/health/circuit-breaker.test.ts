import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { type CallOutcome, createCircuitBreaker, type Probe } from './circuit-breaker.ts'
import { createCallerCooldowns, memoryHealthState } from './cooldowns.ts'

beforeEach(() => void vi.useFakeTimers({ now: 1_000_000 }))
afterEach(() => void vi.useRealTimers())

const make = (settings: Parameters<typeof createCircuitBreaker>[0] = {}) => {
  const state = memoryHealthState()
  const breaker = createCircuitBreaker(settings, state, createCallerCooldowns())
  /** `F`: a call that fails; `U`: the upstream itself fails; `s`: a call that succeeds. */
  const calls = (outcomes: string, caller?: string): void => {
    for (const outcome of outcomes) end(breaker.startCall('up/m', caller), outcome, caller)
  }
  const end = (probe: Probe, outcome: string, caller?: string): void => {
    if (outcome === 's') breaker.recordResponse('up/m', caller, probe)
    breaker.recordEnd('up/m', caller, probe, outcomeOf[outcome] ?? 'unknown')
  }
  const open = (caller?: string): boolean => breaker.waitMs('up/m', caller) > 0
  return { state, breaker, calls, end, open }
}

const outcomeOf: Readonly<Record<string, CallOutcome>> = { s: 'ok', F: 'failed', U: 'unavailable' }

describe('a circuit breaker', () => {
  const eight = 'FFs'.repeat(4)
  it.each([
    ['opens after five failures in a row', {}, 'FFFFF', true],
    ['stays closed after four failures', {}, 'FFFF', false],
    ['stays closed after four failures, a success and four failures', {}, 'FFFFsFFFF', false],
    ['opens if half of the last twenty calls fail', {}, `ssssss${eight}FF`, true],
    ['stays closed if half of fewer than twenty calls fail', {}, `sssss${eight}FF`, false],
    ['stays closed if less than half of twenty calls fail', {}, `ssssss${eight}sF`, false],
    ['stays closed if twenty calls have followed the failures', {}, `FFFF${'s'.repeat(20)}FFFF`, false],
    ['opens after the configured number of failures in a row', { failures: 2 }, 'FF', true],
    ['opens at the configured failure rate and window', { failures: 99, failureRate: 0.25, window: 4 }, 'sssF', true],
    ['stays closed if it is disabled', false, 'F'.repeat(50), false],
  ] as const)('%s', (_, settings, outcomes, opens) => {
    const { calls, open } = make(settings)
    calls(outcomes)
    expect(open()).toBe(opens)
  })

  it('opens for one target only, for the configured time, and writes the reason to the shared state', () => {
    const { breaker, calls, state } = make({ restMs: 700 })
    calls('FFFFF')
    expect([breaker.waitMs('up/m'), breaker.waitMs('up/other')]).toEqual([700, 0])
    expect(state.read('up/m')).toEqual({ until: 1_000_700, reason: 'failing' })
    vi.advanceTimersByTime(300)
    expect(breaker.waitMs('up/m')).toBe(400)
  })

  it('opens when another process writes a cooldown', () => {
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

  it('admits a single call as probe after its cooldown', () => {
    const { breaker } = opened()
    expect(breaker.waitMs('up/m')).toBe(0)
    expect(breaker.startCall('up/m')).toBe('all')
    expect(breaker.waitMs('up/m')).toBe(5000)
    // A call that checked before the probe started does not become a second probe.
    expect(breaker.startCall('up/m')).toBe('none')
  })

  it('closes and discards the failures when the probe succeeds', () => {
    const { breaker, calls, open } = opened()
    breaker.recordResponse('up/m', undefined, breaker.startCall('up/m'))
    expect(open()).toBe(false)
    calls('FFFF')
    expect(open()).toBe(false)
    calls('F')
    expect(open()).toBe(true)
  })

  it('starts a new cooldown when the probe fails', () => {
    const { breaker } = opened()
    const probe = breaker.startCall('up/m')
    vi.advanceTimersByTime(2000)
    breaker.recordEnd('up/m', undefined, probe, 'failed')
    expect(breaker.waitMs('up/m')).toBe(5000)
  })

  it('admits another call when the probe never reports a result', () => {
    const { breaker } = opened()
    expect(breaker.startCall('up/m')).toBe('all')
    vi.advanceTimersByTime(5000)
    expect(breaker.startCall('up/m')).toBe('all')
  })

  it.each([
    ['fails', 'F'],
    ['succeeds', 's'],
  ])('is neither prolonged nor closed by an earlier call that %s', (_, outcome) => {
    const { breaker, calls, end } = make()
    const early = breaker.startCall('up/m')
    calls('FFFFF')
    const delayed = breaker.startCall('up/m')
    vi.advanceTimersByTime(3000)
    for (const probe of [early, delayed]) end(probe, outcome)
    expect(breaker.waitMs('up/m')).toBe(2000)
  })
})

describe('the failures of one caller', () => {
  it.each([
    ['five in a row', 'FFFFF'],
    ['half of twenty', `ssssss${'FFs'.repeat(4)}FF`],
    ['five that include failures of the upstream itself', 'FUFUF'],
  ])('open the breaker only for that caller (%s)', (_, outcomes) => {
    const { calls, open, state } = make()
    calls(outcomes, 'ann')
    expect([open('ann'), open('ben'), open('')]).toEqual([true, false, false])
    expect(state.read('up/m')).toBeUndefined()
  })

  it('do not open the breaker for other callers, however many there are', () => {
    const { calls, open } = make()
    for (let round = 0; round < 20; round++) {
      calls('F'.repeat(50), 'ann')
      expect(open('ben')).toBe(false)
      if (round % 5 === 0) calls('s', 'ben')
      vi.advanceTimersByTime(5000)
    }
  })

  it('do not add up to an open breaker with a few failures of others', () => {
    const { calls, open } = make()
    calls('F'.repeat(50), 'ann')
    for (const caller of ['ben', 'cay', 'dan']) calls('FF', caller)
    expect(['ben', 'cay', 'dan', 'eve'].filter(open)).toEqual([])
  })

  it('are discarded when the probe of that caller succeeds', () => {
    const { calls, open } = make()
    calls('FFFFF', 'ann')
    vi.advanceTimersByTime(5000)
    calls('s', 'ann')
    expect(open('ann')).toBe(false)
    calls('FFFF', 'ann')
    expect(open('ann')).toBe(false)
  })

  it('allow a probe of that caller after the cooldown, which starts again when the probe fails', () => {
    const { breaker, calls, end, open } = make()
    calls('FFFFF', 'ann')
    vi.advanceTimersByTime(5000)
    const probe = breaker.startCall('up/m', 'ann')
    expect([probe, breaker.startCall('up/m', 'ann')]).toEqual(['caller', 'none'])
    expect(open('ann')).toBe(true)
    vi.advanceTimersByTime(1000)
    end(probe, 'F', 'ann')
    expect(breaker.waitMs('up/m', 'ann')).toBe(5000)
  })
})

describe('a circuit breaker for all callers', () => {
  const five = ['ann', 'ben', 'cay', 'dan', 'eve']

  it('opens when as many callers as `failures` fail in a row', () => {
    const { calls, open, state } = make()
    for (const caller of five) {
      expect(open('fay')).toBe(false)
      calls('F', caller)
    }
    expect(open('fay')).toBe(true)
    expect(state.read('up/m')).toEqual({ until: 1_005_000, reason: 'failing' })
  })

  it('opens when enough callers make up the share of failures in the window', () => {
    const { calls, open } = make({ failures: 99, window: 4 })
    calls('Fs', 'ann')
    calls('s', 'ben')
    calls('F', 'ann')
    expect(open('eve')).toBe(false)
    calls('F', 'ben')
    expect(open('eve')).toBe(true)
  })

  it('opens when the upstream itself fails, in calls of any caller', () => {
    const { calls, open } = make()
    calls('s', 'ben')
    calls('UUUUU', 'ann')
    expect([open('ann'), open('ben')]).toEqual([true, true])
  })

  it('stays closed when a call of any caller succeeds in between', () => {
    const { calls, open } = make()
    for (const caller of five.slice(0, 4)) calls('F', caller)
    calls('s', 'fay')
    calls('F', 'eve')
    expect(open('fay')).toBe(false)
  })

  const opened = () => {
    const all = make()
    all.calls('UUUUU', 'ann')
    vi.advanceTimersByTime(5000)
    return all
  }

  it('closes for all callers when one call succeeds', () => {
    const { calls, open } = opened()
    calls('s', 'ben')
    expect(five.filter(open)).toEqual([])
  })

  it('assigns the next probe to another caller when a probe fails because of its request', () => {
    const { breaker, calls, open } = opened()
    calls('F', 'mallory')
    expect([open('mallory'), open('ben')]).toEqual([true, false])
    expect(breaker.startCall('up/m', 'ben')).toBe('all')
    breaker.recordResponse('up/m', 'ben', 'all')
    expect(open('cay')).toBe(false)
  })

  it('assigns the next probe to another caller when the client of a probe disconnects', () => {
    const { breaker, end, open } = opened()
    end(breaker.startCall('up/m', 'mallory'), 'left', 'mallory')
    expect([open('mallory'), open('ben')]).toEqual([true, false])
  })

  it('does not choose the same caller again after a probe without a result', () => {
    const { breaker, open } = opened()
    expect(breaker.startCall('up/m', 'mallory')).toBe('all')
    expect(open('ben')).toBe(true)
    vi.advanceTimersByTime(5000)
    expect([open('mallory'), open('ben')]).toEqual([true, false])
  })

  it('opens again when the probes of enough callers fail, or the upstream itself fails', () => {
    const byCallers = opened()
    for (const caller of five) {
      expect(byCallers.open('fay')).toBe(false)
      byCallers.calls('F', caller)
    }
    expect(byCallers.open('fay')).toBe(true)
    const byUpstream = opened()
    byUpstream.calls('U', 'ben')
    expect(byUpstream.open('fay')).toBe(true)
  })
})

it.each([
  [5000, true],
  [10_000, false],
])(
  'stores at most 10,000 callers and targets: after %i others, a caller’s failures still count: %s',
  (others, counts) => {
    const { breaker, calls, open } = make()
    calls('FFFF', 'ann')
    for (let number = 0; number < others; number++) {
      const [id, caller] = [`up/${number % 100}`, `caller ${number}`]
      breaker.recordEnd(id, caller, breaker.startCall(id, caller), 'failed')
    }
    calls('F', 'ann')
    expect(open('ann')).toBe(counts)
  },
)
