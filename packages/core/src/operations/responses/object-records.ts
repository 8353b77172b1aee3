import { GatewayError } from '../../base/errors.ts'
import { isObject } from '../../base/json/json.ts'
import type { ResponseStore } from '../../config/stores.ts'
import type { ReferenceKind } from '../../formats/references/places.ts'
import { withinStoreTimeout } from './store-timeout.ts'

/** An object that an upstream stores for its owner. */
export interface StoredObject {
  readonly id: string
  readonly upstream: string
  /** Milliseconds since 1970. */
  readonly createdAt: number
  /** Values of fields that a list can be filtered by, or that a later call needs. */
  readonly fields?: Readonly<Record<string, string>>
}

/** The objects of one caller. Keys of the store contain the owner: the records of other callers cannot be read or replaced. */
export interface ObjectRecords {
  /** Returns an object of this caller; undefined for an id that is not the caller's, as far as the gateway knows. */
  find(kind: ReferenceKind, id: string): Promise<StoredObject | undefined>
  /** Returns the caller's objects of a kind, the oldest first. */
  list(kind: ReferenceKind): Promise<readonly StoredObject[]>
  /** Records an object that is in no list, such as an upload that has begun. */
  saveUnlisted(kind: ReferenceKind, object: StoredObject): Promise<void>
  deleteUnlisted(kind: ReferenceKind, id: string): Promise<void>
  /** Records a new object. */
  save(kind: ReferenceKind, object: StoredObject): Promise<void>
  delete(kind: ReferenceKind, id: string): Promise<void>
}

/** Largest number of objects of a kind in the list of one caller: each creation writes the list again. */
export const maxListedObjects = 5000

/**
 * Ids of providers: a segment of a path, or Google's name of a resource (`files/abc`). Anything else must reach neither the store nor an
 * upstream's path. Names keep Google's ids apart from those of other providers, so no caller can choose the id of another API's object.
 */
const possibleId = /^(?:[a-z]{1,30}\/)?[\w-]{1,256}$/

interface ObjectStore {
  readonly store: ResponseStore
  readonly read: (key: string) => Promise<string | undefined>
  /** The owner as part of keys. */
  readonly own: string
  readonly owner: string
  readonly ttlMs: number
}

/** Changes of a list wait for each other within this process. Several processes may still replace each other's change. */
const pendingChanges = new WeakMap<ResponseStore, Map<string, Promise<void>>>()

/** Creates the access to the objects of one caller. */
export function createObjectRecords({ store, read, own, owner, ttlMs }: ObjectStore): ObjectRecords {
  const keyOf = (kind: ReferenceKind, id: string): string => `object:${own}:${kind}:${id}`
  const listKeyOf = (kind: ReferenceKind): string => `objects:${own}:${kind}`
  const list = async (kind: ReferenceKind): Promise<readonly StoredObject[]> => {
    const value = parse(await read(listKeyOf(kind)))
    const oldest = Date.now() - ttlMs
    return Array.isArray(value) ? value.filter(isStoredObject).filter(({ createdAt }) => createdAt > oldest) : []
  }
  const change = (
    kind: ReferenceKind,
    edit: (all: readonly StoredObject[]) => readonly StoredObject[],
  ): Promise<void> =>
    inTurn(store, listKeyOf(kind), async () => {
      const changed = edit(await list(kind))
      await withinStoreTimeout(store.set(listKeyOf(kind), JSON.stringify(changed), ttlMs, owner))
    })
  return {
    async find(kind, id) {
      if (!possibleId.test(id)) return undefined
      const value = parse(await read(keyOf(kind, id)))
      return isStoredObject(value) && value.id === id ? value : undefined
    },
    list,
    async saveUnlisted(kind, object) {
      await withinStoreTimeout(store.set(keyOf(kind, object.id), JSON.stringify(object), ttlMs, owner))
    },
    deleteUnlisted: (kind, id) => withinStoreTimeout(store.delete(keyOf(kind, id), owner)),
    async save(kind, object) {
      await change(kind, (all) => {
        if (all.length >= maxListedObjects) throw tooMany(kind)
        return [...all.filter(({ id }) => id !== object.id), object]
      })
      await withinStoreTimeout(store.set(keyOf(kind, object.id), JSON.stringify(object), ttlMs, owner))
    },
    async delete(kind, id) {
      await withinStoreTimeout(store.delete(keyOf(kind, id), owner))
      await change(kind, (all) => all.filter((object) => object.id !== id))
    },
  }
}

/** The error for a caller with too many objects. */
export const tooMany = (kind: ReferenceKind): GatewayError =>
  new GatewayError(
    'invalid_request',
    `You have ${maxListedObjects} ${kind}, the largest number that the gateway keeps for a caller. Delete some of them.`,
  )

function inTurn(store: ResponseStore, key: string, run: () => Promise<void>): Promise<void> {
  const pending = pendingChanges.get(store) ?? new Map<string, Promise<void>>()
  pendingChanges.set(store, pending)
  const done = (pending.get(key) ?? Promise.resolve()).then(run, run)
  pending.set(key, done)
  const forget = (): void => {
    if (pending.get(key) === done) pending.delete(key)
  }
  done.then(forget, forget)
  return done
}

/** Stores are shared and repaired by hand, so a value may differ from what was written. */
function parse(text: string | undefined): unknown {
  if (text === undefined) return undefined
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new GatewayError('internal', 'The record of a stored object is damaged.', { cause })
  }
}

const isStoredObject = (value: unknown): value is StoredObject =>
  isObject(value as never) &&
  typeof (value as Partial<StoredObject>).id === 'string' &&
  typeof (value as Partial<StoredObject>).upstream === 'string' &&
  typeof (value as Partial<StoredObject>).createdAt === 'number'
