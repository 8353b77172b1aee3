import type { BreakerConfig } from '../config.ts'
import type { HealthState } from './state.ts'

export const defaultBreaker: Readonly<Required<BreakerConfig>> = {
  failures: 5,
  failureRate: 0.5,
  window: 20,
  restMs: 5000,
}

/**
 * Leaves a target alone that keeps failing: after some failures in a row, or when a share of the last calls failed. Then one
 * call is let through every `restMs`, and one that succeeds brings it back.
 */
export interface Breaker {
  /** Milliseconds until it may be called; 0: now. */
  waitMs(id: string): number
  /** A call is made. True: it is the one that shows whether the target is back, and nobody else is sent meanwhile. */
  enter(id: string): boolean
  /** The target has answered. */
  answered(id: string, probe: boolean): void
  /** A call is over, well or not. */
  over(id: string, probe: boolean, failed: boolean): void
}

interface Record {
  inRow: number
  /** The last outcomes, true for a failure; written round and round. */
  readonly outcomes: boolean[]
  next: number
  failed: number
}

/** What is undefined is the default. */
const given = (settings: BreakerConfig = {}): BreakerConfig =>
  Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== undefined))

const most = 10_000

export function createBreaker(settings: BreakerConfig | false | undefined, state: HealthState): Breaker {
  if (settings === false) return { waitMs: () => 0, enter: () => false, answered() {}, over() {} }
  const { failures, failureRate, window, restMs } = { ...defaultBreaker, ...given(settings) }
  const records = new Map<string, Record>()
  const recordOf = (id: string): Record => {
    let record = records.get(id)
    if (record === undefined) {
      if (records.size >= most) records.clear()
      record = { inRow: 0, outcomes: [], next: 0, failed: 0 }
      records.set(id, record)
    }
    return record
  }
  const note = (record: Record, failed: boolean): void => {
    if (record.outcomes[record.next] === true) record.failed--
    record.outcomes[record.next] = failed
    record.next = (record.next + 1) % window
    if (failed) record.failed++
    record.inRow = failed ? record.inRow + 1 : 0
  }
  const rest = (id: string): void => state.write(id, { until: Date.now() + restMs, reason: 'failing' })
  return {
    waitMs(id) {
      const resting = state.read(id)
      return resting === undefined ? 0 : Math.max(0, resting.until - Date.now())
    },
    enter(id) {
      const resting = state.read(id)
      // Who was on the way already when it opened, or when another was let through, decides nothing.
      if (resting === undefined || resting.until > Date.now()) return false
      // It rests on for everyone else until this call has shown something.
      rest(id)
      return true
    },
    answered(id, probe) {
      if (!probe) return
      records.delete(id)
      state.write(id, undefined)
    },
    over(id, probe, failed) {
      const record = recordOf(id)
      note(record, failed)
      if (!failed) return
      const rate = record.outcomes.length >= window && record.failed / window >= failureRate
      if (probe || record.inRow >= failures || rate) {
        // What was on its way when it opened must not prolong the rest.
        if (probe || state.read(id) === undefined) rest(id)
      }
    },
  }
}
