import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { type ErrorKind, errorKinds } from '../../base/error-kinds.ts'
import { GatewayError } from '../../base/errors.ts'
import { openaiCompatible } from '../../upstreams/openai-compatible.ts'
import type { ApiKey } from '../../upstreams/upstream.ts'
import { defaultRetry } from '../retry-policy.ts'
import type { ResolvedTarget } from '../router.ts'
import { memoryHealthState } from './cooldowns.ts'
import { createHealth, createLatencies, createRetryBudget } from './health.ts'

beforeEach(() => void vi.useFakeTimers({ now: 1_000_000 }))
afterEach(() => void vi.useRealTimers())

const targetOf = (apiKey: ApiKey = 'only', upstreamName = 'up'): ResolvedTarget => ({
  id: `${upstreamName}/m`,
  upstreamName,
  upstream: openaiCompatible({ baseURL: 'http://up.test/v1', apiKey }),
  model: 'm',
  priority: 0,
  weight: 1,
})
const failure = (kind: ErrorKind): GatewayError => new GatewayError(kind, 'It failed.')

const faults: readonly string[] = [
  'overloaded',
  'upstream_auth',
  'upstream_error',
  'upstream_bad_response',
  'upstream_truncated',
  'upstream_unreachable',
  'upstream_timeout',
  'upstream_connect_timeout',
  'upstream_idle_timeout',
  'upstream_total_timeout',
]

describe('a failure', () => {
  it.each(Object.keys(errorKinds) as ErrorKind[])(
    'of kind %s counts against the target if the target caused it',
    (kind) => {
      const health = createHealth({ failures: 1 })
      const target = targetOf()
      health.startAttempt(target, undefined).end(failure(kind))
      expect(health.availability(target).state).toBe(faults.includes(kind) ? 'failing' : 'ready')
    },
  )

  it.each([
    ['rate_limited', { state: 'ready', waitMs: 0 }, 1],
    ['quota_exceeded', { state: 'ready', waitMs: 0 }, 1],
    ['upstream_auth', { state: 'ready', waitMs: 0 }, 1],
    ['overloaded', { state: 'ready', waitMs: 0 }, 0],
  ] as const)('of kind %s starts a cooldown of the key if the key caused it', (kind, standing, next) => {
    const health = createHealth(undefined)
    const target = targetOf(['one', 'two'])
    const ticket = health.startAttempt(target, undefined)
    expect(ticket.key).toBe(0)
    ticket.end(failure(kind))
    expect(health.availability(target)).toEqual(standing)
    const after = [1, 2, 3, 4].map(() => health.startAttempt(target, undefined).key)
    expect(new Set(after)).toEqual(new Set(next === 1 ? [1] : [0, 1]))
  })

  it.each([
    ['rate_limited', { state: 'limited', waitMs: 2500 }],
    ['quota_exceeded', { state: 'doubtful', waitMs: 0 }],
    ['upstream_auth', { state: 'doubtful', waitMs: 0 }],
  ] as const)('of kind %s limits the sole credential for the stated time', (kind, standing) => {
    const health = createHealth(undefined)
    const target = targetOf()
    health.startAttempt(target, undefined).end(failure(kind), 2500)
    expect(health.availability(target)).toEqual(standing)
    vi.advanceTimersByTime(2500)
    expect(health.availability(target)).toEqual({ state: 'ready', waitMs: 0 })
  })

  it('is recorded once even if it is reported repeatedly', () => {
    const health = createHealth({ failures: 2 })
    const target = targetOf()
    const ticket = health.startAttempt(target, undefined)
    ticket.end(failure('overloaded'))
    ticket.end(failure('overloaded'))
    expect(health.availability(target).state).toBe('ready')
  })
})

describe('the probe of a failing target', () => {
  const opened = () => {
    const health = createHealth({ failures: 1 })
    const target = targetOf()
    health.startAttempt(target, undefined).end(failure('overloaded'))
    vi.advanceTimersByTime(5000)
    return {
      health,
      target,
      probe: health.startAttempt(target, undefined),
      state: () => health.availability(target).state,
    }
  }

  it.each([
    ['closes the breaker if it succeeds', undefined, 'ready'],
    ['closes the breaker if the upstream rejects the request', 'invalid_request', 'ready'],
    ['closes the breaker if it is rate limited', 'rate_limited', 'ready'],
    ['keeps the breaker open if it fails', 'upstream_error', 'failing'],
    ['keeps the breaker open if it is cancelled', 'cancelled', 'failing'],
  ] as const)('%s', (_, kind, state) => {
    const { probe, state: now } = opened()
    expect(now()).toBe('failing')
    probe.end(kind === undefined ? undefined : failure(kind))
    expect(now()).toBe(state)
  })

  it('closes the breaker with its first event, regardless of its later result', () => {
    const { health, target, probe, state } = opened()
    probe.responseBegan(20, true)
    expect(state()).toBe('ready')
    health.startAttempt(target, undefined).end(failure('overloaded'))
    expect(state()).toBe('failing')
    probe.end(undefined)
    expect(state()).toBe('failing')
  })
})

it('records the latency of a response', () => {
  const health = createHealth(undefined)
  health.startAttempt(targetOf(), undefined).responseBegan(42, true)
  expect([health.latencies.expectedMs('up/m', true), health.latencies.expectedMs('up/m', false)]).toEqual([42, -1])
})

it('gives each upstream its own retry budget', () => {
  const health = createHealth(undefined)
  const take = (name: string): boolean => health.spendRetry(targetOf('only', name), defaultRetry)
  expect([take('a'), take('a'), take('a'), take('a'), take('b')]).toEqual([true, true, true, false, true])
})

it('applies the findings of another process through a shared state', () => {
  const shared = memoryHealthState()
  const [here, there] = [createHealth({ failures: 1 }, shared), createHealth(undefined, shared)]
  const target = targetOf()
  here.startAttempt(target, undefined).end(failure('upstream_unreachable'))
  expect(there.availability(target)).toEqual({ state: 'failing', waitMs: 5000 })
})

describe('the health of a target with several callers', () => {
  const ann = { id: 'ann' }
  const ben = { id: 'ben' }
  const caused = (code: string): GatewayError =>
    new GatewayError('upstream_unreachable', 'It failed.', {
      cause: Object.assign(new Error('fetch failed'), { code }),
    })
  const stated = (kind: ErrorKind, status: number): GatewayError =>
    new GatewayError(kind, 'It failed.', { hints: { status } })

  it.each([
    ['a 500 of the upstream', stated('upstream_error', 500), false],
    ['a 403 of the upstream', stated('upstream_auth', 403), false],
    ['a 504 of the upstream', stated('upstream_timeout', 504), false],
    ['an unreadable response', failure('upstream_bad_response'), false],
    ['a truncated response', failure('upstream_truncated'), false],
    ['a reset connection', caused('ECONNRESET'), false],
    ['a refused connection', caused('ECONNREFUSED'), true],
    ['an unresolvable name', caused('ENOTFOUND'), true],
    ['a rejected certificate', caused('DEPTH_ZERO_SELF_SIGNED_CERT'), true],
    ['a connection timeout', failure('upstream_connect_timeout'), true],
    ['a response timeout', failure('upstream_timeout'), true],
  ])('excludes the caller after five failures by %s; excludes all callers: %s', (_, error, forAll) => {
    const health = createHealth(undefined)
    const target = targetOf()
    for (let call = 0; call < 5; call++) health.startAttempt(target, undefined, ann).end(error)
    expect(health.availability(target, ann).state).toBe('failing')
    expect(health.availability(target, ben).state).toBe(forAll ? 'failing' : 'ready')
  })

  it('treats callers without an id as one caller', () => {
    const health = createHealth(undefined)
    const target = targetOf()
    const nameless = [{}, {}, {}, {}, {}] as unknown as (typeof ann)[]
    for (const identity of nameless) health.startAttempt(target, undefined, identity).end(failure('upstream_error'))
    expect(health.availability(target, nameless[0]).state).toBe('failing')
    expect(health.availability(target, ann).state).toBe('ready')
  })

  it.each([
    ['a rejection of the model', stated('upstream_auth', 403), false],
    ['a rejection of the key', stated('upstream_auth', 401), true],
    ['a quota without a time', failure('quota_exceeded'), true],
    ['a rate limit without a time', failure('rate_limited'), true],
  ])(
    'starts for %s a cooldown of the key for its caller, and for all callers after a second failure: %3$s',
    (_, error, forAll) => {
      const health = createHealth(undefined)
      const target = targetOf(['one', 'two'])
      const keysOf = (identity: typeof ann): Set<number | undefined> =>
        new Set([1, 2, 3, 4].map(() => health.startAttempt(target, undefined, identity).key))
      const meet = (identity: typeof ann): void => {
        let ticket = health.startAttempt(target, undefined, identity)
        while (ticket.key !== 0) ticket = health.startAttempt(target, undefined, identity)
        ticket.end(error)
      }
      meet(ann)
      expect([keysOf(ann), keysOf(ben)]).toEqual([new Set([1]), new Set([0, 1])])
      meet(ben)
      expect(keysOf({ id: 'cay' })).toEqual(new Set(forAll ? [1] : [0, 1]))
    },
  )

  it('starts a cooldown of the shared key for all callers after a rate limit with a stated time', () => {
    const health = createHealth(undefined)
    const target = targetOf()
    health.startAttempt(target, undefined, ann).end(failure('rate_limited'), 2500)
    expect(health.availability(target, ben)).toEqual({ state: 'limited', waitMs: 2500 })
  })

  it('reserves retries for other callers when one caller uses up its own', () => {
    const health = createHealth(undefined)
    const target = targetOf()
    const take = (identity: typeof ann): boolean => health.spendRetry(target, defaultRetry, identity)
    health.startAttempt(target, undefined, ann)
    expect([take(ann), take(ann), take(ann), take(ann)]).toEqual([true, true, true, false])
    health.startAttempt(target, undefined, ben)
    expect([take(ann), take(ben)]).toEqual([false, true])
  })
})

beforeEach(() => void vi.useFakeTimers({ now: 1_000_000 }))
afterEach(() => void vi.useRealTimers())

const settings = { budgetRatio: 0.2, budgetFloor: 3 }

/** Returns the number of retries that a budget allows after this number of calls. Each retry is also a call. */
function retriesAfter(calls: number, wish = settings): number {
  const budget = createRetryBudget()
  for (let call = 0; call < calls; call++) budget.recordCall()
  let used = 0
  while (used < 1000 && budget.spend(wish)) {
    budget.recordCall()
    used++
  }
  return used
}

it.each([
  [0, settings, 3],
  [1, settings, 3],
  [19, settings, 3],
  [20, settings, 4],
  [100, settings, 20],
  [500, settings, 100],
  [100, { budgetRatio: 0, budgetFloor: 3 }, 3],
  [100, { budgetRatio: 0, budgetFloor: 0 }, 0],
  [10, { budgetRatio: 1, budgetFloor: 0 }, 10],
])('allows after %i calls with the settings %o %i retries', (calls, wish, retries) =>
  expect(retriesAfter(calls, wish)).toBe(retries),
)

it('counts the calls of the last ten seconds for the retry budget', () => {
  const budget = createRetryBudget()
  const countTaken = (): number => {
    let count = 0
    for (; budget.spend(settings); count++) budget.recordCall()
    return count
  }
  for (let call = 0; call < 100; call++) budget.recordCall()
  expect(countTaken()).toBe(20)
  vi.advanceTimersByTime(9000)
  expect(countTaken()).toBe(0)
  vi.advanceTimersByTime(1000)
  expect(countTaken()).toBe(3)
  // A slot is reset before it is reused.
  vi.advanceTimersByTime(10_000)
  expect(countTaken()).toBe(3)
})

it('gives one of several callers at most half of the retry budget without increasing the total', () => {
  const budget = createRetryBudget()
  for (let call = 0; call < 90; call++) budget.recordCall('ann')
  for (let call = 0; call < 10; call++) budget.recordCall('ben')
  const countTaken = (caller: string): number => {
    let count = 0
    for (; budget.spend(settings, caller); count++) budget.recordCall(caller)
    return count
  }
  expect([countTaken('ann'), countTaken('ben'), countTaken('ann')]).toEqual([10, 10, 0])
})

beforeEach(() => void vi.useFakeTimers({ now: 1_000_000 }))
afterEach(() => void vi.useRealTimers())

describe('the latency of a target', () => {
  it('starts at the first measurement and moves a fifth of the way towards each later one', () => {
    const latencies = createLatencies()
    const means = [100, 200, 200, 20].map((ms) => {
      latencies.record('a', true, ms)
      return latencies.claimMeasurement('a', true)
    })
    expect(means).toEqual([100, 120, 136, expect.closeTo(112.8)])
  })

  it('is measured separately for streams and whole responses, and for each target', () => {
    const latencies = createLatencies()
    latencies.record('a', true, 100)
    latencies.record('a', false, 900)
    expect([
      latencies.expectedMs('a', true),
      latencies.expectedMs('a', false),
      latencies.expectedMs('b', true),
    ]).toEqual([100, 900, -1])
  })

  it.each([
    ['that was never measured', undefined, Number.POSITIVE_INFINITY],
    ['that was measured a minute ago', 100, 100],
  ])('%s is measured by one call while other calls use the known value', (_, known, meanwhile) => {
    const latencies = createLatencies()
    if (known !== undefined) latencies.record('a', true, known)
    vi.advanceTimersByTime(60_000)
    expect(latencies.expectedMs('a', true)).toBe(-1)
    expect([latencies.claimMeasurement('a', true), latencies.claimMeasurement('a', true)]).toEqual([-1, meanwhile])
    expect(latencies.expectedMs('a', true)).toBe(meanwhile)
    vi.advanceTimersByTime(60_000)
    expect(latencies.claimMeasurement('a', true)).toBe(-1)
  })

  it.each([59_999, 60_000])('is replaced by a measurement after a minute, not mixed with it (%i ms)', (ms) => {
    const latencies = createLatencies()
    latencies.record('a', true, 10_000)
    vi.advanceTimersByTime(ms)
    latencies.claimMeasurement('a', true)
    latencies.record('a', true, 100)
    expect(latencies.expectedMs('a', true)).toBe(ms < 60_000 ? 8020 : 100)
  })

  it('that was claimed but never measured is replaced by the first measurement', () => {
    const latencies = createLatencies()
    latencies.claimMeasurement('a', true)
    latencies.record('a', true, 50)
    expect(latencies.claimMeasurement('a', true)).toBe(50)
  })

  it('is stored for a limited number of models, because clients choose the names', () => {
    const latencies = createLatencies()
    latencies.record('first', true, 5)
    for (let at = 0; at < 10_000; at++) latencies.record(`m${at}`, true, 5)
    expect([latencies.expectedMs('first', true), latencies.expectedMs('m9999', true)]).toEqual([-1, 5])
  })
})
