import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { type ErrorKind, errorKinds } from '../../base/error-kinds.ts'
import { GatewayError } from '../../base/errors.ts'
import { openaiCompatible } from '../../upstreams/openai-compatible.ts'
import type { ApiKey } from '../../upstreams/upstream.ts'
import { defaultRetry } from '../retry-policy.ts'
import type { ResolvedTarget } from '../router.ts'
import { createHealth } from './health.ts'
import { memoryHealthState } from './memory-state.ts'

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
  'timeout',
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
  it.each(Object.keys(errorKinds) as ErrorKind[])('%s counts against the target if it is the target’s', (kind) => {
    const health = createHealth({ failures: 1 })
    const target = targetOf()
    health.enter(target, undefined).over(failure(kind))
    expect(health.standing(target).state).toBe(faults.includes(kind) ? 'failing' : 'ready')
  })

  it.each([
    ['rate_limited', { state: 'ready', waitMs: 0 }, 1],
    ['quota_exceeded', { state: 'ready', waitMs: 0 }, 1],
    ['upstream_auth', { state: 'ready', waitMs: 0 }, 1],
    ['overloaded', { state: 'ready', waitMs: 0 }, 0],
  ] as const)('%s is about the key if it is the key’s', (kind, standing, next) => {
    const health = createHealth(undefined)
    const target = targetOf(['one', 'two'])
    const ticket = health.enter(target, undefined)
    expect(ticket.key).toBe(0)
    ticket.over(failure(kind))
    expect(health.standing(target)).toEqual(standing)
    const after = [1, 2, 3, 4].map(() => health.enter(target, undefined).key)
    expect(new Set(after)).toEqual(new Set(next === 1 ? [1] : [0, 1]))
  })

  it.each([
    ['rate_limited', { state: 'limited', waitMs: 2500 }],
    ['quota_exceeded', { state: 'doubtful', waitMs: 0 }],
    ['upstream_auth', { state: 'doubtful', waitMs: 0 }],
  ] as const)('%s of the sole credential, for a stated time', (kind, standing) => {
    const health = createHealth(undefined)
    const target = targetOf()
    health.enter(target, undefined).over(failure(kind), 2500)
    expect(health.standing(target)).toEqual(standing)
    vi.advanceTimersByTime(2500)
    expect(health.standing(target)).toEqual({ state: 'ready', waitMs: 0 })
  })

  it('is told once, however often it is said', () => {
    const health = createHealth({ failures: 2 })
    const target = targetOf()
    const ticket = health.enter(target, undefined)
    ticket.over(failure('overloaded'))
    ticket.over(failure('overloaded'))
    expect(health.standing(target).state).toBe('ready')
  })
})

describe('the call that shows whether a failing target is back', () => {
  const opened = () => {
    const health = createHealth({ failures: 1 })
    const target = targetOf()
    health.enter(target, undefined).over(failure('overloaded'))
    vi.advanceTimersByTime(5000)
    return { health, target, probe: health.enter(target, undefined), state: () => health.standing(target).state }
  }

  it.each([
    ['answers', undefined, 'ready'],
    ['refuses the request', 'invalid_request', 'ready'],
    ['is limited', 'rate_limited', 'ready'],
    ['fails', 'upstream_error', 'failing'],
    ['has found out nothing, for it was cancelled', 'cancelled', 'failing'],
  ] as const)('%s', (_, kind, state) => {
    const { probe, state: now } = opened()
    expect(now()).toBe('failing')
    probe.over(kind === undefined ? undefined : failure(kind))
    expect(now()).toBe(state)
  })

  it('has done so with its first event: how it ends later decides nothing', () => {
    const { health, target, probe, state } = opened()
    probe.answered(20, true)
    expect(state()).toBe('ready')
    health.enter(target, undefined).over(failure('overloaded'))
    expect(state()).toBe('failing')
    probe.over(undefined)
    expect(state()).toBe('failing')
  })
})

it('notes how fast an answer was', () => {
  const health = createHealth(undefined)
  health.enter(targetOf(), undefined).answered(42, true)
  expect([health.latencies.look('up/m', true), health.latencies.look('up/m', false)]).toEqual([42, -1])
})

it('gives each upstream a budget of retries of its own', () => {
  const health = createHealth(undefined)
  const take = (name: string): boolean => health.takeRetry(targetOf('only', name), defaultRetry)
  expect([take('a'), take('a'), take('a'), take('a'), take('b')]).toEqual([true, true, true, false, true])
})

it('knows through a shared state what another process found out', () => {
  const shared = memoryHealthState()
  const [here, there] = [createHealth({ failures: 1 }, shared), createHealth(undefined, shared)]
  const target = targetOf()
  here.enter(target, undefined).over(failure('upstream_unreachable'))
  expect(there.standing(target)).toEqual({ state: 'failing', waitMs: 5000 })
})

describe('with callers that can be told apart', () => {
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
    ['an answer that cannot be read', failure('upstream_bad_response'), false],
    ['an answer that breaks off', failure('upstream_truncated'), false],
    ['a connection that is reset', caused('ECONNRESET'), false],
    ['a refused connection', caused('ECONNREFUSED'), true],
    ['a name that does not resolve', caused('ENOTFOUND'), true],
    ['a certificate that is not accepted', caused('DEPTH_ZERO_SELF_SIGNED_CERT'), true],
    ['a connection that is not made in time', failure('upstream_connect_timeout'), true],
    ['an answer that does not begin in time', failure('upstream_timeout'), true],
  ])('%s keeps its own caller away after five; all callers: %s', (_, error, forAll) => {
    const health = createHealth(undefined)
    const target = targetOf()
    for (let call = 0; call < 5; call++) health.enter(target, undefined, ann).over(error)
    expect(health.standing(target, ann).state).toBe('failing')
    expect(health.standing(target, ben).state).toBe(forAll ? 'failing' : 'ready')
  })

  it('those without an id are one caller', () => {
    const health = createHealth(undefined)
    const target = targetOf()
    const nameless = [{}, {}, {}, {}, {}] as unknown as (typeof ann)[]
    for (const identity of nameless) health.enter(target, undefined, identity).over(failure('upstream_error'))
    expect(health.standing(target, nameless[0]).state).toBe('failing')
    expect(health.standing(target, ann).state).toBe('ready')
  })

  it.each([
    ['a refusal of the model', stated('upstream_auth', 403), false],
    ['a refusal of the key', stated('upstream_auth', 401), true],
    ['a quota without a time', failure('quota_exceeded'), true],
    ['a rate limit without a time', failure('rate_limited'), true],
  ])('%s rests the key for its caller, and for all once a second caller has met it: %3$s', (_, error, forAll) => {
    const health = createHealth(undefined)
    const target = targetOf(['one', 'two'])
    const keysOf = (identity: typeof ann): Set<number | undefined> =>
      new Set([1, 2, 3, 4].map(() => health.enter(target, undefined, identity).key))
    const meet = (identity: typeof ann): void => {
      let ticket = health.enter(target, undefined, identity)
      while (ticket.key !== 0) ticket = health.enter(target, undefined, identity)
      ticket.over(error)
    }
    meet(ann)
    expect([keysOf(ann), keysOf(ben)]).toEqual([new Set([1]), new Set([0, 1])])
    meet(ben)
    expect(keysOf({ id: 'cay' })).toEqual(new Set(forAll ? [1] : [0, 1]))
  })

  it('a limit with a stated time rests the key for all at once: they share it', () => {
    const health = createHealth(undefined)
    const target = targetOf()
    health.enter(target, undefined, ann).over(failure('rate_limited'), 2500)
    expect(health.standing(target, ben)).toEqual({ state: 'limited', waitMs: 2500 })
  })

  it('one of them cannot use up the retries of the others', () => {
    const health = createHealth(undefined)
    const target = targetOf()
    const take = (identity: typeof ann): boolean => health.takeRetry(target, defaultRetry, identity)
    health.enter(target, undefined, ann)
    expect([take(ann), take(ann), take(ann), take(ann)]).toEqual([true, true, true, false])
    health.enter(target, undefined, ben)
    expect([take(ann), take(ben)]).toEqual([false, true])
  })
})
