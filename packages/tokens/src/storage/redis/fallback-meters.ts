import type { MeterStore, Reservation, ReserveResult } from '../../contract/meter-store.ts'
import { StorageAwayError } from '../../contract/storage.ts'
import { createBacklog } from './backlog.ts'
import { createLocalShares } from './local-shares.ts'

export interface FallbackSettings {
  /** Counts in Redis; throws StorageAwayError while it is away. */
  readonly redis: MeterStore
  /** Counts in this process. */
  readonly memory: MeterStore
  /** Returns the milliseconds since Redis is away; undefined if it is available, Infinity after `close`. */
  readonly awayMs: () => number | undefined
  /** Returns the number of processes that share the limits; undefined if it is unknown. */
  readonly processes: () => number | undefined
  /** Milliseconds for which calls are admitted without Redis. */
  readonly localMs: number
  readonly warn: (message: string) => void
}

export interface FallbackMeters extends MeterStore {
  /** Writes the settlements that wait for Redis. */
  writeBacklog(): Promise<void>
  /** Returns the number of settlements that wait for Redis. */
  backlogSize(): number
}

/**
 * Creates a meter store that counts in Redis, and in this process while Redis is away. A process then has its share of each limit: the limit
 * divided by the number of processes, and of a budget the last known remainder, divided likewise. So all processes together admit at most
 * the limit once more. After `localMs` nothing is admitted. The use of these calls is written when Redis is back.
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
  /** Reservation times of running calls that were reserved in this process. */
  const localReservations = new Map<string, number>()
  const backlog = createBacklog({
    write: async (settlement) => {
      await redis.settle(settlement)
      shares.release(settlement.callId)
    },
    onDrop: ({ callId }) => shares.release(callId),
    warn,
  })

  const reserveLocally = async (reservation: Reservation): Promise<ReserveResult> => {
    const away = awayMs() ?? 0
    if (away > localMs)
      throw new StorageAwayError(
        `Redis has been unavailable for more than ${localMs} ms. Calls are rejected until it is available again`,
      )
    const sharedBy = processes()
    if (sharedBy === undefined) {
      throw new StorageAwayError(
        'Redis has not been reached yet, so the number of processes that share the limits is unknown',
      )
    }
    const result = await shares.reserve(reservation, sharedBy)
    if (result.ok) localReservations.set(reservation.callId, result.at)
    return result
  }

  return {
    async reserve(reservation) {
      const { callId, tokenId, home, meters } = reservation
      // A call without limits needs no reservation.
      if (meters.length === 0) return { ok: true, states: [], at: Date.now() }
      const isSent = awayMs() === undefined
      try {
        const result = await redis.reserve(reservation)
        await shares.updateKnown(tokenId, meters, result.states)
        return result
      } catch (error) {
        if (!(error instanceof StorageAwayError)) throw error
      }
      const cancelInRedis = (): Promise<void> => {
        // Redis may still execute the reservation: a call that is not admitted must not stay counted there.
        const noUse = meters.map((meter) => ({ ...meter, actual: 0 }))
        return isSent ? backlog.add({ callId, tokenId, home, at: undefined, meters: noUse }, false) : Promise.resolve()
      }
      try {
        const result = await reserveLocally(reservation)
        if (!result.ok) await cancelInRedis()
        return result
      } catch (error) {
        await cancelInRedis()
        throw error
      }
    },
    async settle(settlement) {
      if (awayMs() === Number.POSITIVE_INFINITY)
        throw new StorageAwayError('this store is closed; settle calls before closing it')
      const reservedAt = localReservations.get(settlement.callId)
      if (reservedAt !== undefined) {
        localReservations.delete(settlement.callId)
        await shares.settle(settlement, reservedAt)
      }
      await backlog.add(settlement, awayMs() === undefined)
    },
    async renew(calls) {
      const localCalls = calls.filter(({ callId }) => localReservations.has(callId))
      if (localCalls.length > 0) await memory.renew(localCalls)
      // Renewed again in 20 seconds, so one failure has no effect.
      await Promise.resolve(redis.renew(calls)).catch(ignoreAway)
    },
    async read(tokenId, meters, home) {
      const states = await redis.read(tokenId, meters, home)
      await shares.updateKnown(tokenId, meters, states)
      return states
    },
    sums: (query) => redis.sums(query),
    // Calls that are counted here are settled in Redis later, and that step reports.
    onReached: (listener) => redis.onReached?.(listener),
    writeBacklog: () => backlog.flush(),
    backlogSize: () => backlog.size(),
  }
}

const ignoreAway = (error: unknown): void => {
  if (!(error instanceof StorageAwayError)) throw error
}
