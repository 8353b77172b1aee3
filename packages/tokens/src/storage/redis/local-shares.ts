import { createLru } from '../../base/lru.ts'
import {
  type Meter,
  type MeterState,
  type MeterStore,
  type Reservation,
  type ReserveResult,
  requiredRoom,
  type Settlement,
} from '../../contract/meter-store.ts'
import { StorageAwayError } from '../../contract/storage.ts'

/** Tokens whose budgets are remembered at most. */
const tokensMost = 10_000

/** What is known of a budget. */
interface Budget {
  /** As Redis told it last. */
  used: number
  readonly resetsAt: number | undefined
  /** What of the local count is in `used` already. */
  base: number
  /** What was counted here and is not written to Redis yet. */
  unwritten: number
}

/** What this process may let in on its own: its share of each limit, and of what was last known to be left of each budget. */
export interface LocalShares {
  /** Redis has told how full these meters are. */
  updateKnown(tokenId: string, meters: readonly Meter[], states: readonly MeterState[]): Promise<void>
  /**
   * Throws StorageAwayError where only the share has no room: by the limit itself the call might be let in, so that no client
   * should be told that it is over it for good.
   */
  reserve(reservation: Reservation, sharedBy: number): Promise<ReserveResult>
  /** Corrects what was counted here. */
  settle(settlement: Settlement, at: number): Promise<void>
  /** What the call took is in Redis now, or never will be. */
  written(callId: string): void
}

export function createLocalShares(memory: MeterStore): LocalShares {
  const budgets = createLru<Map<string, Budget>>(tokensMost)
  /** What calls have taken of budgets here, until it is written. */
  const taken = new Map<string, { readonly budget: Budget; readonly name: string; amount: number }[]>()

  /** Tokens that were counted here: most never are. */
  const touched = new Set<string>()

  const localUsed = async (tokenId: string, meter: Meter): Promise<number> =>
    (await memory.read(tokenId, [meter]))[0]?.used ?? 0

  /** A budget as it stands now; undefined: Redis has never told of it. */
  const current = async (tokenId: string, meter: Meter): Promise<Budget | undefined> => {
    const ofToken = budgets.get(tokenId)
    const budget = ofToken?.get(meter.name)
    if (budget?.resetsAt === undefined || Date.now() < budget.resetsAt) return budget
    const [state] = await memory.read(tokenId, [meter])
    const next: Budget = { used: 0, resetsAt: state?.resetsAt, base: 0, unwritten: 0 }
    ofToken?.set(meter.name, next)
    return next
  }

  /** What of the limit this process may take, and the count of the local meter that this begins from. */
  const shareOf = async (tokenId: string, meter: Meter, sharedBy: number): Promise<{ share: number; base: number }> => {
    if (meter.kind !== 'period') {
      return { share: meter.limit <= 0 ? 0 : Math.max(1, Math.floor(meter.limit / sharedBy)), base: 0 }
    }
    const budget = await current(tokenId, meter)
    if (budget === undefined) return { share: 0, base: 0 }
    return { share: Math.floor(Math.max(0, meter.limit - budget.used) / sharedBy), base: budget.base }
  }

  /** Whether the limit is the reason, not the share: the client may be told so. */
  const isOver = (tokenId: string, meter: Meter, share: number): boolean => {
    if (meter.kind === 'period') {
      const budget = budgets.get(tokenId)?.get(meter.name)
      return budget !== undefined && budget.used + requiredRoom(meter) > meter.limit
    }
    return requiredRoom(meter) <= share || requiredRoom(meter) > meter.limit
  }

  return {
    async updateKnown(tokenId, meters, states) {
      for (const [n, meter] of meters.entries()) {
        const state = states[n]
        if (meter.kind !== 'period' || state === undefined) continue
        const ofToken = budgets.get(tokenId) ?? new Map<string, Budget>()
        budgets.set(tokenId, ofToken)
        const last = ofToken.get(meter.name)
        const { used, resetsAt } = state
        // In a new period nothing of the one before waits to be written.
        const budget =
          last !== undefined && last.resetsAt === resetsAt ? last : { used, resetsAt, base: 0, unwritten: 0 }
        budget.used = used
        ofToken.set(meter.name, budget)
        if (touched.has(tokenId)) budget.base = (await localUsed(tokenId, meter)) - budget.unwritten
      }
    },
    async reserve({ callId, tokenId, meters }, sharedBy) {
      const shares = await Promise.all(meters.map((meter) => shareOf(tokenId, meter, sharedBy)))
      const local = meters.map((meter, n) => ({ ...meter, limit: (shares[n]?.base ?? 0) + (shares[n]?.share ?? 0) }))
      touched.add(tokenId)
      const result = await memory.reserve({ callId, tokenId, meters: local })
      if (!result.ok) {
        const meter = meters[result.refusedBy]
        if (meter !== undefined && !isOver(tokenId, meter, shares[result.refusedBy]?.share ?? 0)) {
          throw new StorageAwayError(`Redis is away, and this process alone cannot let the call in: ${meter.name}`)
        }
      } else {
        taken.set(callId, [])
        for (const meter of meters) {
          const budget = meter.kind === 'period' ? budgets.get(tokenId)?.get(meter.name) : undefined
          if (budget === undefined) continue
          budget.unwritten += meter.amount
          taken.get(callId)?.push({ budget, name: meter.name, amount: meter.amount })
        }
      }
      // Told as the part of the limit that is left for this process.
      const states = result.states.map((state, n) => {
        const limit = meters[n]?.limit ?? 0
        return { ...state, limit, used: limit - (local[n]?.limit ?? 0) + state.used }
      })
      return { ...result, states }
    },
    async settle(settlement, at) {
      const { callId, tokenId, meters } = settlement
      await memory.settle({ callId, tokenId, at, meters })
      for (const entry of taken.get(callId) ?? []) {
        const meter = meters.find(({ name }) => name === entry.name)
        if (meter === undefined) continue
        entry.budget.unwritten += meter.actual - entry.amount
        entry.amount = meter.actual
      }
    },
    written(callId) {
      for (const { budget, amount } of taken.get(callId) ?? []) budget.unwritten -= amount
      taken.delete(callId)
    },
  }
}
