import { expect, it } from 'vitest'
import { defaultLimits, type Limits, resolveLimits } from '../config/limits.ts'

it('an undefined limit is the default, not no limit', () => {
  const limits = { bodyBytes: undefined, idleMs: 5 } as unknown as Limits
  expect(resolveLimits(limits)).toEqual({ ...defaultLimits, idleMs: 5 })
  expect(resolveLimits(undefined)).toEqual(defaultLimits)
})

it('a heartbeat every 15 s is kept also by timers that are late', () => {
  expect(defaultLimits.heartbeatMs).toBeLessThanOrEqual(14_000)
})

it('an endless time is the longest a timer takes; endless sizes stay endless', () => {
  const { firstByteMs, bodyBytes } = resolveLimits({
    firstByteMs: Number.POSITIVE_INFINITY,
    bodyBytes: Number.POSITIVE_INFINITY,
  })
  expect(firstByteMs).toBe(2 ** 31 - 1)
  expect(bodyBytes).toBe(Number.POSITIVE_INFINITY)
})
