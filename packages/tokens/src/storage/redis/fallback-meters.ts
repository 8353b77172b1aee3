import type { MeterStore, Reservation, ReserveResult } from '../../contract/meter-store.ts'
import { StorageAwayError } from '../../contract/storage.ts'
import { createBacklog } from './backlog.ts'
import { createLocalShares } from './local-shares.ts'

export interface FallbackSettings {
  /** Counts in Redis; throws StorageAwayError while it is away. */
  readonly redis: MeterStore
  /** Counts in this process. */
  readonly memory: MeterStore
  /** For how long Redis has been away; undefined: it is there; Infinity: nothing is counted any more. */
  readonly awayMs: () => number | undefined
  /** How many processes share the limits; undefined: unknown. */
  readonly processes: () => number | undefined
  /** How long calls are let in without Redis. */
  readonly localMs: number
  readonly warn: (message: string) => void
}

export interface FallbackMeters extends MeterStore {
  /** Redis is back: what was counted without it is written. */
  writeBacklog(): Promise<void>
  /** Settlements that are not written yet. */
  backlogSize(): number
}

/**
 * Counts in Redis, and in this process while Redis is away: there each limit is divided by the number of processes, and a
 * budget is what was last known to be left of it, divided likewise. All processes together let in at most what the limit is once
 * more. After `localMs` nothing is let in. What calls took is written when Redis is back.
 */
export function createFallbackMeters({
  redis,
  memory,
  awayMs,
  processes,
  localMs,
  warn,
}: FallbackSettings): FallbackMeters {
  const shares = createLocalShares(memory)
  /** When the calls were counted that run and were counted here. */
  const local = new Map<string, number>()
  const backlog = createBacklog({
    write: async (settlement) => {
      await redis.settle(settlement)
      shares.written(settlement.callId)
    },
    dropped: ({ callId }) => shares.written(callId),
    warn,
  })

  const reserveHere = async (reservation: Reservation): Promise<ReserveResult> => {
    const away = awayMs() ?? 0
    if (away > localMs)
      throw new StorageAwayError(`Redis has been away for more than ${localMs} ms: nothing is let in until it is back`)
    const sharedBy = processes()
    if (sharedBy === undefined) {
      throw new StorageAwayError('Redis has not been reached yet: nobody knows how many processes share the limits')
    }
    const result = await shares.reserve(reservation, sharedBy)
    if (result.ok) local.set(reservation.callId, result.at)
    return result
  }

  return {
    async reserve(reservation) {
      const { callId, tokenId, meters } = reservation
      // Without limits there is nothing to ask.
      if (meters.length === 0) return { ok: true, states: [], at: Date.now() }
      const sent = awayMs() === undefined
      try {
        const result = await redis.reserve(reservation)
        await shares.updateKnown(tokenId, meters, result.states)
        return result
      } catch (error) {
        if (!(error instanceof StorageAwayError)) throw error
      }
      const takeBack = (): Promise<void> => {
        // Redis may carry out yet what it was asked: a call that is not let in must not be counted there for ever.
        const nothing = meters.map((meter) => ({ ...meter, actual: 0 }))
        return sent ? backlog.add({ callId, tokenId, at: undefined, meters: nothing }, false) : Promise.resolve()
      }
      try {
        const result = await reserveHere(reservation)
        if (!result.ok) await takeBack()
        return result
      } catch (error) {
        await takeBack()
        throw error
      }
    },
    async settle(settlement) {
      if (awayMs() === Number.POSITIVE_INFINITY) throw new StorageAwayError('this store is closed: settle calls before')
      const counted = local.get(settlement.callId)
      if (counted !== undefined) {
        local.delete(settlement.callId)
        await shares.settle(settlement, counted)
      }
      await backlog.add(settlement, awayMs() === undefined)
    },
    async renew(calls) {
      const here = calls.filter(({ callId }) => local.has(callId))
      if (here.length > 0) await memory.renew(here)
      // Told again in 20 seconds: what fails now costs nothing.
      await Promise.resolve(redis.renew(calls)).catch(ignoreAway)
    },
    async read(tokenId, meters) {
      const states = await redis.read(tokenId, meters)
      await shares.updateKnown(tokenId, meters, states)
      return states
    },
    sums: (query) => redis.sums(query),
    writeBacklog: () => backlog.flush(),
    backlogSize: () => backlog.size(),
  }
}

const ignoreAway = (error: unknown): void => {
  if (!(error instanceof StorageAwayError)) throw error
}
