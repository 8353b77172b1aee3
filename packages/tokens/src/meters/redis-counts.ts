import { never, periodAt } from './calendar.ts'
import { leastOf, type Meter, type MeterState } from './meter-store.ts'
import { usedAt, type WindowCount, waitFor } from './sliding-window.ts'

/** What Redis has counted for a meter, by its own clock. */
export interface Counted {
  readonly meter: Meter
  /** Milliseconds since 1970. */
  readonly now: number
  /** In the running window or period. */
  readonly taken: number
  /** In the window before. */
  readonly before: number
}

export function stateOf(counted: Counted): MeterState {
  const { meter, now, taken } = counted
  const { name, limit } = meter
  if (meter.kind === 'concurrent') return { name, limit, used: taken }
  if (meter.kind === 'window') {
    const count = windowOf(counted, meter.windowMs)
    return { name, limit, used: usedAt(count, now), resetsAt: count.until }
  }
  const { until } = periodAt(meter.period, now)
  return { name, limit, used: taken, ...(until !== never && { resetsAt: until }) }
}

/** Milliseconds until the meter may have room for its amount, if nothing else is taken; undefined: time alone will not do. */
export function waitOf(counted: Counted): number | undefined {
  const { meter, now } = counted
  if (meter.kind === 'concurrent') return undefined
  if (meter.kind === 'window') return waitFor(windowOf(counted, meter.windowMs), meter.limit, leastOf(meter), now)
  const { until } = periodAt(meter.period, now)
  return until === never || leastOf(meter) > meter.limit ? undefined : until - now
}

const windowOf = ({ now, taken, before }: Counted, windowMs: number): WindowCount => ({
  until: (Math.floor(now / windowMs) + 1) * windowMs,
  windowMs,
  taken,
  before,
})
