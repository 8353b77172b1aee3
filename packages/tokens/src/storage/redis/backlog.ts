import type { Settlement } from '../../contract/meter-store.ts'
import { StorageAwayError } from '../../contract/storage.ts'

/** Maximum number of settlements that wait for Redis. Then the oldest are dropped, first of those that only cancel a reservation. */
export const maxBacklog = 10_000
/** Number of settlements that are written in parallel. */
const maxParallel = 100

/** Queue of settlements for Redis, so that none is lost while it is away. */
export interface Backlog {
  /** Writes a settlement, or queues it for `flush`. */
  add(settlement: Settlement, reachable: boolean): Promise<void>
  /** Writes the queue, the oldest first, until it is empty or Redis is away again. */
  flush(): Promise<void>
  size(): number
}

export function createBacklog(settings: {
  /** Rejects with StorageAwayError while Redis is away. May be called again with the same settlement. */
  readonly write: (settlement: Settlement) => Promise<void>
  /** Called for a settlement that will not be written. */
  readonly onDrop: (settlement: Settlement) => void
  readonly warn: (message: string) => void
}): Backlog {
  const { write, onDrop, warn } = settings
  const waiting = new Set<Settlement>()
  /** Those of them without sums: of calls that were not admitted and used nothing. */
  const cancellations = new Set<Settlement>()
  let lost = 0
  let flushing: Promise<void> | undefined
  let isFlushRequested = false

  const enqueue = (settlement: Settlement): void => {
    waiting.add(settlement)
    if (settlement.sums === undefined) cancellations.add(settlement)
    if (waiting.size <= maxBacklog) return
    // The use of admitted calls matters more than cancelled reservations.
    const [oldest] = cancellations.size > 0 ? cancellations : waiting
    if (oldest === undefined) return
    remove(oldest)
    onDrop(oldest)
    lost++
    if (lost === 1) warn(`More than ${maxBacklog} settlements wait for Redis. The oldest are dropped and not counted`)
  }
  const remove = (settlement: Settlement): void => {
    waiting.delete(settlement)
    cancellations.delete(settlement)
  }
  const writeAll = async (): Promise<void> => {
    let written = 0
    while (waiting.size > 0) {
      const next: Settlement[] = []
      for (const settlement of waiting) if (next.push(settlement) === maxParallel) break
      const results = await Promise.allSettled(next.map(write))
      let away = false
      results.forEach((result, n) => {
        const settlement = next[n]
        if (settlement === undefined) return
        if (result.status === 'rejected' && result.reason instanceof StorageAwayError) {
          away = true
          return
        }
        remove(settlement)
        if (result.status === 'fulfilled') written++
        else {
          onDrop(settlement)
          warn(`The settlement of call ${settlement.callId} was rejected by Redis and is not counted: ${result.reason}`)
        }
      })
      if (away) return
    }
    const also = lost > 0 ? `; ${lost} were dropped and are not counted` : ''
    lost = 0
    if (written > 0 || also !== '')
      warn(`${written} waiting ${written === 1 ? 'settlement was' : 'settlements were'} written to Redis${also}`)
  }

  const flushAll = async (): Promise<void> => {
    // Redis may become available again while the last writes of this loop still fail.
    while (isFlushRequested) {
      isFlushRequested = false
      await writeAll()
    }
  }

  return {
    async add(settlement, reachable) {
      if (!reachable) return enqueue(settlement)
      try {
        await write(settlement)
      } catch (error) {
        if (!(error instanceof StorageAwayError)) throw error
        enqueue(settlement)
      }
    },
    flush() {
      isFlushRequested = true
      flushing ??= flushAll().finally(() => {
        flushing = undefined
      })
      return flushing
    },
    size: () => waiting.size,
  }
}
