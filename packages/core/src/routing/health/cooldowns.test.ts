import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { ErrorKind } from '../../base/error-kinds.ts'
import { openaiCompatible } from '../../upstreams/openai-compatible.ts'
import type { ApiKey } from '../../upstreams/upstream.ts'
import { createCallerCooldowns, createKeyPool, createOverloadMemory, memoryHealthState } from './cooldowns.ts'

beforeEach(() => void vi.useFakeTimers({ now: 1_000_000 }))
afterEach(() => void vi.useRealTimers())

const rest = (ms: number) => ({ until: Date.now() + ms, reason: 'failing' }) as const

it('returns the cooldown that was written last, and none after it was removed', () => {
  const state = memoryHealthState()
  expect(state.read('up/m')).toBeUndefined()
  state.write('up/m', rest(1))
  state.write('up/m', rest(2))
  expect(state.read('up/m')).toEqual(rest(2))
  state.write('up/m', undefined)
  expect(state.read('up/m')).toBeUndefined()
})

it('still returns a cooldown that has ended, so that the next call becomes the probe', () => {
  const state = memoryHealthState()
  state.write('up/m', rest(5))
  vi.advanceTimersByTime(10)
  expect(state.read('up/m')?.until).toBe(1_000_005)
})

it('removes ended cooldowns first, then the oldest, when there are too many', () => {
  const state = memoryHealthState()
  state.write('lasting', rest(60_000))
  state.write('over', rest(5))
  for (let at = 0; at < 9998; at++) state.write(`m${at}`, rest(60_000))
  vi.advanceTimersByTime(10)
  state.write('one', rest(60_000))
  expect([state.read('over'), state.read('lasting') === undefined]).toEqual([undefined, false])
  state.write('two', rest(60_000))
  const known = ['lasting', 'm0', 'm9997', 'one', 'two'].filter((id) => state.read(id) !== undefined)
  expect(known).toEqual(['m0', 'm9997', 'one', 'two'])
})

beforeEach(() => void vi.useFakeTimers({ now: 1_000_000 }))
afterEach(() => void vi.useRealTimers())

it('stores a cooldown for one caller, also after its end, until it is removed', () => {
  const rests = createCallerCooldowns()
  rests.write('up/m', 'ann', 700, 'failing')
  expect(rests.read('up/m', 'ann')).toEqual({ waitMs: 700, reason: 'failing' })
  expect([rests.read('up/m', 'ben'), rests.read('up/other', 'ann')]).toEqual([undefined, undefined])
  vi.advanceTimersByTime(800)
  expect(rests.read('up/m', 'ann')?.waitMs).toBe(0)
  rests.forget('up/m', 'ann')
  expect(rests.read('up/m', 'ann')).toBeUndefined()
})

it('reports whether another caller has a cooldown now', () => {
  const rests = createCallerCooldowns()
  rests.write('up#1', 'ann', 700, 'refused')
  expect([rests.hasOther('up#1', 'ann'), rests.hasOther('up#1', 'ben'), rests.hasOther('up#2', 'ben')]).toEqual([
    false,
    true,
    false,
  ])
  vi.advanceTimersByTime(700)
  expect(rests.hasOther('up#1', 'ben')).toBe(false)
})

it('ignores a change of the system time', () => {
  const rests = createCallerCooldowns()
  rests.write('up/m', 'ann', 700, 'failing')
  vi.setSystemTime(0)
  expect(rests.read('up/m', 'ann')?.waitMs).toBe(700)
})

it('holds at most 10,000 cooldowns', () => {
  const rests = createCallerCooldowns()
  rests.write('up/m', 'ann', 700, 'failing')
  for (let number = 0; number < 9999; number++) rests.write(`up/${number % 50}`, `caller ${number}`, 700, 'failing')
  expect(rests.read('up/m', 'ann')).toBeDefined()
  rests.write('up/m', 'ben', 700, 'failing')
  expect(rests.read('up/m', 'ann')).toBeUndefined()
})

beforeEach(() => void vi.useFakeTimers({ now: 1_000_000 }))
afterEach(() => void vi.useRealTimers())

function make(apiKey: ApiKey) {
  const state = memoryHealthState()
  const pool = createKeyPool(state, createCallerCooldowns())
  const upstream = openaiCompatible({ baseURL: 'http://up.test/v1', apiKey })
  type Reason = Parameters<typeof pool.coolDown>[4]
  return {
    state,
    choose: (affinity?: string, model = 'm') => pool.choose('up', upstream, model, affinity),
    look: (model = 'm') => pool.peek('up', upstream, model),
    rest: (key: number | undefined, reason: Reason, forMs?: number, model = 'm') =>
      pool.coolDown('up', upstream, model, key, reason, forMs),
  }
}
const three = ['one', 'two', 'three']
const times = <T>(count: number, call: () => T): T[] => Array.from({ length: count }, call)
const counts = (keys: readonly (number | undefined)[]): number[] =>
  [0, 1, 2].map((key) => keys.filter((own) => own === key).length)

describe('choice of keys', () => {
  it('uses keys in turn', () => {
    const { choose } = make(three)
    expect(times(6, () => choose().key)).toEqual([0, 1, 2, 0, 1, 2])
  })

  it('uses keys by weight and interleaves them', () => {
    const { choose } = make([{ key: 'one', weight: 3 }, 'two'])
    const keys = times(8, () => choose().key)
    expect(counts(keys)).toEqual([6, 2, 0])
    expect(keys.slice(0, 4)).not.toEqual([0, 0, 0, 1])
  })

  it('uses the same key for the same affinity, each key for its share', () => {
    const { choose } = make([{ key: 'one', weight: 2 }, 'two', 'three'])
    const names = times(2000, () => '').map((_, at) => `session ${at}`)
    const first = names.map((name) => choose(name).key)
    expect(names.map((name) => choose(name).key)).toEqual(first)
    const [one = 0, two = 0, rest = 0] = counts(first).map((count) => count / 2000)
    expect([one, two, rest]).toEqual([expect.closeTo(0.5, 1), expect.closeTo(0.25, 1), expect.closeTo(0.25, 1)])
  })

  it('returns no index if the upstream has one key', () => {
    expect(make('only').choose()).toEqual({ key: undefined, waitMs: 0, doubtful: false })
    expect(make(['only']).choose().key).toBeUndefined()
  })

  it('does not use up a turn when peeking', () => {
    const { choose, look } = make(three)
    times(4, () => look())
    expect(choose().key).toBe(0)
  })
})

describe('a key with a cooldown', () => {
  it.each([
    ['rate_limited', 1000],
    ['quota_exceeded', 60_000],
    ['refused', 60_000],
  ] as const)('is skipped (%s) for %i ms if the upstream states no time', (reason, ms) => {
    const { choose, rest } = make(three)
    rest(1, reason)
    expect(counts(times(10, () => choose().key))).toEqual([5, 0, 5])
    expect(times(50, () => choose(`session ${Math.random()}`).key)).not.toContain(1)
    vi.advanceTimersByTime(ms - 1)
    expect(times(3, () => choose().key)).not.toContain(1)
    vi.advanceTimersByTime(1)
    expect(times(4, () => choose().key)).toContain(1)
  })

  it.each([
    ['that is rate limited is skipped only for its model', 'rate_limited', true],
    ['without quota is skipped for all models', 'quota_exceeded', false],
    ['that was rejected is skipped for all models', 'refused', false],
  ] as const)('%s', (_, reason, usable) => {
    const { choose, rest } = make(three)
    rest(0, reason)
    expect(times(3, () => choose(undefined, 'other').key).includes(0)).toBe(usable)
  })

  it('is not used for the time that the upstream states, for at most an hour', () => {
    const { look, rest } = make(['one', 'two'])
    rest(0, 'rate_limited', 86_400_000)
    rest(1, 'rate_limited', 7000)
    expect(look()).toEqual({ key: 1, waitMs: 7000, doubtful: false })
    rest(1, 'rate_limited', 7_200_000)
    expect(look()).toEqual({ key: 0, waitMs: 3_600_000, doubtful: false })
  })

  it('is not used earlier because of a guess, only if the upstream states a shorter time', () => {
    const { look, rest } = make(['one', 'two'])
    rest(1, 'rate_limited', 90_000)
    rest(0, 'rate_limited', 30_000)
    rest(0, 'rate_limited')
    expect(look()).toEqual({ key: 0, waitMs: 30_000, doubtful: false })
    rest(0, 'rate_limited', 2000)
    expect(look()).toEqual({ key: 0, waitMs: 2000, doubtful: false })
  })

  it('keeps its affinity after the cooldown, and other keys keep theirs', () => {
    const { choose, rest } = make(three)
    const names = times(300, () => '').map((_, at) => `session ${at}`)
    const before = names.map((name) => choose(name).key)
    rest(2, 'rate_limited', 5000)
    const meanwhile = names.map((name) => choose(name).key)
    expect(meanwhile.filter((key, at) => before[at] !== 2 && key !== before[at])).toEqual([])
    expect(meanwhile).not.toContain(2)
    vi.advanceTimersByTime(5000)
    expect(names.map((name) => choose(name).key)).toEqual(before)
  })
})

describe('an upstream with a cooldown on every key', () => {
  it('tries a rejected key before a rate limited one', () => {
    const { choose, rest } = make(['one', 'two'])
    rest(0, 'rate_limited', 100)
    rest(1, 'refused')
    expect(choose()).toEqual({ key: 1, waitMs: 0, doubtful: true })
  })

  it('returns the key whose cooldown ends first, with the remaining time', () => {
    const { choose, rest } = make(three)
    for (const [key, ms] of [900, 300, 600].entries()) rest(key, 'rate_limited', ms)
    expect(choose()).toEqual({ key: 1, waitMs: 300, doubtful: false })
  })
})

describe('a sole credential', () => {
  it('has a cooldown only if the upstream states a time', () => {
    const { look, rest } = make('only')
    for (const reason of ['rate_limited', 'quota_exceeded', 'refused'] as const) rest(undefined, reason)
    expect(look()).toEqual({ key: undefined, waitMs: 0, doubtful: false })
    rest(undefined, 'rate_limited', 400)
    expect(look().waitMs).toBe(400)
    expect(look('other').waitMs).toBe(0)
    rest(undefined, 'quota_exceeded', 400)
    expect(look('other')).toEqual({ key: undefined, waitMs: 0, doubtful: true })
  })
})

it('identifies cooldowns by names, never by the secret key', () => {
  const { state, rest } = make(['sk-secret-1', 'sk-secret-2'])
  rest(1, 'rate_limited', 50)
  rest(0, 'refused')
  expect([state.read('up#1/m'), state.read('up#0')]).toEqual([
    { until: 1_000_050, reason: 'rate_limited' },
    { until: 1_060_000, reason: 'refused' },
  ])
})

const overload = (retry: number, calls: number, kind: ErrorKind = 'overloaded', waitMs = 0) => ({
  kind,
  retry,
  calls,
  waitMs,
})

beforeEach(() => void vi.useFakeTimers({ toFake: ['Date', 'performance'] }))
afterEach(() => void vi.useRealTimers())

describe('the memory of overload responses', () => {
  it('forgets an overload response after 30 seconds of the monotonic clock', () => {
    const memory = createOverloadMemory()
    memory.record('ann', 'm', overload(0, 2))
    vi.setSystemTime(Date.now() + 3_600_000)
    vi.advanceTimersByTime(29_999)
    expect(memory.find('ann', 'm')).toMatchObject({ kind: 'overloaded', calls: [2], recovered: false })
    vi.advanceTimersByTime(1)
    expect(memory.find('ann', 'm')).toBeUndefined()
  })

  it('counts the 30 seconds from the requested retry time', () => {
    const memory = createOverloadMemory()
    memory.record('ann', 'm', overload(0, 2, 'rate_limited', 20_000))
    vi.advanceTimersByTime(49_999)
    expect(memory.find('ann', 'm')).toBeDefined()
    vi.advanceTimersByTime(1)
    expect(memory.find('ann', 'm')).toBeUndefined()
  })

  it('expects no further overload after 90 seconds, and forgets the calls after an hour for any requested wait time', () => {
    const memory = createOverloadMemory()
    memory.record('ann', 'm', overload(0, 2, 'rate_limited', 86_400_000))
    expect(memory.find('ann', 'm')?.recovered).toBe(false)
    vi.advanceTimersByTime(90_000)
    expect(memory.find('ann', 'm')).toMatchObject({ calls: [2], recovered: true })
    vi.advanceTimersByTime(3_600_000)
    expect(memory.find('ann', 'm')).toBeUndefined()
  })

  it('separates identities and models with any characters in their names', () => {
    const memory = createOverloadMemory()
    memory.record('a","b', 'c', overload(0, 1))
    expect(memory.find('a', 'b","c')).toBeUndefined()
    expect(memory.find('a","b', 'd')).toBeUndefined()
    expect(memory.find('a","b', 'c')).toBeDefined()
  })

  it('keeps the calls by retry number and the last kind', () => {
    const memory = createOverloadMemory()
    memory.record('ann', 'm', overload(0, 2))
    memory.recover('ann', 'm')
    expect(memory.find('ann', 'm')?.recovered).toBe(true)
    memory.record('ann', 'm', overload(1, 3, 'rate_limited'))
    expect(memory.find('ann', 'm')).toMatchObject({ kind: 'rate_limited', calls: [2, 3], recovered: false })
  })

  it('keeps no calls of a client that does not count its retries', () => {
    const memory = createOverloadMemory()
    memory.record('ann', 'm', overload(0, 2))
    memory.record('ann', 'm', { ...overload(0, 3), retry: undefined })
    expect(memory.find('ann', 'm')).toMatchObject({ calls: [2], recovered: false })
  })

  it('does not grow with a retry number that a client sends', () => {
    const memory = createOverloadMemory()
    memory.record('ann', 'm', overload(4_294_967_294, 2))
    expect(memory.find('ann', 'm')?.calls).toHaveLength(0)
  })

  it('holds 10,000 entries at most and removes the oldest first', () => {
    const memory = createOverloadMemory()
    for (let n = 0; n < 10_000; n++) memory.record(`caller ${n}`, 'm', overload(0, 1))
    memory.record('caller 0', 'm', overload(0, 1))
    memory.record('one more', 'm', overload(0, 1))
    expect(memory.find('caller 1', 'm')).toBeUndefined()
    for (const id of ['caller 0', 'caller 2', 'one more']) expect(memory.find(id, 'm')).toBeDefined()
  })
})
