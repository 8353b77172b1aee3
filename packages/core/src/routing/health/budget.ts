import { monotonicNow } from '../../base/clock.ts'
import type { RetryConfig } from '../../config/config.ts'
import type { Caller } from './breaker.ts'

const slots = 10
const slotMs = 1000

interface Slot {
  second: number
  calls: number
  retries: number
  /** Who has called; `several` once there are two of them. */
  caller: Caller | typeof several
  /** Retries by caller, made with the first retry: most seconds have none. */
  taken: Map<Caller, number> | undefined
}

const several = Symbol('several callers')

/**
 * How many retries an upstream gets: a share of its calls of the last ten seconds, and a few in any case. Where there are several callers,
 * one of them gets half of it at most, so that the others' failures can still be retried.
 */
export interface RetryBudget {
  call(caller?: Caller): void
  /** Takes a retry, if there is one left. */
  take(settings: Pick<Required<RetryConfig>, 'budgetRatio' | 'budgetFloor'>, caller?: Caller): boolean
}

export function createBudget(): RetryBudget {
  const ring: Slot[] = Array.from({ length: slots }, () => ({
    second: 0,
    calls: 0,
    retries: 0,
    caller: undefined,
    taken: undefined,
  }))
  const slotNow = (): Slot => {
    const second = Math.floor(monotonicNow() / slotMs)
    const slot = ring[second % slots] as Slot
    if (slot.second !== second) {
      slot.second = second
      slot.calls = 0
      slot.retries = 0
      slot.caller = undefined
      slot.taken = undefined
    }
    return slot
  }
  return {
    call(caller) {
      const slot = slotNow()
      if (slot.calls++ === 0) slot.caller = caller
      else if (slot.caller !== caller) slot.caller = several
    },
    take({ budgetRatio, budgetFloor }, caller) {
      const slot = slotNow()
      let calls = 0
      let retries = 0
      let alone = true
      const taken = new Map<Caller, number>()
      for (const one of ring)
        if (one.second > slot.second - slots) {
          calls += one.calls
          retries += one.retries
          if (one.calls > 0 && one.caller !== caller) alone = false
          for (const [who, count] of one.taken ?? []) taken.set(who, (taken.get(who) ?? 0) + count)
        }
      // Retries are calls too: counted among them they would earn further retries.
      const allowed = Math.max(budgetFloor, (calls - retries) * budgetRatio)
      const most = alone ? allowed : Math.max(1, Math.ceil(allowed / 2))
      // What another caller took while it was alone leaves the share of the others as it is.
      let counted = 0
      for (const count of taken.values()) counted += Math.min(count, most)
      const own = taken.get(caller) ?? 0
      if (own + 1 > most || counted + 1 > allowed) return false
      slot.retries++
      slot.taken ??= new Map()
      slot.taken.set(caller, (slot.taken.get(caller) ?? 0) + 1)
      return true
    },
  }
}
