import type { JsonObject } from '../base/json.ts'

/** A stored response with its input. */
export interface StoredResponse {
  readonly response: JsonObject
  readonly input: readonly JsonObject[]
}

/** A provider's memory of earlier responses, for requests that refer to them. */
export interface Memory {
  /** The conversation up to and including a response, by the response's id. */
  readonly conversations: Map<string, readonly JsonObject[]>
  /** Stored responses by id. */
  readonly stored: Map<string, StoredResponse>
  /** Items of stored responses by id. */
  readonly items: Map<string, JsonObject>
  /** Id of the reasoning that must accompany an item, by the item's id. */
  readonly reasonings: Map<string, string>
  clear(): void
}

/** Entries per kind before the oldest is dropped: a fake in a long-running demo must not grow. */
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

/** Stores an entry, and drops the oldest if there are too many. */
export function keep<T>(map: Map<string, T>, key: string, value: T): void {
  map.set(key, value)
  if (map.size <= capacity) return
  const oldest = map.keys().next()
  if (!oldest.done) map.delete(oldest.value)
}
