import { isThenable, lazy, monotonicNow, settleWithin } from '../../base/async.ts'
import { typeNameOf } from '../../base/callbacks.ts'
import type { ResponseStore } from '../../config/stores.ts'

/** Options of `memoryResponseStore`. */
export interface MemoryStoreOptions {
  /**
   * Maximum size of all values together, in characters of at most two bytes. Default 32 Mi. The oldest values are dropped first: the
   * owner's own if it holds more than an equal share. A value of more than an eighth is rejected with a RangeError.
   */
  maxChars?: number
  /** Clock in milliseconds. Default: a monotonic clock, so that changes of the system time don't affect expiry. */
  now?: () => number
}

/** Size of an entry in addition to its texts. */
const entryChars = 100
/** The largest value is this share of all values together. */
const storedShare = 1 / 8
const weightOf = (key: string, value: string): number => key.length + value.length + entryChars

/** Creates a store that keeps responses in this process. They are lost when it ends, and other processes cannot see them. */
export const memoryResponseStore = (options: MemoryStoreOptions = {}): ResponseStore =>
  boundedStore(options, storedShare)

/**
 * Creates a store in memory. All its functions are synchronous.
 *
 * @param largestShare size of the largest value, as a share of all values together
 */
export function boundedStore(
  { maxChars = 32 * 1024 * 1024, now = monotonicNow }: MemoryStoreOptions,
  largestShare: number,
): ResponseStore {
  const entries = new Map<string, { readonly value: string; readonly until: number; readonly owner: string }>()
  /** Keys of each owner, the oldest first, and the size of their entries. */
  const owners = new Map<string, { chars: number; readonly keys: Set<string> }>()
  let chars = 0
  const drop = (key: string): void => {
    const entry = entries.get(key)
    if (entry === undefined) return
    const weight = weightOf(key, entry.value)
    chars -= weight
    entries.delete(key)
    const owned = owners.get(entry.owner)
    if (owned === undefined) return
    owned.chars -= weight
    owned.keys.delete(key)
    if (owned.keys.size === 0) owners.delete(entry.owner)
  }
  /** Returns the key to drop. An owner that exceeds its share loses its own entries, so that it cannot displace those of others. */
  const oldestFor = (owner: string): string | undefined => {
    const owned = owners.get(owner)
    const keys = owned !== undefined && owned.chars > maxChars / owners.size ? owned.keys : entries.keys()
    for (const key of keys) return key
    return undefined
  }
  return {
    get(key) {
      const entry = entries.get(key)
      if (entry === undefined) return undefined
      if (entry.until > now()) return entry.value
      drop(key)
      return undefined
    },
    set(key, value, ttlMs, owner = '') {
      drop(key)
      // A single huge value must not displace the values of all others.
      if (weightOf(key, value) > maxChars * largestShare)
        throw new RangeError(
          `A value of ${value.length} characters is larger than 1/${1 / largestShare} of maxChars (${maxChars}). Raise maxChars to store it.`,
        )
      const weight = weightOf(key, value)
      entries.set(key, { value, until: now() + ttlMs, owner })
      chars += weight
      const owned = owners.get(owner) ?? { chars: 0, keys: new Set<string>() }
      owners.set(owner, owned)
      owned.chars += weight
      owned.keys.add(key)
      while (chars > maxChars) {
        const oldest = oldestFor(owner)
        if (oldest === undefined) break
        drop(oldest)
      }
    },
    delete: drop,
  }
}

/**
 * Wraps a host's store. Each method must settle within `ms` and return valid values, or the wrapper fails. It accepts `null` for a missing
 * key, as clients of databases return it.
 */
export function guardedStore(store: ResponseStore, ms: number): ResponseStore {
  const within = <T>(method: keyof ResponseStore, result: T | PromiseLike<T>): T | Promise<T> =>
    isThenable(result) ? settleWithin(result, { name: `responses.store.${method}`, ms }) : result
  const read = (value: unknown): string | undefined => {
    if (value === undefined || value === null) return undefined
    if (typeof value === 'string') return value
    throw new TypeError(`responses.store.get returned ${typeNameOf(value)}: return the text that was set, or undefined`)
  }
  return {
    get(key) {
      const value = within<unknown>('get', store.get(key))
      return value instanceof Promise ? value.then(read) : read(value)
    },
    set: (key, value, ttlMs, owner) => within('set', store.set(key, value, ttlMs, owner)),
    delete: (key, owner) => within('delete', store.delete(key, owner)),
  }
}

/** Loads the code that knows which caller received which ids. Returns a promise until it is loaded. */
export const loadOwnership = lazy(() => import('./ownership.ts'))
