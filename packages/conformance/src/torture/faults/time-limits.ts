import { sleep } from '../../base/upstream-responses.ts'
import type { Target } from '../check.ts'
import { exchange } from '../client.ts'
import { ms, percentile } from '../measurements.ts'

/** The limit that silence is asked about, in milliseconds, and how far an answer may be off. */
export const limitMs = 500
const tolerance = 100

/** How long a gateway whose limit nobody knows is waited for. */
export const patienceMs = 5000

/** Every time within `tolerance` of the limit? */
export const inTime = (times: readonly number[]): number =>
  times.filter((time) => Math.abs(time - limitMs) <= tolerance).length

/** When silence was ended, beside the limit. */
export const whenEnded = (times: readonly number[]): string =>
  `at ${limitMs} ms ${signed(Math.min(...times) - limitMs)} to ${signed(Math.max(...times) - limitMs)} (p50 ${signed(percentile(times, 0.5) - limitMs)})`

const signed = (value: number): string => `${value < 0 ? '−' : '+'}${ms(Math.abs(value))}`

/** Result for a gateway that has not ended the silence during the test: its limit may be longer. */
export const stillWaiting = (target: Target, waiting: number, asked: number): { skipped: string } => ({
  skipped: `${waiting} of ${asked} calls had no end after ${ms(patienceMs)}: what limit ${target.name} has, it does not say`,
})

/**
 * How long ordinary calls take while something is timed: a machine that is busy with other things shows in them too. Returns
 * how to end it, with what is to be said of them.
 */
export function timeOthers(target: Target): () => Promise<{ readonly mostMs: number; readonly said: string }> {
  let running = true
  const times: number[] = []
  const done = (async () => {
    const [pair] = target.pairs
    while (running && pair !== undefined) {
      const { status, endMs } = await exchange(target, { ...pair, text: 'Hello' })
      // The gateway is gone: whoever wanted to know broke off.
      if (status === 0) return
      times.push(endMs)
      await sleep(100)
    }
  })()
  return async () => {
    running = false
    await done
    const mostMs = Math.max(0, ...times)
    const said = `meanwhile ${times.length} ordinary calls took ${ms(percentile(times, 0.5))} (p50) to ${ms(mostMs)}`
    return { mostMs, said }
  }
}
