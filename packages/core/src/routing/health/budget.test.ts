import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { createBudget } from './budget.ts'

beforeEach(() => void vi.useFakeTimers({ now: 1_000_000 }))
afterEach(() => void vi.useRealTimers())

const settings = { budgetRatio: 0.2, budgetFloor: 3 }

/** How many retries a budget gives after so many calls; each of them is a call, too. */
function retriesAfter(calls: number, wish = settings): number {
  const budget = createBudget()
  for (let call = 0; call < calls; call++) budget.call()
  let taken = 0
  while (taken < 1000 && budget.take(wish)) {
    budget.call()
    taken++
  }
  return taken
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
])('%i calls under %o: %i retries', (calls, wish, retries) => expect(retriesAfter(calls, wish)).toBe(retries))

it('counts the last ten seconds', () => {
  const budget = createBudget()
  const taken = (): number => {
    let count = 0
    for (; budget.take(settings); count++) budget.call()
    return count
  }
  for (let call = 0; call < 100; call++) budget.call()
  expect(taken()).toBe(20)
  vi.advanceTimersByTime(9000)
  expect(taken()).toBe(0)
  vi.advanceTimersByTime(1000)
  expect(taken()).toBe(3)
  // A slot is used anew, not added to.
  vi.advanceTimersByTime(10_000)
  expect(taken()).toBe(3)
})

it('gives one of several callers half of it at most, and all of them together no more than before', () => {
  const budget = createBudget()
  for (let call = 0; call < 90; call++) budget.call('ann')
  for (let call = 0; call < 10; call++) budget.call('ben')
  const taken = (caller: string): number => {
    let count = 0
    for (; budget.take(settings, caller); count++) budget.call(caller)
    return count
  }
  expect([taken('ann'), taken('ben'), taken('ann')]).toEqual([10, 10, 0])
})
