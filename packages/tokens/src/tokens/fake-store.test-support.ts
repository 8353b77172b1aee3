import type { Awaitable } from '../base/async.ts'
import { StorageAwayError, type TokenStore } from '../contract/storage.ts'
import type { TokenRecord } from '../contract/token.ts'

/** A fake store that tests switch between synchronous and asynchronous, available and unavailable. */
export interface FakeStore extends TokenStore {
  readonly records: Map<string, TokenRecord>
  /** Results are promises. */
  later: boolean
  away: boolean
  /** Number of `findByDigest` calls. */
  lookups: number
}

export function fakeStore(): FakeStore {
  const records = new Map<string, TokenRecord>()
  const answering = <T>(make: () => T): Awaitable<T> => {
    const answer = (): T => {
      if (store.away) throw new StorageAwayError('gone')
      return make()
    }
    return store.later ? Promise.resolve().then(answer) : answer()
  }
  const store: FakeStore = {
    records,
    later: false,
    away: false,
    lookups: 0,
    findByDigest(digest) {
      store.lookups++
      return answering(() =>
        [...records.values()].find(({ secrets }) => secrets.some((secret) => secret.digest === digest)),
      )
    },
    get: (id) => answering(() => records.get(id)),
    create: (record) => answering(() => void records.set(record.id, record)),
    change: (id, how) =>
      answering(() => {
        const record = records.get(id)
        if (record === undefined) return undefined
        const changed = { ...how(record), version: record.version + 1 }
        records.set(id, changed)
        return changed
      }),
    list: ({ owner, after, limit = 100 }) =>
      answering(() => {
        const all = [...records.values()].filter((record) => owner === undefined || record.owner === owner)
        const from = after === undefined ? 0 : all.findIndex(({ id }) => id === after) + 1
        const tokens = all.slice(from, from + limit)
        const last = tokens.at(-1)
        return { tokens, ...(from + limit < all.length && last !== undefined ? { next: last.id } : {}) }
      }),
  }
  return store
}
