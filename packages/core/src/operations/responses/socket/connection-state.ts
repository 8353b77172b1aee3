import { isObject, type JsonObject, stringifyExact } from '../../../base/json/json.ts'
import { parseObjectExact } from '../../../base/json/parse.ts'
import type { ResponseStore } from '../../../config/stores.ts'
import type { ConnectionRecords, RecentResponse } from '../records.ts'

/**
 * The latest response of each lane of one WebSocket, which the next request on the connection may continue although nothing was stored
 * (`store: false`). It ends with the connection. The memory is shared by all connections of a gateway and bounded: an old response may
 * be removed early, and its continuation then gets `previous_response_not_found`, after which clients send the whole conversation.
 */
export class ConnectionState {
  readonly #memory: ResponseStore
  readonly #connectionId: string
  /** Lanes by the ids of their latest responses. */
  readonly #lanes = new Map<string, string>()

  /** @param memory shared by all connections. Its functions are synchronous */
  constructor(memory: ResponseStore, connectionId: string) {
    this.#memory = memory
    this.#connectionId = connectionId
  }

  /** Returns the access of one caller's request on a lane. */
  recordsFor(lane: string, owner: string): ConnectionRecords {
    return {
      response: (id) => {
        const found = this.#read(id)
        return found?.owner === owner ? found.recent : undefined
      },
      save: (id, recent) => this.#save(lane, owner, id, recent),
      forget: () => this.#forget(lane),
    }
  }

  /** Forgets the response that a failed request of the same lane tried to continue. Other lanes may continue it. */
  evict(lane: string, id: string | undefined): void {
    if (id !== undefined && this.#lanes.get(id) === lane) this.#forget(lane)
  }

  /** Forgets all responses. */
  clear(): void {
    for (const lane of [...this.#lanes.values()]) this.#forget(lane)
  }

  #read(id: string): { readonly owner: string; readonly recent: RecentResponse } | undefined {
    const lane = this.#lanes.get(id)
    const text = lane === undefined ? undefined : this.#memory.get(this.#keyOf(lane))
    const value = typeof text === 'string' ? parseObjectExact(text) : undefined
    if (!isObject(value) || !Array.isArray(value.items)) return undefined
    const { owner, items, base } = value
    return {
      owner: String(owner),
      recent: typeof base === 'string' ? { items, base } : { items },
    }
  }

  #save(lane: string, owner: string, id: string, { items, base }: RecentResponse): void {
    this.#forget(lane)
    const value: JsonObject = { owner, items: [...items] }
    if (base !== undefined) value.base = base
    this.#memory.set(this.#keyOf(lane), stringifyExact(value), Number.POSITIVE_INFINITY, owner || this.#connectionId)
    this.#lanes.set(id, lane)
  }

  #forget(lane: string): void {
    for (const [id, of] of this.#lanes) if (of === lane) this.#lanes.delete(id)
    this.#memory.delete(this.#keyOf(lane))
  }

  #keyOf(lane: string): string {
    return `${this.#connectionId}:${lane}`
  }
}
