/** A map of bounded size. The entry that was not read for the longest time is removed first. */
export interface Lru<V> {
  get(key: string): V | undefined
  set(key: string, value: V): void
  delete(key: string): void
  /** Deletes the entries whose value passes a test. */
  deleteWhere(test: (value: V) => boolean): void
}

export function createLru<V>(maxEntries: number): Lru<V> {
  // A Map keeps the order of insertion: a key that is deleted and set again is the newest.
  const entries = new Map<string, V>()
  return {
    get(key) {
      const value = entries.get(key)
      if (value === undefined) return undefined
      entries.delete(key)
      entries.set(key, value)
      return value
    },
    set(key, value) {
      entries.delete(key)
      entries.set(key, value)
      if (entries.size <= maxEntries) return
      const oldest = entries.keys().next()
      if (oldest.done !== true) entries.delete(oldest.value)
    },
    delete: (key) => void entries.delete(key),
    deleteWhere(test) {
      for (const [key, value] of entries) if (test(value)) entries.delete(key)
    },
  }
}
