import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { createCallerRests } from './caller-rests.ts'

beforeEach(() => void vi.useFakeTimers({ now: 1_000_000 }))
afterEach(() => void vi.useRealTimers())

it('keeps a rest for its caller alone, also when it is over, until it is forgotten', () => {
  const rests = createCallerRests()
  rests.write('up/m', 'ann', 700, 'failing')
  expect(rests.read('up/m', 'ann')).toEqual({ waitMs: 700, reason: 'failing' })
  expect([rests.read('up/m', 'ben'), rests.read('up/other', 'ann')]).toEqual([undefined, undefined])
  vi.advanceTimersByTime(800)
  expect(rests.read('up/m', 'ann')?.waitMs).toBe(0)
  rests.forget('up/m', 'ann')
  expect(rests.read('up/m', 'ann')).toBeUndefined()
})

it('finds out whether another caller rests now', () => {
  const rests = createCallerRests()
  rests.write('up#1', 'ann', 700, 'refused')
  expect([rests.hasOther('up#1', 'ann'), rests.hasOther('up#1', 'ben'), rests.hasOther('up#2', 'ben')]).toEqual([
    false,
    true,
    false,
  ])
  vi.advanceTimersByTime(700)
  expect(rests.hasOther('up#1', 'ben')).toBe(false)
})

it('is not changed by a step of the system’s time', () => {
  const rests = createCallerRests()
  rests.write('up/m', 'ann', 700, 'failing')
  vi.setSystemTime(0)
  expect(rests.read('up/m', 'ann')?.waitMs).toBe(700)
})

it('holds 10,000 rests at most', () => {
  const rests = createCallerRests()
  rests.write('up/m', 'ann', 700, 'failing')
  for (let number = 0; number < 9999; number++) rests.write(`up/${number % 50}`, `caller ${number}`, 700, 'failing')
  expect(rests.read('up/m', 'ann')).toBeDefined()
  rests.write('up/m', 'ben', 700, 'failing')
  expect(rests.read('up/m', 'ann')).toBeUndefined()
})
