import { isThenable, lazy, monotonicNow } from '../../base/async.ts'
import { settleWithin, typeNameOf } from '../../base/callbacks.ts'
import type { ResponseStore } from '../../config/stores.ts'

/** Bounds of `memoryResponseStore`. */
export interface MemoryStoreOptions {
  /** Bound of all values together, in characters (two bytes each at most). Default 32 Mi. The oldest go first: an owner's own, if the owner holds more than an equal share. A value of more than an eighth is refused (RangeError). */
  maxChars?: number
  /** The clock, in milliseconds. Default: one that is never set, so that a step of the system's time neither drops nor prolongs anything. */
  now?: () => number
}

/** What an entry costs beside its texts. */
const entryChars = 100
const largestShare = 8
const weightOf = (key: string, value: string): number => key.length + value.length + entryChars

/** Keeps responses in this process: lost with it, and not seen by others. */
export function memoryResponseStore({
  maxChars = 32 * 1024 * 1024,
  now = monotonicNow,
}: MemoryStoreOptions = {}): ResponseStore {
  const kept = new Map<string, { readonly value: string; readonly until: number; readonly owner: string }>()
  /** What each owner holds, the oldest key first. */
  const owners = new Map<string, { chars: number; readonly keys: Set<string> }>()
  let chars = 0
  const drop = (key: string): void => {
    const entry = kept.get(key)
    if (entry === undefined) return
    const weight = weightOf(key, entry.value)
    chars -= weight
    kept.delete(key)
    const holding = owners.get(entry.owner)
    if (holding === undefined) return
    holding.chars -= weight
    holding.keys.delete(key)
    if (holding.keys.size === 0) owners.delete(entry.owner)
  }
  /** An owner that writes more than its share loses its own entries: it must not push out those of others. */
  const oldestFor = (owner: string): string | undefined => {
    const holding = owners.get(owner)
    const keys = holding !== undefined && holding.chars > maxChars / owners.size ? holding.keys : kept.keys()
    for (const key of keys) return key
    return undefined
  }
  return {
    get(key) {
      const entry = kept.get(key)
      if (entry === undefined) return undefined
      if (entry.until > now()) return entry.value
      drop(key)
      return undefined
    },
    set(key, value, ttlMs, owner = '') {
      drop(key)
      // One huge value must not push out everybody else's.
      if (weightOf(key, value) > maxChars / largestShare)
        throw new RangeError(
          `A value of ${value.length} characters is more than an eighth of ${maxChars}: raise \`maxChars\` to keep it.`,
        )
      const weight = weightOf(key, value)
      kept.set(key, { value, until: now() + ttlMs, owner })
      chars += weight
      const holding = owners.get(owner) ?? { chars: 0, keys: new Set<string>() }
      owners.set(owner, holding)
      holding.chars += weight
      holding.keys.add(key)
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
 * A host's ResponseStore whose answers come within `ms` and are what they should be: anything else is a failure of the store. Clients
 * of stores answer null for what is not there.
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

/** The code that stores responses and resolves references to them: a promise until it is loaded. */
export const loadResponseStore = lazy(() => import('./index.ts'))
