import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { guardPace } from './slow-body.ts'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  // The sweep that finds nothing to watch ends the sweeping.
  vi.advanceTimersByTime(10_000)
  vi.useRealTimers()
})

it.each([
  ['nothing', 0, true],
  ['a trickle', 30, true],
  ['enough', 100, false],
])('watches a body that brings %s', (_name, bytesPerSecond, givenUp) => {
  const onSlow = vi.fn(() => pace.done())
  const pace = guardPace(onSlow)
  let silentMs = 0
  for (; silentMs < 120_000 && onSlow.mock.calls.length === 0; silentMs += 1000) {
    pace.bytes += bytesPerSecond
    vi.advanceTimersByTime(1000)
  }
  pace.done()
  expect(onSlow.mock.calls.length).toBe(givenUp ? 1 : 0)
  if (bytesPerSecond === 0) expect(silentMs).toBeLessThanOrEqual(30_000)
})

it('keeps no timer while no body is awaited', () => {
  guardPace(() => {}).done()
  vi.advanceTimersByTime(10_000)
  expect(vi.getTimerCount()).toBe(0)
})
