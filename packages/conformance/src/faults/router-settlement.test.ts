import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { fullRun } from '../base/recorded-traffic.ts'
import { exitNames, randomExits } from './router-exits.ts'
import { advanceClock, printFigure, stopClock } from './router-fixture.ts'

beforeEach(stopClock)
afterEach(() => void vi.useRealTimers())

test('reports every call exactly once, however it ends, with the totals of the upstream', async () => {
  const total = fullRun ? 10_000 : 4000
  const { world: w, expected, served } = await randomExits(total)
  const times = new Map<string, number>()
  const sums = { answers: 0, input: 0, output: 0 }
  const wrong: string[] = []
  for (const { model, outcome, usage, attempts } of w.finished) {
    times.set(model, (times.get(model) ?? 0) + 1)
    const meant = expected.get(model)
    if (outcome !== meant?.outcome || attempts.length !== meant.attempts)
      wrong.push(`${model}: ${outcome} after ${attempts.length} attempts`)
    if (outcome !== 'finished') continue
    sums.answers++
    sums.input += usage?.input.total ?? 0
    sums.output += usage?.output.total ?? 0
  }
  const once = [...expected.keys()].filter((model) => times.get(model) === 1).length
  printFigure(
    25,
    `${total} calls, ${exitNames.length} kinds of outcomes, ${w.calls.length} upstream calls: reported once ${once}; ${sums.answers} finished, tokens ${sums.input}+${sums.output}, the upstream counted ${served.input}+${served.output}`,
  )
  expect(wrong).toEqual([])
  expect(once).toBe(total)
  expect(w.finished).toHaveLength(total)
  expect(new Set(w.finished.map(({ requestId }) => requestId)).size).toBe(total)
  expect(sums).toEqual(served)
  expect(w.finished.reduce((sum, { attempts }) => sum + attempts.length, 0)).toBe(w.calls.length)
  await advanceClock(2000, 500)
  expect(vi.getTimerCount()).toBe(0)
  expect(w.logged).toEqual([])
})
