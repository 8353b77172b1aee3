import { inBatches } from '../../base/async.ts'
import { GatewayError } from '../../base/errors.ts'
import { parseExact, stringifyExact } from '../../base/json/exact-number.ts'
import { isObject } from '../../base/json/object.ts'
import type { Json, JsonObject } from '../../base/json/types.ts'
import type { Identity } from '../../config/identity.ts'
import type { ResponseStore } from '../../config/stores.ts'
import type { Received, ReferenceKind } from '../../formats/references/places.ts'

/** An answer that the gateway keeps whole, because its upstream keeps nothing. */
export interface KeptResponse {
  readonly kind: 'kept'
  readonly owner: string
  readonly response: JsonObject
  /** The items this call added; those before it are kept with `previous`. */
  readonly input: readonly Json[]
  readonly previous?: string
}
/** An answer that its upstream keeps: only where, and whose it is. */
export interface ForwardedResponse {
  readonly kind: 'forwarded'
  readonly owner: string
  readonly upstream: string
}
/** Items of one response that are stored under their ids. Responses with more are not kept: each item is a call to the store. */
const mostStoredItems = 5000
export type ResponseRecord = KeptResponse | ForwardedResponse

/** Something that is another caller's: to this one it is not there, and an upstream must not be asked for it either. */
export const foreignRecord = Symbol('foreign')

/** What one caller may see of a store. */
export interface CallerRecords {
  readonly owner: string
  /** Whether anything is kept for this caller. */
  readonly isEnabled: boolean
  response(id: string): Promise<ResponseRecord | typeof foreignRecord | undefined>
  /** A stored item of this caller. */
  item(id: string): Promise<JsonObject | typeof foreignRecord | undefined>
  /** For whom an item with this id was made; `'own'` also where this caller has stored one under it. Undefined: not known. */
  itemOwner(id: string): Promise<'own' | 'other' | undefined>
  /** Whether this caller received the id of a stored object, such as a container, in a response. */
  hasReceived(kind: ReferenceKind, id: string): Promise<boolean>
  /** Records that this caller received such ids. Does nothing for callers for which nothing is kept. */
  saveReceivedIds(received: readonly Received[]): Promise<void>
  /** @param output the items of the answer: their names were given by whoever made it, so nobody else can claim them */
  save(id: string, record: ResponseRecord, output: readonly Json[]): Promise<void>
  /** @param output as for `keep` */
  delete(id: string, record: ResponseRecord, output: readonly Json[]): Promise<void>
}

/** @param keptIn absent: nothing is kept, and everything is unknown */
export function createCallerRecords(
  keptIn: ResponseStore | undefined,
  ttlMs: number,
  identity: Identity | null,
): CallerRecords {
  const store = keptIn ?? nothing
  const owner = identity?.id ?? ''
  const own = encodeURIComponent(owner)
  const read = async (key: string): Promise<string | undefined> => {
    try {
      return await withinStoreTimeout(store.get(key))
    } catch (cause) {
      throw new GatewayError('internal', 'The store of responses cannot be read; try again later.', { cause })
    }
  }
  return {
    owner,
    isEnabled: keptIn !== undefined,
    async response(id) {
      const text = await read(`response:${id}`)
      if (text === undefined) return undefined
      const record = readRecord(text)
      return record.owner === owner ? record : foreignRecord
    },
    async item(id) {
      // Clients name input items as they like, so these names mean something within one owner's things only.
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
    hasReceived: async (kind, id) => keptIn !== undefined && (await read(`received:${kind}:${id}`)) === owner,
    async saveReceivedIds(received) {
      const keys = new Set(received.map(({ kind, id }) => `received:${kind}:${id}`))
      await inBatches([...keys].slice(0, mostStoredItems), (key) => store.set(key, owner, ttlMs, owner))
    },
    async save(id, record, output) {
      const names = namesOf(output)
      const items = record.kind === 'kept' ? itemsByName([...record.input, ...output]) : []
      if (names.length + items.length > mostStoredItems)
        throw new RangeError(`A response of more than ${mostStoredItems} items is not kept.`)
      await inBatches(names, (name) => store.set(`item-owner:${name}`, owner, ttlMs, owner))
      await inBatches(items, ([name, item]) => store.set(`item:${own}:${name}`, stringifyExact(item), ttlMs, owner))
      await store.set(`response:${id}`, stringifyExact(record), ttlMs, owner)
    },
    async delete(id, record, output) {
      if (record.kind === 'kept')
        await inBatches(namesOf([...record.input, ...output]), (name) => store.delete(`item:${own}:${name}`, owner))
      await store.delete(`response:${id}`, owner)
    },
  }
}

const namesOf = (items: readonly Json[]): readonly string[] => [
  ...new Set(items.map(itemId).filter((name) => name !== undefined)),
]

/** Of several with one name the last. */
const itemsByName = (items: readonly Json[]): readonly (readonly [string, Json])[] => [
  ...new Map(items.map((item) => [itemId(item), item] as const).filter(isNamed)),
]
const isNamed = (entry: readonly [string | undefined, Json]): entry is readonly [string, Json] => entry[0] !== undefined

/** Stores are shared, copied and mended by hand: what comes out need not be what went in. */
function readRecord(text: string): ResponseRecord {
  const { kind, owner, response, input, previous, upstream } = readObject(text)
  if (typeof owner === 'string') {
    if (kind === 'forwarded' && typeof upstream === 'string') return { kind, owner, upstream }
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
  new GatewayError('internal', 'What is stored of the response is damaged: it cannot be gone on from or fetched.', {
    cause,
  })

const nothing: ResponseStore = { get: () => undefined, set() {}, delete() {} }

/** A store that does not answer must not hold a client's call for ever. */
const storeTimeoutMs = 5000

export async function withinStoreTimeout<T>(answer: T | Promise<T>): Promise<T> {
  // Not only promises: query builders return thenables.
  if (typeof answer !== 'object' || answer === null || !('then' in answer)) return answer
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new Error(`The store did not answer within ${storeTimeoutMs / 1000} s.`)),
      storeTimeoutMs,
    )
  })
  try {
    return await Promise.race([answer, late])
  } finally {
    clearTimeout(timer)
  }
}

export const itemId = (item: Json): string | undefined =>
  item !== null && typeof item === 'object' && !Array.isArray(item) && typeof item.id === 'string' && item.id !== ''
    ? item.id
    : undefined

/** The items of an answer. */
export const outputItems = ({ output }: JsonObject): readonly Json[] => (Array.isArray(output) ? output : [])
