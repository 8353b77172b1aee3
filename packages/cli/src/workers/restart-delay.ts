/** A worker that ran for this long has started properly: its end is not counted with earlier ones. */
const stableMs = 10_000
const firstDelayMs = 500
const maxDelayMs = 30_000

/** Decides when a worker that ended is replaced. */
export interface RestartDelay {
  /** Returns the milliseconds to wait, for a worker that ran for `ranMs`: none at first, then twice as long each time, at most 30 s. */
  after(ranMs: number): number
}

export function createRestartDelay(): RestartDelay {
  let failures = 0
  return {
    after(ranMs) {
      failures = ranMs >= stableMs ? 0 : failures + 1
      return failures === 0 ? 0 : Math.min(maxDelayMs, firstDelayMs * 2 ** (failures - 1))
    },
  }
}
