import type { OwnerStore, Storage, TokenStore } from '../../contract/storage.ts'
import type { Owner, TokenRecord } from '../../contract/token.ts'
import { createMemoryMeters } from './meters.ts'

/**
 * Creates a storage in the memory of this process, whose content is lost when the process ends. For tests, and for tokens that a process
 * issues for itself.
 */
export function memoryStorage(): Storage {
  return {
    tokens: createMemoryTokens(),
    meters: createMemoryMeters(),
    owners: createMemoryOwners(),
    close: async () => {},
  }
}

/** Creates a store of owners in memory. Its methods return values, not promises. */
function createMemoryOwners(): OwnerStore {
  /** Records as JSON text, so that callers cannot change a stored record. */
  const records = new Map<string, string>()
  const read = (owner: string): Owner | undefined => {
    const text = records.get(owner)
    return text === undefined ? undefined : (JSON.parse(text) as Owner)
  }
  return {
    get: read,
    put: (record) => void records.set(record.owner, JSON.stringify(record)),
    delete: (owner) => records.delete(owner),
    list: ({ after, limit = 100 }) => {
      const names = [...records.keys()].sort().filter((name) => after === undefined || name > after)
      return pageOfOwners(
        names.slice(0, limit + 1).flatMap((name) => read(name) ?? []),
        limit,
      )
    },
  }
}

/** Returns a page of at most `limit` owners, and its `next` if there is one more. */
export function pageOfOwners(
  found: readonly Owner[],
  limit: number,
): { readonly owners: readonly Owner[]; readonly next?: string } {
  const owners = found.slice(0, limit)
  const last = owners.at(-1)
  return found.length > limit && last !== undefined ? { owners, next: last.owner } : { owners }
}

/** Creates a token store in memory. Its methods return values, not promises. */
export function createMemoryTokens(): TokenStore {
  /** Records as JSON text, so that callers cannot change a stored record. */
  const records = new Map<string, string>()
  const digests = new Map<string, string>()

  const read = (id: string): TokenRecord | undefined => {
    const text = records.get(id)
    return text === undefined ? undefined : (JSON.parse(text) as TokenRecord)
  }
  /** Checks every digest before it writes anything, so that a failure changes nothing. */
  const put = (record: TokenRecord): void => {
    for (const { digest } of record.secrets) {
      const holder = digests.get(digest)
      if (holder !== undefined && holder !== record.id) throw duplicateDigestError(record.id, holder)
    }
    records.set(record.id, JSON.stringify(record))
    for (const { digest } of record.secrets) digests.set(digest, record.id)
  }

  return {
    findByDigest: (digest) => {
      const id = digests.get(digest)
      return id === undefined ? undefined : read(id)
    },
    get: read,
    create: (record) => {
      if (records.has(record.id)) throw duplicateIdError(record.id)
      put(record)
    },
    change: (id, change) => {
      const before = read(id)
      if (before === undefined) return undefined
      const oldDigests = before.secrets.map(({ digest }) => digest)
      const after = nextVersion(before, change)
      put(after)
      for (const digest of oldDigests) {
        if (!after.secrets.some((secret) => secret.digest === digest)) digests.delete(digest)
      }
      return after
    },
    list: ({ owner, after, limit = 100 }) => {
      const all = [...records.keys()]
        .map((id) => read(id))
        .filter((record): record is TokenRecord => record !== undefined)
        .sort((a, b) => a.createdAt - b.createdAt || (a.id < b.id ? -1 : 1))
      const start = after === undefined ? 0 : all.findIndex(({ id }) => id === after) + 1
      if (after !== undefined && start === 0) return { tokens: [] }
      return pageOf(
        all.slice(start).filter((record) => owner === undefined || record.owner === owner),
        limit,
      )
    },
  }
}

/** Returns a page of at most `limit` records, and its `next` if there is one more record. */
export function pageOf(
  records: readonly TokenRecord[],
  limit: number,
): { readonly tokens: readonly TokenRecord[]; readonly next?: string } {
  const tokens = records.slice(0, limit)
  const last = tokens.at(-1)
  return records.length > limit && last !== undefined ? { tokens, next: last.id } : { tokens }
}

/** Applies a change to a record and increases its version. Throws if the change modifies the id, by which records are found. */
export function nextVersion(before: TokenRecord, change: (record: TokenRecord) => TokenRecord): TokenRecord {
  const { id, version } = before
  const after = change(before)
  if (after.id !== id)
    throw new Error(`A change of token ${id} returned a record of token ${after.id}: an id cannot change`)
  return { ...after, version: version + 1 }
}

export const duplicateIdError = (id: string): Error => new Error(`Token ${id} exists already`)

export const duplicateDigestError = (id: string, holder: string): Error =>
  new Error(`A secret of token ${id} belongs to token ${holder} already`)
