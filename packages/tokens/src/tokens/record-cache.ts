import { type Awaitable, isThenable } from '../base/async.ts'
import { createLru } from '../base/lru.ts'
import { StorageAwayError } from '../contract/storage.ts'

/** Maximum number of cached keys, separately for known and unknown ones. */
const maxEntries = 10_000

export interface RecordCacheOptions<R> {
  /** Reads a record from the store. */
  readonly lookUp: (key: string) => Awaitable<R | undefined>
  /** Milliseconds for which a result of the store is used without asking it again. */
  readonly cacheMs: number
  /** Milliseconds for which a result is used while the store is away. */
  readonly staleMs: number
  /** Milliseconds of a clock that is never set. */
  now(): number
}

/** A cache of a store's records: of tokens by the digests of their secrets, and of owners by their names. */
export interface RecordCache<R> {
  /**
   * Returns the record of a key: a value if it is cached or the store returns a value, else a promise. Concurrent callers with the same
   * key share one lookup, unless it is older than `cacheMs`. Throws or rejects with the store's error.
   */
  find(key: string): Awaitable<R | undefined>
  /** Removes the records that this process has changed. All unknown keys are looked up again. */
  forget(isChanged: (record: R) => boolean): void
}

interface Entry<R> {
  readonly record: R
  /** Start of the lookup: the record may be as old as that. */
  readonly at: number
  /** Start of the last lookup, which may have failed. */
  triedAt: number
}

/** A pending lookup. */
interface PendingLookup<R> {
  readonly at: number
  readonly result: Promise<R | undefined>
}

export function createRecordCache<R extends object>({
  lookUp: read,
  cacheMs,
  staleMs,
  now,
}: RecordCacheOptions<R>): RecordCache<R> {
  const entries = createLru<Entry<R>>(maxEntries)
  // Separate from the records: a caller that guesses secrets must not evict other callers' tokens.
  const unknownKeys = createLru<{ readonly at: number }>(maxEntries)
  const lookups = new Map<string, PendingLookup<R>>()
  /** Increased with each change in this process: results of earlier lookups are not cached. */
  let generation = 0
  const maxAgeMs = Math.max(cacheMs, staleMs)

  // A clock that is set back must not extend the lifetime of a result.
  const isWithin = (time: number, at: number, ms: number): boolean => time >= at && time - at < ms

  const remember = (key: string, record: R | undefined, at: number): R | undefined => {
    if (cacheMs === 0 && staleMs === 0) return record
    // Lookups may end in another order than they started.
    if ((entries.get(key)?.at ?? at) > at || (unknownKeys.get(key)?.at ?? at) > at) return record
    if (record === undefined) {
      unknownKeys.set(key, { at })
      entries.delete(key)
    } else {
      entries.set(key, { record, at, triedAt: at })
      unknownKeys.delete(key)
    }
    return record
  }

  const lastKnown = (key: string, error: unknown): R => {
    const entry = entries.get(key)
    const time = now()
    if (!(error instanceof StorageAwayError) || entry === undefined || !isWithin(time, entry.at, staleMs)) throw error
    entry.triedAt = time
    return entry.record
  }

  const lookUp = (key: string, at: number): Awaitable<R | undefined> => {
    let result: Awaitable<R | undefined>
    try {
      result = read(key)
    } catch (error) {
      return lastKnown(key, error)
    }
    if (!isThenable(result)) return remember(key, result, at)
    const startGeneration = generation
    const shared = Promise.resolve(result)
      .then(
        (record) => (startGeneration === generation ? remember(key, record, at) : record),
        (error: unknown) => lastKnown(key, error),
      )
      .finally(() => {
        if (lookups.get(key)?.result === shared) lookups.delete(key)
      })
    lookups.set(key, { at, result: shared })
    return shared
  }

  return {
    find(key) {
      const time = now()
      const entry = entries.get(key)
      if (entry !== undefined && isWithin(time, entry.triedAt, cacheMs) && isWithin(time, entry.at, maxAgeMs))
        return entry.record
      const miss = unknownKeys.get(key)
      // For half the time, so that a new record is found sooner.
      if (miss !== undefined && isWithin(time, miss.at, cacheMs / 2)) return undefined
      const lookup = lookups.get(key)
      const isFresh = lookup !== undefined && time >= lookup.at && time - lookup.at <= cacheMs
      return isFresh ? lookup.result : lookUp(key, time)
    },
    forget(isChanged) {
      generation++
      lookups.clear()
      entries.deleteWhere((entry) => isChanged(entry.record))
      unknownKeys.deleteWhere(() => true)
    },
  }
}
