import { sleep } from '../../base/upstream-responses.ts'
import type { Target } from '../check.ts'
import { exchange } from '../client.ts'
import { ms, percentile } from '../measurements.ts'

/** The gateway's time limit in milliseconds, and the allowed deviation. */
export const limitMs = 500
const tolerance = 100

/** Milliseconds to wait for a gateway whose time limit is unknown. */
export const patienceMs = 5000

/** Counts the times within `tolerance` of the limit. */
export const inTime = (times: readonly number[]): number =>
  times.filter((time) => Math.abs(time - limitMs) <= tolerance).length

/** Describes when silence ended, relative to the limit. */
export const whenEnded = (times: readonly number[]): string =>
  `at ${limitMs} ms ${signed(Math.min(...times) - limitMs)} to ${signed(Math.max(...times) - limitMs)} (p50 ${signed(percentile(times, 0.5) - limitMs)})`

const signed = (value: number): string => `${value < 0 ? '−' : '+'}${ms(Math.abs(value))}`

/** Outcome for a gateway that did not respond during the test: its limit may be longer. */
export const stillWaiting = (target: Target, waiting: number, total: number): { skipped: string } => ({
  skipped: `${waiting} of ${total} calls did not end within ${ms(patienceMs)}: the time limit of ${target.name} is unknown`,
})

/**
 * Measures ordinary calls while something else is timed, because other load on the machine shows in them too. Returns a
 * function that ends it and describes the result.
 */
export function timeOthers(target: Target): () => Promise<{ readonly mostMs: number; readonly text: string }> {
  let running = true
  const times: number[] = []
  const done = (async () => {
    const [pair] = target.pairs
    while (running && pair !== undefined) {
      const { status, endMs } = await exchange(target, { ...pair, text: 'Hello' })
      // The gateway is gone: the check has ended.
      if (status === 0) return
      times.push(endMs)
      await sleep(100)
    }
  })()
  return async () => {
    running = false
    await done
    const mostMs = Math.max(0, ...times)
    const text = `meanwhile ${times.length} ordinary calls took ${ms(percentile(times, 0.5))} (p50) to ${ms(mostMs)}`
    return { mostMs, text }
  }
}
