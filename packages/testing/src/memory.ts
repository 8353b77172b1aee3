import type { StoredResponse } from './stored-responses.ts'
import type { JsonObject } from './types.ts'

/** What a provider keeps of earlier answers, so that later requests can refer to it. */
export interface Memory {
  /** The conversation up to and with an answer. */
  readonly conversations: Map<string, readonly JsonObject[]>
  /** Answers that can be read again, by their ids. */
  readonly stored: Map<string, StoredResponse>
  /** Items of stored answers, by their ids. */
  readonly items: Map<string, JsonObject>
  /** Reasoning that an item cannot be sent back without: the item's id, the reasoning's. */
  readonly reasonings: Map<string, string>
  clear(): void
}

/** Entries kept of a kind before the oldest is forgotten: a fake in a long-running demo must not grow. */
const capacity = 2_000

export function createMemory(): Memory {
  const memory = { conversations: new Map(), stored: new Map(), items: new Map(), reasonings: new Map() }
  return {
    ...memory,
    clear() {
      for (const map of Object.values(memory)) map.clear()
    },
  }
}

/** Keeps an entry, and forgets the oldest if there are too many. */
export function keep<T>(map: Map<string, T>, key: string, value: T): void {
  map.set(key, value)
  if (map.size <= capacity) return
  const oldest = map.keys().next()
  if (!oldest.done) map.delete(oldest.value)
}
