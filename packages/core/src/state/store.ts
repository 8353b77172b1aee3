import { monotonicNow } from '../clock.ts'

/**
 * Where responses are kept between calls: a key-value store with a time to live, as Redis is one. Values hold prompts and
 * answers. Anything may be forgotten at any time; clients are then told that the response is not there. Each promise is awaited for
 * `limits.callbackMs` at most.
 */
export interface ResponseStore {
  /** The value, or undefined where there is none (any more). Null counts as undefined; anything else is a failure of the store. */
  get(key: string): string | undefined | Promise<string | undefined>
  /**
   * @param ttlMs milliseconds after which the value may be forgotten
   * @throws (or rejects) if it cannot be kept: that is logged, and the client told `store: false`
   */
  set(key: string, value: string, ttlMs: number): void | Promise<void>
  delete(key: string): void | Promise<void>
}

/** Bounds of `memoryResponseStore`. */
export interface MemoryStoreOptions {
  /** Bound of all values together, in characters (two bytes each at most). Default 32 Mi. The oldest go first, and a value of more than an eighth is refused (RangeError). */
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
  const kept = new Map<string, { readonly value: string; readonly until: number }>()
  let chars = 0
  const drop = (key: string): void => {
    const entry = kept.get(key)
    if (entry === undefined) return
    chars -= weightOf(key, entry.value)
    kept.delete(key)
  }
  return {
    get(key) {
      const entry = kept.get(key)
      if (entry === undefined) return undefined
      if (entry.until > now()) return entry.value
      drop(key)
      return undefined
    },
    set(key, value, ttlMs) {
      drop(key)
      // One huge value must not push out everybody else's.
      if (weightOf(key, value) > maxChars / largestShare)
        throw new RangeError(
          `A value of ${value.length} characters is more than an eighth of ${maxChars}: raise \`maxChars\` to keep it.`,
        )
      kept.set(key, { value, until: now() + ttlMs })
      chars += weightOf(key, value)
      for (const oldest of kept.keys()) {
        if (chars <= maxChars) break
        drop(oldest)
      }
    },
    delete: drop,
  }
}
