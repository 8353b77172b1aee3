/** A map of bounded size: what was not asked for longest goes first. */
export interface Lru<V> {
  get(key: string): V | undefined
  set(key: string, value: V): void
  delete(key: string): void
  /** Takes out what a test says yes to. */
  forget(test: (value: V) => boolean): void
}

export function createLru<V>(most: number): Lru<V> {
  // Maps remember the order in which keys came: taken out and put in again, a key is the newest.
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
      if (entries.size <= most) return
      const oldest = entries.keys().next()
      if (oldest.done !== true) entries.delete(oldest.value)
    },
    delete: (key) => void entries.delete(key),
    forget(test) {
      for (const [key, value] of entries) if (test(value)) entries.delete(key)
    },
  }
}
