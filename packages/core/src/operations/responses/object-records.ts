import { inBatches } from '../../base/async.ts'
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
  /** Milliseconds since 1970 of the last change of the object's lifetime: the record lives from then. Default: `createdAt`. */
  readonly renewedAt?: number
  /** Values of fields that a list can be filtered by, or that a later call needs. */
  readonly fields?: Readonly<Record<string, string>>
  /** The reservations of a batch that is not settled. Lists leave it out, because it may be long. */
  readonly work?: string
}

/**
 * Kinds of records: objects that clients refer to, uploads in several requests that are not complete, and the reservations of batches
 * whose own record does not contain them, because an earlier version wrote it.
 */
export type RecordKind = ReferenceKind | 'uploads' | 'batchWork'

/** The objects of one caller. Keys of the store contain the owner: the records of other callers cannot be read or replaced. */
export interface ObjectRecords {
  /** Milliseconds for which the record of an object is kept. */
  readonly lifetimeMs: number
  /** Returns an object of this caller; undefined for an id that is not the caller's, as far as the gateway knows. */
  find(kind: RecordKind, id: string): Promise<StoredObject | undefined>
  /** Returns the caller's objects of a kind, the oldest first. */
  list(kind: RecordKind): Promise<readonly StoredObject[]>
  /** Records a new object, or replaces a record. */
  save(kind: RecordKind, object: StoredObject): Promise<void>
  delete(kind: RecordKind, ids: readonly string[]): Promise<void>
}

interface Retention {
  /** Largest number of records of the kind for one caller: each creation writes the list again. */
  readonly max: number
  /** Default: the configured time of objects. */
  readonly ttlMs?: number
  /** Message of the error for a caller with too many. Absent: a new record replaces the oldest one. */
  readonly tooMany?: string
  /** The records are in no list. */
  readonly isUnlisted?: true
}

const objectsOf = (kind: RecordKind): Retention => ({
  max: 5000,
  tooMany: `You have 5000 ${kind}, the largest number that the gateway keeps for a caller. Delete some of them.`,
})

const retentions: { readonly [K in RecordKind]?: Retention } = {
  // Providers end a call after some hours, and no route lists calls.
  calls: { max: Number.POSITIVE_INFINITY, ttlMs: 24 * 60 * 60 * 1000, tooMany: '', isUnlisted: true },
  // Only read and deleted: the record of a batch contains its work.
  batchWork: { max: Number.POSITIVE_INFINITY, isUnlisted: true },
  // Clients that give up an upload rarely cancel it, so old ones must not prevent new ones.
  uploads: { max: 100, ttlMs: 24 * 60 * 60 * 1000 },
}

const retentionOf = (kind: RecordKind): Retention => retentions[kind] ?? objectsOf(kind)

/** Throws GatewayError `invalid_request` for a caller with the largest number of records of a kind. */
export function checkCount(kind: RecordKind, count: number): void {
  const { max, tooMany } = retentionOf(kind)
  if (count >= max && tooMany !== undefined) throw new GatewayError('invalid_request', tooMany)
}

/**
 * Ids of providers: a segment of a path, or Google's name of a resource (`files/abc`). Anything else must reach neither the store nor an
 * upstream's path. Names keep Google's ids apart from those of other providers, so no caller can choose the id of another API's object.
 */
const possibleId = /^(?:[a-zA-Z]{1,30}\/)?[\w-]{1,256}$/

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
  const keyOf = (kind: RecordKind, id: string): string => `object:${own}:${kind}:${id}`
  const listKeyOf = (kind: RecordKind): string => `objects:${own}:${kind}`
  const ttlOf = (kind: RecordKind): number => Math.min(ttlMs, retentionOf(kind).ttlMs ?? ttlMs)
  const list = async (kind: RecordKind): Promise<readonly StoredObject[]> => {
    const value = parse(await read(listKeyOf(kind)))
    const oldest = Date.now() - ttlOf(kind)
    return Array.isArray(value)
      ? value.filter(isStoredObject).filter((one) => (one.renewedAt ?? one.createdAt) > oldest)
      : []
  }
  const change = (kind: RecordKind, edit: (all: readonly StoredObject[]) => readonly StoredObject[]): Promise<void> =>
    inTurn(store, listKeyOf(kind), async () => {
      const changed = edit(await list(kind))
      await withinStoreTimeout(store.set(listKeyOf(kind), JSON.stringify(changed), ttlOf(kind), owner))
    })
  const deleteKeys = (kind: RecordKind, ids: readonly string[]): Promise<void> =>
    inBatches(ids, (id) => withinStoreTimeout(store.delete(keyOf(kind, id), owner)))
  return {
    lifetimeMs: ttlMs,
    async find(kind, id) {
      if (!possibleId.test(id)) return undefined
      const value = parse(await read(keyOf(kind, id)))
      return isStoredObject(value) && value.id === id ? value : undefined
    },
    list,
    async save(kind, object) {
      let dropped: readonly string[] = []
      if (retentionOf(kind).isUnlisted !== true)
        await change(kind, (all) => {
          const { work: _, ...listed } = object
          if (all.some(({ id }) => id === object.id)) return all.map((one) => (one.id === object.id ? listed : one))
          checkCount(kind, all.length)
          const first = Math.max(0, all.length + 1 - retentionOf(kind).max)
          dropped = all.slice(0, first).map(({ id }) => id)
          return [...all.slice(first), listed]
        })
      await deleteKeys(kind, dropped)
      await withinStoreTimeout(store.set(keyOf(kind, object.id), JSON.stringify(object), ttlOf(kind), owner))
    },
    async delete(kind, ids) {
      await deleteKeys(kind, ids)
      if (retentionOf(kind).isUnlisted === true) return
      const deleted = new Set(ids)
      await change(kind, (all) => all.filter(({ id }) => !deleted.has(id)))
    },
  }
}

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
