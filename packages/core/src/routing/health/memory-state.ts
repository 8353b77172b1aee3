import { monotonicNow } from '../../base/clock.ts'
import type { CooldownReason, HealthState } from '../../config/health-state.ts'

/** A rest with its end by `monotonicNow`. */
interface TimedRest {
  readonly deadline: number
  readonly reason: CooldownReason
}

/**
 * The default: what this process knows. What is over is forgotten, at the latest when there is much of it.
 *
 * It keeps how long a rest lasts, not the time of day of its end: a step of the system's time neither ends nor prolongs it. `read`
 * returns the end by the present time of day.
 */
export function memoryHealthState(): HealthState {
  const rests = new Map<string, TimedRest>()
  return {
    read(id) {
      const rest = rests.get(id)
      if (rest === undefined) return undefined
      return { until: Date.now() + rest.deadline - monotonicNow(), reason: rest.reason }
    },
    write(id, rest) {
      if (rest === undefined) rests.delete(id)
      else {
        if (rests.size >= most) forget(rests)
        rests.set(id, { deadline: monotonicNow() + rest.until - Date.now(), reason: rest.reason })
      }
    },
  }
}

/** Models named by clients (`prefix*` routes) must not fill the memory. */
const most = 10_000

function forget(rests: Map<string, TimedRest>): void {
  const now = monotonicNow()
  for (const [id, { deadline }] of rests) if (deadline <= now) rests.delete(id)
  for (const id of rests.keys()) {
    if (rests.size < most) break
    rests.delete(id)
  }
}
