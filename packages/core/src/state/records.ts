import type { Identity } from '../config.ts'
import { GatewayError } from '../errors.ts'
import type { Json, JsonObject } from '../formats/ir.ts'
import type { ResponseStore } from './store.ts'

/** A response that the gateway keeps whole, because its upstream keeps nothing. */
export interface KeptResponse {
  readonly kind: 'kept'
  readonly owner: string
  readonly response: JsonObject
  /** The items this call added; those before it are kept with `previous`. */
  readonly input: readonly Json[]
  readonly previous?: string
}
/** A response that its upstream keeps: only where, and whose it is. */
export interface ForwardedResponse {
  readonly kind: 'forwarded'
  readonly owner: string
  readonly upstream: string
}
export type ResponseRecord = KeptResponse | ForwardedResponse

interface ItemRecord {
  readonly owner: string
  readonly item: JsonObject
}

/** What one caller may see of a store. Another's records are as if they were not there. */
export interface Records {
  readonly owner: string
  response(id: string): Promise<ResponseRecord | undefined>
  item(id: string): Promise<JsonObject | undefined>
  keep(id: string, record: ResponseRecord): Promise<void>
  forget(id: string): Promise<void>
}

export function createRecords(store: ResponseStore, ttlMs: number, identity: Identity | null): Records {
  const owner = identity?.id ?? ''
  const read = async <R extends { readonly owner: string }>(key: string): Promise<R | undefined> => {
    let text: string | undefined
    try {
      text = await store.get(key)
    } catch (cause) {
      throw new GatewayError('internal', 'The store of responses cannot be read; try again later.', { cause })
    }
    const record = text === undefined ? undefined : (JSON.parse(text) as R)
    return record?.owner === owner ? record : undefined
  }
  return {
    owner,
    response: (id) => read<ResponseRecord>(responseKey(id)),
    item: async (id) => (await read<ItemRecord>(itemKey(id)))?.item,
    async keep(id, record) {
      if (record.kind === 'kept') {
        const { output } = record.response
        for (const item of [...record.input, ...(Array.isArray(output) ? output : [])]) {
          const name = idOf(item)
          if (name !== undefined) await store.set(itemKey(name), JSON.stringify({ owner, item }), ttlMs)
        }
      }
      await store.set(responseKey(id), JSON.stringify(record), ttlMs)
    },
    async forget(id) {
      await store.delete(responseKey(id))
    },
  }
}

const responseKey = (id: string): string => `response:${id}`
const itemKey = (id: string): string => `item:${id}`

export const idOf = (item: Json): string | undefined =>
  item !== null && typeof item === 'object' && !Array.isArray(item) && typeof item.id === 'string' && item.id !== ''
    ? item.id
    : undefined
