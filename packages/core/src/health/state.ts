import { monotonicNow } from '../clock.ts'

/** Why a target or a key is left alone. */
export type RestReason = 'failing' | 'rate_limited' | 'quota_exceeded' | 'refused'

/** A target or a key that is left alone for a while. */
export interface Rest {
  /** Until when, in milliseconds since 1970. */
  readonly until: number
  readonly reason: RestReason
}

/**
 * Where it stands which targets and keys rest: all that the processes of one service need to know of each other's upstreams.
 * It is asked on the way of each call and must answer at once: an implementation for several processes answers from a copy of its own
 * and hears of changes in the background. Where it throws, or returns a promise or anything else that is no Rest, that is logged once a
 * minute and the target is taken to be ready. Ids are names from the configuration (`upstream/model`,
 * `upstream#2`); they hold no secrets.
 */
export interface HealthState {
  read(id: string): Rest | undefined
  /** `undefined`: it rests no longer. */
  write(id: string, rest: Rest | undefined): void
}

/** A rest with its end by `monotonicNow`. */
interface TimedRest {
  readonly deadline: number
  readonly reason: RestReason
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
