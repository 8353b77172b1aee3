import type { Settlement } from '../../contract/meter-store.ts'
import { StorageAwayError } from '../../contract/storage.ts'

/** Settlements that wait for Redis at most; then the oldest are given up, first of those that only take a reservation back. */
export const maxBacklog = 10_000
/** Written side by side. */
const batch = 100

/** Settlements on their way to Redis: none is lost because it is away for a while. */
export interface Backlog {
  /** Writes it, or keeps it for `flush`. */
  add(settlement: Settlement, reachable: boolean): Promise<void>
  /** Writes what waits, the oldest first, as far as it gets. */
  flush(): Promise<void>
  size(): number
}

export function createBacklog(settings: {
  /** Throws StorageAwayError while Redis is away. May be called again with the same settlement. */
  readonly write: (settlement: Settlement) => Promise<void>
  /** Will not be written. */
  readonly dropped: (settlement: Settlement) => void
  readonly warn: (message: string) => void
}): Backlog {
  const { write, dropped, warn } = settings
  const waiting = new Set<Settlement>()
  /** Those of them without sums: of calls that were not let in, and took nothing. */
  const empty = new Set<Settlement>()
  let lost = 0
  let flushing: Promise<void> | undefined
  let asked = false

  const keep = (settlement: Settlement): void => {
    waiting.add(settlement)
    if (settlement.sums === undefined) empty.add(settlement)
    if (waiting.size <= maxBacklog) return
    // What calls took that were let in matters more than any number of those that were not.
    const [oldest] = empty.size > 0 ? empty : waiting
    if (oldest === undefined) return
    forget(oldest)
    dropped(oldest)
    lost++
    if (lost === 1) warn(`More than ${maxBacklog} settlements wait for Redis: the oldest are dropped, and not counted`)
  }
  const forget = (settlement: Settlement): void => {
    waiting.delete(settlement)
    empty.delete(settlement)
  }
  const writeAll = async (): Promise<void> => {
    let written = 0
    while (waiting.size > 0) {
      const next: Settlement[] = []
      for (const settlement of waiting) if (next.push(settlement) === batch) break
      const results = await Promise.allSettled(next.map(write))
      let away = false
      results.forEach((result, n) => {
        const settlement = next[n]
        if (settlement === undefined) return
        if (result.status === 'rejected' && result.reason instanceof StorageAwayError) {
          away = true
          return
        }
        forget(settlement)
        if (result.status === 'fulfilled') written++
        else {
          dropped(settlement)
          warn(`The settlement of call ${settlement.callId} was refused by Redis and is not counted: ${result.reason}`)
        }
      })
      if (away) return
    }
    const also = lost > 0 ? `; ${lost} were dropped and are not counted` : ''
    lost = 0
    if (written > 0 || also !== '') warn(`${written} settlements that waited for Redis are written${also}`)
  }

  const flushAll = async (): Promise<void> => {
    // Redis may have come back a second time while the last of the first attempts still fail.
    while (asked) {
      asked = false
      await writeAll()
    }
  }

  return {
    async add(settlement, reachable) {
      if (!reachable) return keep(settlement)
      try {
        await write(settlement)
      } catch (error) {
        if (!(error instanceof StorageAwayError)) throw error
        keep(settlement)
      }
    },
    flush() {
      asked = true
      flushing ??= flushAll().finally(() => {
        flushing = undefined
      })
      return flushing
    },
    size: () => waiting.size,
  }
}
