import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { ErrorKind } from '../../base/error-kinds.ts'
import { createOverloadMemory } from './overload-memory.ts'

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

  it('counts the 30 seconds from the moment for which the client is asked to come back', () => {
    const memory = createOverloadMemory()
    memory.record('ann', 'm', overload(0, 2, 'rate_limited', 20_000))
    vi.advanceTimersByTime(49_999)
    expect(memory.find('ann', 'm')).toBeDefined()
    vi.advanceTimersByTime(1)
    expect(memory.find('ann', 'm')).toBeUndefined()
  })

  it('expects no further overload after 90 seconds, and forgets the calls after an hour, however long the client is asked to wait', () => {
    const memory = createOverloadMemory()
    memory.record('ann', 'm', overload(0, 2, 'rate_limited', 86_400_000))
    expect(memory.find('ann', 'm')?.recovered).toBe(false)
    vi.advanceTimersByTime(90_000)
    expect(memory.find('ann', 'm')).toMatchObject({ calls: [2], recovered: true })
    vi.advanceTimersByTime(3_600_000)
    expect(memory.find('ann', 'm')).toBeUndefined()
  })

  it('keeps identities and models apart, whatever characters their names have', () => {
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
