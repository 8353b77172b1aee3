import { monotonicNow } from '../../base/clock.ts'

/** How fast targets have been lately: an exponentially weighted mean of the time to the first event, or to a whole answer. */
export interface Latencies {
  note(id: string, stream: boolean, ms: number): void
  /**
   * Milliseconds to be expected. -1 for a target that has not been measured for a minute, once: the one call that is told so
   * is to find it out; others hear of the last known value, or of Infinity.
   */
  expect(id: string, stream: boolean): number
  /** As `expect`, without anyone being sent to find out. */
  look(id: string, stream: boolean): number
}

/** Share of a new sample: about the last ten calls count. */
const share = 0.2
const staleMs = 60_000
const most = 10_000

interface Mean {
  ms: number
  measuredAt: number
  /** When somebody was sent to find it out. */
  askedAt: number
}

export function createLatencies(): Latencies {
  const means = new Map<string, Mean>()
  // Streams and whole answers are apart: a first event comes sooner than an answer's last word.
  const keyOf = (id: string, stream: boolean): string => (stream ? `~${id}` : id)
  const store = (key: string, mean: Mean): void => {
    if (means.size >= most) means.clear()
    means.set(key, mean)
  }
  const isFresh = ({ measuredAt, askedAt }: Mean): boolean => monotonicNow() - Math.max(measuredAt, askedAt) < staleMs
  return {
    note(id, stream, ms) {
      const key = keyOf(id, stream)
      const now = monotonicNow()
      const known = means.get(key)
      if (known === undefined) return store(key, { ms, measuredAt: now, askedAt: now })
      // What was long ago says nothing any more: a bad hour must not be paid off call by call.
      known.ms = now - known.measuredAt < staleMs ? known.ms + share * (ms - known.ms) : ms
      known.measuredAt = now
    },
    look(id, stream) {
      const known = means.get(keyOf(id, stream))
      return known !== undefined && isFresh(known) ? known.ms : -1
    },
    expect(id, stream) {
      const key = keyOf(id, stream)
      const known = means.get(key)
      if (known !== undefined && isFresh(known)) return known.ms
      if (known !== undefined) known.askedAt = monotonicNow()
      else store(key, { ms: Number.POSITIVE_INFINITY, measuredAt: Number.NEGATIVE_INFINITY, askedAt: monotonicNow() })
      return -1
    },
  }
}
