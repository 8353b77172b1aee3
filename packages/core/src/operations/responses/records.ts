import { inBatches } from '../../base/async.ts'
import { GatewayError } from '../../base/errors.ts'
import { isObject, type Json, type JsonObject, stringifyExact } from '../../base/json/json.ts'
import { parseExact } from '../../base/json/parse.ts'
import type { Identity } from '../../config/identity.ts'
import type { ResponseStore } from '../../config/stores.ts'
import type { Received, ReferenceKind } from '../../formats/references/places.ts'
import { createObjectRecords, type ObjectRecords } from './object-records.ts'
import { withinStoreTimeout } from './store-timeout.ts'

/** A response that the gateway stores whole, because its upstream stores none. */
export interface KeptResponse {
  readonly kind: 'kept'
  readonly owner: string
  readonly response: JsonObject
  /** Items that this call added. Earlier ones are stored with `previous`. */
  readonly input: readonly Json[]
  readonly previous?: string
}
/** A response that its upstream stores. The gateway records the upstream and the owner. */
export interface ForwardedResponse {
  readonly kind: 'forwarded'
  readonly owner: string
  readonly upstream: string
  /** The reservation of a background response that is not settled yet. */
  readonly work?: string
}
/** Maximum number of items of a response that are stored by id. Each is a call to the store; larger responses are not stored. */
const maxStoredItems = 5000
export type ResponseRecord = KeptResponse | ForwardedResponse

/** A record of another caller. It is reported as not found, and must not be requested from an upstream either. */
export const foreignRecord = Symbol('foreign')

/** A response that only its WebSocket connection knows, with the conversation before it. */
export interface RecentResponse {
  /** All items of the conversation since `base`, the response's output included. */
  readonly items: readonly Json[]
  /** The stored response that the conversation continues, here or at an upstream. */
  readonly base?: string
}

/** A request whose input was completed by the items of a recent response of its connection. */
export interface Continuation {
  /** The recent response. */
  readonly id: string
  /** The whole input, as JSON text. */
  readonly whole: string
  /** The items that the client sent in this request. */
  readonly added: readonly Json[]
}

/** The latest responses of a WebSocket connection, for one caller's request. */
export interface ConnectionRecords {
  response(id: string): RecentResponse | undefined
  /** Replaces the lane's latest response. Throws for a response that is too large. */
  save(id: string, recent: RecentResponse): void
  /** Forgets the lane's latest response. */
  forget(): void
  /** Notes that the request's input was completed by the items of a recent response. */
  continues?(continuation: Continuation): void
}

/**
 * Access of one caller to the response store. Keys of the store:
 *
 *    response:{id}              the response, or the upstream that has it
 *    item:{owner}:{id}          an item; clients choose ids of input items, so these are separate for each owner
 *    generation:{owner}:{id}    the record of a call, by the id of its response
 *    item-owner:{id}            owner of an item in the output of a response
 *    object:{owner}:{kind}:{id} an object that an upstream stores for its owner (see object-records.ts)
 *    objects:{owner}:{kind}     the list of these objects
 *    received:{kind}:{id}       owner of another stored object (a file, a container) whose id a response contained
 */
export interface CallerRecords {
  readonly owner: string
  /** The configured secret of sealed summaries. Default: a random one of this process. */
  readonly sealSecret?: string | undefined
  /** True if responses are stored for this caller. */
  readonly isEnabled: boolean
  /** Present for a request on a WebSocket. */
  readonly connection?: ConnectionRecords
  response(id: string): Promise<ResponseRecord | typeof foreignRecord | undefined>
  /** Returns a stored item of this caller. */
  item(id: string): Promise<JsonObject | typeof foreignRecord | undefined>
  /** Returns for whom the item was created. `'own'` also if this caller has stored an item with this id. Undefined if it is unknown. */
  itemOwner(id: string): Promise<'own' | 'other' | undefined>
  /** Returns whether this caller received the id of a stored object, such as a container, in a response. */
  hasReceived(kind: ReferenceKind, id: string): Promise<boolean>
  /** Returns whether another caller is known to have received the id of a stored object in a response. */
  isOfOther(kind: ReferenceKind, id: string): Promise<boolean>
  /** Records that this caller received these ids. Does nothing if storing is disabled. */
  saveReceivedIds(received: readonly Received[]): Promise<void>
  /** Returns the record of a call of this caller, by the id of its response. */
  generation(id: string): Promise<JsonObject | undefined>
  saveGeneration(id: string, generation: JsonObject): Promise<void>
  /** Objects that upstreams store for this caller. */
  readonly objects: ObjectRecords
  /**
   * Saves a record.
   *
   * @param output items of the response. Their ids were not chosen by a client, so another caller cannot claim them
   */
  save(id: string, record: ResponseRecord, output: readonly Json[]): Promise<void>
  /**
   * Deletes a record.
   *
   * @param output items of the response
   */
  delete(id: string, record: ResponseRecord, output: readonly Json[]): Promise<void>
}

/**
 * Creates the access of one caller.
 *
 * @param configuredStore the store; without one, nothing is stored and every id is unknown
 */
export function createCallerRecords(
  configuredStore: ResponseStore | undefined,
  ttlMs: number,
  identity: Identity | null,
  objectTtlMs: number,
  sealSecret?: string,
): CallerRecords {
  const store = configuredStore ?? emptyStore
  const owner = identity?.id ?? ''
  const own = encodeURIComponent(owner)
  const read = async (key: string): Promise<string | undefined> => {
    try {
      return await withinStoreTimeout(store.get(key))
    } catch (cause) {
      throw new GatewayError('internal', 'The response store cannot be read. Try again later.', { cause })
    }
  }
  const objects = createObjectRecords({ store, read, own, owner, ttlMs: objectTtlMs })
  return {
    owner,
    sealSecret,
    objects,
    isEnabled: configuredStore !== undefined,
    async response(id) {
      const text = await read(`response:${id}`)
      if (text === undefined) return undefined
      const record = readRecord(text)
      return record.owner === owner ? record : foreignRecord
    },
    async item(id) {
      // Clients choose ids of input items, so these ids are valid for one owner only.
      const text = await read(`item:${own}:${id}`)
      if (text !== undefined) return readObject(text)
      const claimed = await read(`item-owner:${id}`)
      return claimed === undefined || claimed === owner ? undefined : foreignRecord
    },
    async itemOwner(id) {
      const claimed = await read(`item-owner:${id}`)
      if (claimed === undefined) return undefined
      return claimed === owner || (await read(`item:${own}:${id}`)) !== undefined ? 'own' : 'other'
    },
    hasReceived: async (kind, id) =>
      configuredStore !== undefined &&
      ((await read(`received:${kind}:${id}`)) === owner || (await objects.find(kind, id)) !== undefined),
    async isOfOther(kind, id) {
      const receiver = await read(`received:${kind}:${id}`)
      return receiver !== undefined && receiver !== owner
    },
    async saveReceivedIds(received) {
      const keys = new Set(received.map(({ kind, id }) => `received:${kind}:${id}`))
      await inBatches([...keys].slice(0, maxStoredItems), (key) => store.set(key, owner, ttlMs, owner))
    },
    async generation(id) {
      // Upstreams choose the ids, so these are separate for each owner.
      const text = await read(`generation:${own}:${id}`)
      return text === undefined ? undefined : readObject(text)
    },
    async saveGeneration(id, generation) {
      await store.set(`generation:${own}:${id}`, stringifyExact(generation), ttlMs, owner)
    },
    async save(id, record, output) {
      const ids = idsOf(output)
      const items = record.kind === 'kept' ? itemsById([...record.input, ...output]) : []
      if (ids.length + items.length > maxStoredItems)
        throw new RangeError(`A response of more than ${maxStoredItems} items cannot be stored.`)
      await inBatches(ids, (name) => store.set(`item-owner:${name}`, owner, ttlMs, owner))
      await inBatches(items, ([name, item]) => store.set(`item:${own}:${name}`, stringifyExact(item), ttlMs, owner))
      await store.set(`response:${id}`, stringifyExact(record), ttlMs, owner)
    },
    async delete(id, record, output) {
      if (record.kind === 'kept')
        await inBatches(idsOf([...record.input, ...output]), (name) => store.delete(`item:${own}:${name}`, owner))
      await store.delete(`response:${id}`, owner)
    },
  }
}

const idsOf = (items: readonly Json[]): readonly string[] => [
  ...new Set(items.map(itemId).filter((name) => name !== undefined)),
]

/** Returns the items with ids. The last of several items with one id applies. */
const itemsById = (items: readonly Json[]): readonly (readonly [string, Json])[] => [
  ...new Map(items.map((item) => [itemId(item), item] as const).filter(hasId)),
]
const hasId = (entry: readonly [string | undefined, Json]): entry is readonly [string, Json] => entry[0] !== undefined

/** Parses a record. Stores are shared, copied and repaired by hand, so a value may differ from what was written. */
function readRecord(text: string): ResponseRecord {
  const { kind, owner, response, input, previous, upstream, work } = readObject(text)
  if (typeof owner === 'string') {
    if (kind === 'forwarded' && typeof upstream === 'string')
      return { kind, owner, upstream, ...(typeof work === 'string' ? { work } : {}) }
    const isWhole = isObject(response) && Array.isArray(input)
    if (kind === 'kept' && isWhole && (previous === undefined || typeof previous === 'string'))
      return { kind, owner, response, input, ...(previous === undefined ? {} : { previous }) }
  }
  throw damaged()
}

function readObject(text: string): JsonObject {
  let value: unknown
  try {
    value = parseExact(text)
  } catch (cause) {
    throw damaged(cause)
  }
  if (!isObject(value)) throw damaged()
  return value
}

const damaged = (cause?: unknown): GatewayError =>
  new GatewayError('internal', 'The stored response is damaged. It cannot be continued or fetched.', {
    cause,
  })

const emptyStore: ResponseStore = { get: () => undefined, set() {}, delete() {} }

export const itemId = (item: Json): string | undefined =>
  item !== null && typeof item === 'object' && !Array.isArray(item) && typeof item.id === 'string' && item.id !== ''
    ? item.id
    : undefined

/** Returns the output items of a response. */
export const outputItems = ({ output }: JsonObject): readonly Json[] => (Array.isArray(output) ? output : [])
