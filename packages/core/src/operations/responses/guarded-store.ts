import { isThenable } from '../../base/async.ts'
import { settleWithin, typeNameOf } from '../../base/callbacks.ts'
import type { ResponseStore } from '../../config/stores.ts'

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
