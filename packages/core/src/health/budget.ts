import { monotonicNow } from '../clock.ts'
import type { RetryConfig } from '../config.ts'

const slots = 10
const slotMs = 1000

interface Slot {
  second: number
  calls: number
  retries: number
}

/** How many retries an upstream gets: a share of its calls of the last ten seconds, and a few in any case. */
export interface RetryBudget {
  call(): void
  /** Takes a retry, if there is one left. */
  take(settings: Pick<Required<RetryConfig>, 'budgetRatio' | 'budgetFloor'>): boolean
}

export function createBudget(): RetryBudget {
  const ring: Slot[] = Array.from({ length: slots }, () => ({ second: 0, calls: 0, retries: 0 }))
  const slotNow = (): Slot => {
    const second = Math.floor(monotonicNow() / slotMs)
    const slot = ring[second % slots] as Slot
    if (slot.second !== second) {
      slot.second = second
      slot.calls = 0
      slot.retries = 0
    }
    return slot
  }
  return {
    call() {
      slotNow().calls++
    },
    take({ budgetRatio, budgetFloor }) {
      const slot = slotNow()
      let calls = 0
      let retries = 0
      for (const { second, calls: c, retries: r } of ring)
        if (second > slot.second - slots) {
          calls += c
          retries += r
        }
      // Retries are calls too: counted among them they would earn further retries.
      if (retries + 1 > Math.max(budgetFloor, (calls - retries) * budgetRatio)) return false
      slot.retries++
      return true
    },
  }
}
