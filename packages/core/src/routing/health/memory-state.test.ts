import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { memoryHealthState } from './memory-state.ts'

beforeEach(() => void vi.useFakeTimers({ now: 1_000_000 }))
afterEach(() => void vi.useRealTimers())

const rest = (ms: number) => ({ until: Date.now() + ms, reason: 'failing' }) as const

it('says what was written last, and nothing of what was taken back', () => {
  const state = memoryHealthState()
  expect(state.read('up/m')).toBeUndefined()
  state.write('up/m', rest(1))
  state.write('up/m', rest(2))
  expect(state.read('up/m')).toEqual(rest(2))
  state.write('up/m', undefined)
  expect(state.read('up/m')).toBeUndefined()
})

it('still says of a rest that it was there when it is over: the next call is the one that finds out', () => {
  const state = memoryHealthState()
  state.write('up/m', rest(5))
  vi.advanceTimersByTime(10)
  expect(state.read('up/m')?.until).toBe(1_000_005)
})

it('forgets what is over before what is not, and the oldest before the newest, when there is too much', () => {
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
