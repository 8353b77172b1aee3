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

/** A body that is watched, and its place among the others. */
class Guarded implements Pace {
  bytes = 0
  sweeps = 0
  readonly onSlow: () => void
  /** All bytes that have come so far, where the reader does not count them; and how many they were when it was last asked. */
  readonly meter: (() => number) | undefined
  metered: number
  before: Guarded | undefined
  behind: Guarded | undefined

  constructor(onSlow: () => void, meter: (() => number) | undefined) {
    this.onSlow = onSlow
    this.meter = meter
    this.metered = meter === undefined ? 0 : meter()
  }

  done(): void {
    const { before, behind } = this
    if (before !== undefined) before.behind = behind
    if (behind !== undefined) behind.before = before
    else if (last === this) last = before
    this.before = undefined
    this.behind = undefined
  }
}

/**
 * The bodies that are watched are linked to each other: a Set that gains and loses an entry with every request leaves dead
 * tables behind that keep whole requests in memory until the next full collection.
 */
let last: Guarded | undefined
let sweeper: NodeJS.Timeout | undefined

/**
 * Gives up bodies that trickle in (after 25 to 30 s below 1 kB), so that slow clients cannot hold connections. One
 * timer for the whole process, and none while no body is awaited: a timer for each request costs more than its body.
 *
 * @param meter how many bytes have come so far, where the reader does not count them in `bytes`
 */
export function guardPace(onSlow: () => void, meter?: () => number): Pace {
  const pace = new Guarded(onSlow, meter)
  if (last !== undefined) {
    last.behind = pace
    pace.before = last
  }
  last = pace
  sweeper ??= setInterval(sweep, sweepMs).unref()
  return pace
}

function sweep(): void {
  if (last === undefined) {
    clearInterval(sweeper)
    sweeper = undefined
    return
  }
  const slow: Guarded[] = []
  for (let pace: Guarded | undefined = last; pace !== undefined; pace = pace.before) {
    if (pace.meter !== undefined) {
      const total = pace.meter()
      pace.bytes += total - pace.metered
      pace.metered = total
    }
    if (pace.bytes >= minBytes) {
      pace.bytes = 0
      pace.sweeps = 0
      continue
    }
    pace.sweeps++
    if (pace.sweeps > maxSweeps) slow.push(pace)
  }
  // Whoever is told leaves the list.
  for (const pace of slow) pace.onSlow()
}
