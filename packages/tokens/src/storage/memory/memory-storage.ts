import type { Storage, TokenStore } from '../../contract/storage.ts'
import type { TokenRecord } from '../../contract/token.ts'
import { createMemoryMeters } from './meters.ts'

/** Tokens in the memory of this process. Every method answers at once. */
export function createMemoryTokens(): TokenStore {
  /** As text: what was handed out or in cannot be changed from outside afterwards. */
  const records = new Map<string, string>()
  const digests = new Map<string, string>()

  const read = (id: string): TokenRecord | undefined => {
    const text = records.get(id)
    return text === undefined ? undefined : (JSON.parse(text) as TokenRecord)
  }
  /** Every digest is looked at before anything is written: a refusal leaves no trace. */
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
      const held = before.secrets.map(({ digest }) => digest)
      const after = nextVersion(before, change)
      put(after)
      for (const digest of held) {
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

/** A page of records of which there may be one more than belongs on it. */
export function pageOf(
  records: readonly TokenRecord[],
  limit: number,
): { readonly tokens: readonly TokenRecord[]; readonly next?: string } {
  const tokens = records.slice(0, limit)
  const last = tokens.at(-1)
  return records.length > limit && last !== undefined ? { tokens, next: last.id } : { tokens }
}

/** What a change makes of a record, with its version raised. Records are found by id: one that changed it would be lost. */
export function nextVersion(before: TokenRecord, change: (record: TokenRecord) => TokenRecord): TokenRecord {
  const { id, version } = before
  const after = change(before)
  if (after.id !== id) throw new Error(`A change of token ${id} gave a record of token ${after.id}: ids stay`)
  return { ...after, version: version + 1 }
}

export const duplicateIdError = (id: string): Error => new Error(`Token ${id} exists already`)

export const duplicateDigestError = (id: string, holder: string): Error =>
  new Error(`A secret of token ${id} belongs to token ${holder} already`)

/** Tokens and counts in the memory of this process: gone with it. For tests, and for tokens that a process issues for itself. */
export function memoryStorage(): Storage {
  return { tokens: createMemoryTokens(), meters: createMemoryMeters(), close: async () => {} }
}
