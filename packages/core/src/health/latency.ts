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
  at: number
}

export function createLatencies(): Latencies {
  const means = new Map<string, Mean>()
  // Streams and whole answers are apart: a first event comes sooner than an answer's last word.
  const keyOf = (id: string, stream: boolean): string => (stream ? `~${id}` : id)
  return {
    note(id, stream, ms) {
      const key = keyOf(id, stream)
      const known = means.get(key)
      if (known === undefined) {
        if (means.size >= most) means.clear()
        means.set(key, { ms, at: Date.now() })
        return
      }
      const fresh = Number.isFinite(known.ms) && Date.now() - known.at < 2 * staleMs
      known.ms = fresh ? known.ms + share * (ms - known.ms) : ms
      known.at = Date.now()
    },
    look(id, stream) {
      const known = means.get(keyOf(id, stream))
      return known !== undefined && Date.now() - known.at < staleMs ? known.ms : -1
    },
    expect(id, stream) {
      const key = keyOf(id, stream)
      const known = means.get(key)
      const now = Date.now()
      if (known !== undefined && now - known.at < staleMs) return known.ms
      if (known !== undefined) known.at = now
      else {
        if (means.size >= most) means.clear()
        means.set(key, { ms: Number.POSITIVE_INFINITY, at: now })
      }
      return -1
    },
  }
}
