import { type Awaitable, isThenable } from '../base/async.ts'
import { createLru } from '../base/lru.ts'
import { StorageAwayError, type TokenStore } from '../contract/storage.ts'
import type { TokenRecord } from '../contract/token.ts'

/** Most digests that are remembered, of tokens and of what is none. */
const most = 10_000

export interface TokenCacheOptions {
  readonly store: Pick<TokenStore, 'findByDigest'>
  /** Milliseconds for which an answer of the store is good. */
  readonly cacheMs: number
  /** Milliseconds for which it counts while the store is away. */
  readonly staleMs: number
  /** Milliseconds by a clock that is never set. */
  now(): number
}

/** Tokens by the digests of their secrets, as the store knew them a moment ago. */
export interface TokenCache {
  /**
   * The token of a digest: at once where it is remembered or the store answers at once. Callers who ask for the same digest at
   * the same time share one question to the store, unless it is older than an answer may be. Throws or rejects with what the store failed with.
   */
  find(digest: string): Awaitable<TokenRecord | undefined>
  /** Asks the store anew for this token: it was changed here. */
  forget(id: string): void
}

interface Entry {
  readonly record: TokenRecord
  /** When the store was asked for it. Its answer may be older than its arrival. */
  readonly at: number
  /** When the store was asked last, in vain. */
  triedAt: number
}

/** A question that is on its way. */
interface Flight {
  readonly at: number
  readonly answer: Promise<TokenRecord | undefined>
}

export function createTokenCache({ store, cacheMs, staleMs, now }: TokenCacheOptions): TokenCache {
  const entries = createLru<Entry>(most)
  // Apart from the tokens: who tries out secrets must not drive those of the others out.
  const unknown = createLru<{ readonly at: number }>(most)
  const flights = new Map<string, Flight>()
  /** Raised when something was changed here: what was asked for before is not remembered. */
  let generation = 0
  const longest = Math.max(cacheMs, staleMs)

  // A clock that was set back must not make an answer last longer.
  const within = (time: number, at: number, ms: number): boolean => time >= at && time - at < ms

  const keep = (digest: string, record: TokenRecord | undefined, at: number): TokenRecord | undefined => {
    if (cacheMs === 0 && staleMs === 0) return record
    // Questions may be answered in another order than they were asked in.
    if ((entries.get(digest)?.at ?? at) > at || (unknown.get(digest)?.at ?? at) > at) return record
    if (record === undefined) {
      unknown.set(digest, { at })
      entries.delete(digest)
    } else {
      entries.set(digest, { record, at, triedAt: at })
      unknown.delete(digest)
    }
    return record
  }

  const lastKnown = (digest: string, error: unknown): TokenRecord => {
    const entry = entries.get(digest)
    const time = now()
    if (!(error instanceof StorageAwayError) || entry === undefined || !within(time, entry.at, staleMs)) throw error
    entry.triedAt = time
    return entry.record
  }

  const ask = (digest: string, at: number): Awaitable<TokenRecord | undefined> => {
    let answer: Awaitable<TokenRecord | undefined>
    try {
      answer = store.findByDigest(digest)
    } catch (error) {
      return lastKnown(digest, error)
    }
    if (!isThenable(answer)) return keep(digest, answer, at)
    const begun = generation
    const shared = Promise.resolve(answer)
      .then(
        (record) => (begun === generation ? keep(digest, record, at) : record),
        (error: unknown) => lastKnown(digest, error),
      )
      .finally(() => {
        if (flights.get(digest)?.answer === shared) flights.delete(digest)
      })
    flights.set(digest, { at, answer: shared })
    return shared
  }

  return {
    find(digest) {
      const time = now()
      const entry = entries.get(digest)
      if (entry !== undefined && within(time, entry.triedAt, cacheMs) && within(time, entry.at, longest))
        return entry.record
      const missed = unknown.get(digest)
      // For half as long: a token that was just issued should not have to wait.
      if (missed !== undefined && within(time, missed.at, cacheMs / 2)) return undefined
      const flight = flights.get(digest)
      const isFresh = flight !== undefined && time >= flight.at && time - flight.at <= cacheMs
      return isFresh ? flight.answer : ask(digest, time)
    },
    forget(id) {
      generation++
      flights.clear()
      entries.deleteWhere((entry) => entry.record.id === id)
    },
  }
}
