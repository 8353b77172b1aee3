import { monotonicNow } from '../../base/clock.ts'
import type { CooldownReason } from '../../config/health-state.ts'

/** A rest that holds for one caller: what made it may have been caused by that caller's requests. */
export interface CallerRest {
  /** Milliseconds until its end; 0: it is over. */
  readonly waitMs: number
  readonly reason: CooldownReason
}

/** Rests of targets and keys, by the id of the target or key and by caller. They stay in this process. */
export interface CallerRests {
  read(id: string, caller: string): CallerRest | undefined
  write(id: string, caller: string, forMs: number, reason: CooldownReason): void
  forget(id: string, caller: string): void
  /** Whether another caller rests now, too. */
  hasOther(id: string, caller: string): boolean
}

/** Bounds the memory: models may be named by clients. */
const most = 10_000

interface TimedRest {
  /** By `monotonicNow`: a step of the system's time neither ends nor prolongs a rest. */
  readonly deadline: number
  readonly reason: CooldownReason
}

export function createCallerRests(): CallerRests {
  const rests = new Map<string, Map<string, TimedRest>>()
  let size = 0
  return {
    read(id, caller) {
      // Most gateways never have any.
      if (size === 0) return undefined
      const rest = rests.get(id)?.get(caller)
      return rest && { waitMs: Math.max(0, rest.deadline - monotonicNow()), reason: rest.reason }
    },
    write(id, caller, forMs, reason) {
      if (size >= most) {
        rests.clear()
        size = 0
      }
      let own = rests.get(id)
      if (own === undefined) {
        own = new Map()
        rests.set(id, own)
      }
      if (!own.has(caller)) size++
      own.set(caller, { deadline: monotonicNow() + forMs, reason })
    },
    forget(id, caller) {
      const own = rests.get(id)
      if (own?.delete(caller) !== true) return
      size--
      if (own.size === 0) rests.delete(id)
    },
    hasOther(id, caller) {
      for (const [other, { deadline }] of rests.get(id) ?? [])
        if (other !== caller && deadline > monotonicNow()) return true
      return false
    },
  }
}
