import { type Awaitable, isThenable } from '../base/async.ts'
import { createLru } from '../base/lru.ts'
import { StorageAwayError, type TokenStore } from '../contract/storage.ts'
import type { TokenRecord } from '../contract/token.ts'

/** Maximum number of cached digests, separately for known and unknown ones. */
const maxEntries = 10_000

export interface TokenCacheOptions {
  readonly store: Pick<TokenStore, 'findByDigest'>
  /** Milliseconds for which a result of the store is used without asking it again. */
  readonly cacheMs: number
  /** Milliseconds for which a result is used while the store is away. */
  readonly staleMs: number
  /** Milliseconds of a clock that is never set. */
  now(): number
}

/** A cache of tokens by the digests of their secrets. */
export interface TokenCache {
  /**
   * Returns the token of a digest: a value if it is cached or the store returns a value, else a promise. Concurrent callers with the same
   * digest share one lookup, unless it is older than `cacheMs`. Throws or rejects with the store's error.
   */
  find(digest: string): Awaitable<TokenRecord | undefined>
  /** Removes a token that this process has changed. */
  forget(id: string): void
}

interface Entry {
  readonly record: TokenRecord
  /** Start of the lookup: the record may be as old as that. */
  readonly at: number
  /** Start of the last lookup, which may have failed. */
  triedAt: number
}

/** A pending lookup. */
interface PendingLookup {
  readonly at: number
  readonly result: Promise<TokenRecord | undefined>
}

export function createTokenCache({ store, cacheMs, staleMs, now }: TokenCacheOptions): TokenCache {
  const entries = createLru<Entry>(maxEntries)
  // Separate from the tokens: a caller that guesses secrets must not evict other callers' tokens.
  const unknownDigests = createLru<{ readonly at: number }>(maxEntries)
  const lookups = new Map<string, PendingLookup>()
  /** Increased with each change in this process: results of earlier lookups are not cached. */
  let generation = 0
  const maxAgeMs = Math.max(cacheMs, staleMs)

  // A clock that is set back must not extend the lifetime of a result.
  const isWithin = (time: number, at: number, ms: number): boolean => time >= at && time - at < ms

  const remember = (digest: string, record: TokenRecord | undefined, at: number): TokenRecord | undefined => {
    if (cacheMs === 0 && staleMs === 0) return record
    // Lookups may end in another order than they started.
    if ((entries.get(digest)?.at ?? at) > at || (unknownDigests.get(digest)?.at ?? at) > at) return record
    if (record === undefined) {
      unknownDigests.set(digest, { at })
      entries.delete(digest)
    } else {
      entries.set(digest, { record, at, triedAt: at })
      unknownDigests.delete(digest)
    }
    return record
  }

  const lastKnown = (digest: string, error: unknown): TokenRecord => {
    const entry = entries.get(digest)
    const time = now()
    if (!(error instanceof StorageAwayError) || entry === undefined || !isWithin(time, entry.at, staleMs)) throw error
    entry.triedAt = time
    return entry.record
  }

  const lookUp = (digest: string, at: number): Awaitable<TokenRecord | undefined> => {
    let result: Awaitable<TokenRecord | undefined>
    try {
      result = store.findByDigest(digest)
    } catch (error) {
      return lastKnown(digest, error)
    }
    if (!isThenable(result)) return remember(digest, result, at)
    const startGeneration = generation
    const shared = Promise.resolve(result)
      .then(
        (record) => (startGeneration === generation ? remember(digest, record, at) : record),
        (error: unknown) => lastKnown(digest, error),
      )
      .finally(() => {
        if (lookups.get(digest)?.result === shared) lookups.delete(digest)
      })
    lookups.set(digest, { at, result: shared })
    return shared
  }

  return {
    find(digest) {
      const time = now()
      const entry = entries.get(digest)
      if (entry !== undefined && isWithin(time, entry.triedAt, cacheMs) && isWithin(time, entry.at, maxAgeMs))
        return entry.record
      const miss = unknownDigests.get(digest)
      // For half the time, so that a new token is accepted sooner.
      if (miss !== undefined && isWithin(time, miss.at, cacheMs / 2)) return undefined
      const lookup = lookups.get(digest)
      const isFresh = lookup !== undefined && time >= lookup.at && time - lookup.at <= cacheMs
      return isFresh ? lookup.result : lookUp(digest, time)
    },
    forget(id) {
      generation++
      lookups.clear()
      entries.deleteWhere((entry) => entry.record.id === id)
    },
  }
}
