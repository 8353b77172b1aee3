import { expect, it } from 'vitest'
import { createRestartDelay } from './restart-delay.ts'

it('replaces a worker that ran well at once, and one that keeps failing later and later', () => {
  const delay = createRestartDelay()
  expect(delay.after(60_000)).toBe(0)
  expect([100, 100, 100, 100].map(delay.after)).toEqual([500, 1000, 2000, 4000])
  expect(Array.from({ length: 10 }, () => delay.after(100)).at(-1)).toBe(30_000)
  expect(delay.after(10_000)).toBe(0)
  expect(delay.after(100)).toBe(500)
})
