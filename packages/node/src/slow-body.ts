/** A body must bring this many bytes… */
const minBytes = 1024
/** …in this many sweeps (25 s), or end. */
const maxSweeps = 5
const sweepMs = 5000

/** What the reader of a body tells the guard. */
export interface Pace {
  /** Bytes that came since the count was last reset. */
  bytes: number
  done(): void
}

interface Guarded extends Pace {
  sweeps: number
  readonly onSlow: () => void
}

const guarded = new Set<Guarded>()
let sweeper: NodeJS.Timeout | undefined

/**
 * Gives up bodies that trickle in (after 25 to 30 s below 1 kB), so that slow clients cannot hold connections. One
 * timer for the whole process, and none while no body is awaited: a timer for each request costs more than its body.
 */
export function guardPace(onSlow: () => void): Pace {
  const pace: Guarded = {
    bytes: 0,
    sweeps: 0,
    onSlow,
    done: () => {
      guarded.delete(pace)
    },
  }
  guarded.add(pace)
  sweeper ??= setInterval(sweep, sweepMs).unref()
  return pace
}

function sweep(): void {
  if (guarded.size === 0) {
    clearInterval(sweeper)
    sweeper = undefined
    return
  }
  for (const pace of guarded) {
    if (pace.bytes >= minBytes) {
      pace.bytes = 0
      pace.sweeps = 0
      continue
    }
    pace.sweeps++
    if (pace.sweeps > maxSweeps) pace.onSlow()
  }
}
