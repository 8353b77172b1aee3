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

/** Maximum number of accounts whose budgets are kept. */
const maxAccounts = 10_000

/** Last known state of a budget. */
interface KnownBudget {
  /** Use that Redis reported last. */
  used: number
  readonly resetsAt: number | undefined
  /** Part of the local count that `used` contains already. */
  counted: number
  /** Use that was counted locally and is not written to Redis. */
  unwritten: number
}

/** The use that this process may admit on its own: its share of each limit, and of the last known remainder of each budget. */
export interface LocalShares {
  /** Stores the states that Redis has reported. */
  updateKnown(tokenId: string, meters: readonly Meter[], states: readonly MeterState[]): Promise<void>
  /**
   * Reserves within the share of this process. Rejects with StorageAwayError if only the share has no room: the limit itself may have
   * room, so the client must not get the limit's error.
   */
  reserve(reservation: Reservation, sharedBy: number): Promise<ReserveResult>
  /** Corrects a local reservation with the actual use. */
  settle(settlement: Settlement, at: number): Promise<void>
  /** Ends the local accounting of a call, whose use is in Redis now or was dropped. */
  release(callId: string): void
}

export function createLocalShares(memory: MeterStore): LocalShares {
  const budgets = createLru<Map<string, KnownBudget>>(maxAccounts)
  /** Use of budgets by calls that were counted locally, until it is written. */
  const usedByCall = new Map<
    string,
    { readonly budget: KnownBudget; readonly account: string; readonly name: string; amount: number }[]
  >()

  /** Accounts that were counted locally, which most never are. */
  const localAccounts = new Set<string>()

  const localUsed = async (tokenId: string, meter: Meter): Promise<number> =>
    (await memory.read(tokenId, [meter]))[0]?.used ?? 0

  /** Returns the current state of a budget; undefined if Redis has never reported it. */
  const currentBudget = async (tokenId: string, meter: Meter): Promise<KnownBudget | undefined> => {
    const ofAccount = budgets.get(accountOf(tokenId, meter))
    const budget = ofAccount?.get(meter.name)
    if (budget?.resetsAt === undefined || Date.now() < budget.resetsAt) return budget
    const [state] = await memory.read(tokenId, [meter])
    const next: KnownBudget = { used: 0, resetsAt: state?.resetsAt, counted: 0, unwritten: 0 }
    ofAccount?.set(meter.name, next)
    return next
  }

  /** Returns the share of this process, and the part of the local count that does not count against it. */
  const shareOf = async (
    tokenId: string,
    meter: Meter,
    sharedBy: number,
  ): Promise<{ share: number; counted: number }> => {
    if (meter.kind !== 'period') {
      return { share: meter.limit <= 0 ? 0 : Math.max(1, Math.floor(meter.limit / sharedBy)), counted: 0 }
    }
    const budget = await currentBudget(tokenId, meter)
    if (budget === undefined) return { share: 0, counted: 0 }
    return { share: Math.floor(Math.max(0, meter.limit - budget.used) / sharedBy), counted: budget.counted }
  }

  /** Returns whether the limit itself has no room, not only the share: then the client gets the limit's error. */
  const exceedsLimit = (tokenId: string, meter: Meter, share: number): boolean => {
    if (meter.kind === 'period') {
      const budget = budgets.get(accountOf(tokenId, meter))?.get(meter.name)
      return budget !== undefined && budget.used + requiredRoom(meter) > meter.limit
    }
    return requiredRoom(meter) <= share || requiredRoom(meter) > meter.limit
  }

  return {
    async updateKnown(tokenId, meters, states) {
      for (const [n, meter] of meters.entries()) {
        const state = states[n]
        if (meter.kind !== 'period' || state === undefined) continue
        const account = accountOf(tokenId, meter)
        const ofAccount = budgets.get(account) ?? new Map<string, KnownBudget>()
        budgets.set(account, ofAccount)
        const last = ofAccount.get(meter.name)
        const { used, resetsAt } = state
        // Unwritten use of the previous period does not count in a new one.
        const budget =
          last !== undefined && last.resetsAt === resetsAt ? last : { used, resetsAt, counted: 0, unwritten: 0 }
        budget.used = used
        ofAccount.set(meter.name, budget)
        if (localAccounts.has(account)) budget.counted = (await localUsed(tokenId, meter)) - budget.unwritten
      }
    },
    async reserve({ callId, tokenId, meters }, sharedBy) {
      const shares = await Promise.all(meters.map((meter) => shareOf(tokenId, meter, sharedBy)))
      const local = meters.map((meter, n) => ({ ...meter, limit: (shares[n]?.counted ?? 0) + (shares[n]?.share ?? 0) }))
      localAccounts.add(tokenId)
      for (const { account } of meters) if (account !== undefined) localAccounts.add(account)
      const result = await memory.reserve({ callId, tokenId, meters: local })
      if (!result.ok) {
        const meter = meters[result.refusedBy]
        if (meter !== undefined && !exceedsLimit(tokenId, meter, shares[result.refusedBy]?.share ?? 0)) {
          throw new StorageAwayError(
            `Redis is unavailable, and this process's share of the limit is too small for the call: ${meter.name}`,
          )
        }
      } else {
        usedByCall.set(callId, [])
        for (const meter of meters) {
          const account = accountOf(tokenId, meter)
          const budget = meter.kind === 'period' ? budgets.get(account)?.get(meter.name) : undefined
          if (budget === undefined) continue
          budget.unwritten += meter.amount
          usedByCall.get(callId)?.push({ budget, account, name: meter.name, amount: meter.amount })
        }
      }
      // Reported so that `limit - used` is the rest of this process's share.
      const states = result.states.map((state, n) => {
        const limit = meters[n]?.limit ?? 0
        return { ...state, limit, used: limit - (local[n]?.limit ?? 0) + state.used }
      })
      return { ...result, states }
    },
    async settle(settlement, at) {
      const { callId, tokenId, meters } = settlement
      await memory.settle({ callId, tokenId, at, meters })
      for (const entry of usedByCall.get(callId) ?? []) {
        const meter = meters.find((one) => one.name === entry.name && accountOf(tokenId, one) === entry.account)
        if (meter === undefined) continue
        entry.budget.unwritten += meter.actual - entry.amount
        entry.amount = meter.actual
      }
    },
    release(callId) {
      for (const { budget, amount } of usedByCall.get(callId) ?? []) budget.unwritten -= amount
      usedByCall.delete(callId)
    },
  }
}

const accountOf = (tokenId: string, { account = tokenId }: Meter): string => account
