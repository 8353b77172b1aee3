import { addSums } from '../../contract/meter-amounts.ts'
import type { Settlement } from '../../contract/meter-store.ts'

type SummedSettlement = Settlement & { readonly sums: NonNullable<Settlement['sums']> }

/** Adds up the sums of calls that the store receives later. */
export interface PendingSums {
  add(settlement: Settlement): void
  /** Returns one settlement for each account, day and model, and forgets them. */
  take(): readonly Settlement[]
}

/** @param nextId returns a call id that was never used */
export function createPendingSums(nextId: () => string): PendingSums {
  let pending = new Map<string, SummedSettlement>()
  return {
    add({ tokenId, home, sums }) {
      if (sums === undefined) return
      const { day, model, accounts } = sums
      const key = [tokenId, home?.owner, day, model, ...(accounts ?? [])].join('\n')
      const before = pending.get(key)
      pending.set(key, {
        callId: before?.callId ?? nextId(),
        tokenId,
        home,
        at: undefined,
        meters: [],
        sums: { day, model, accounts, add: before === undefined ? sums.add : addSums(before.sums.add, sums.add) },
      })
    },
    take() {
      const taken = [...pending.values()]
      pending = new Map()
      return taken
    },
  }
}
