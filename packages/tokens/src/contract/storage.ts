import type { Awaitable } from '../base/async.ts'
import type { MeterStore } from './meter-store.ts'
import type { Owner, TokenRecord } from './token.ts'

/**
 * Storage of tokens and their counts. `memoryStorage()`, `folderStorage(path)` and `redisStorage({ client })` create one. Methods throw
 * StorageAwayError if they cannot reach their data. Those that calls need do so within a time that a request can wait.
 */
export interface Storage {
  readonly tokens: TokenStore
  readonly meters: MeterStore
  /** Limits and budgets of owners. Absent: the storage does not support them. */
  readonly owners?: OwnerStore
  /**
   * Called when a gateway starts. Throws for anything that would fail every call, such as a damaged file, and logs what an
   * operator should know. Default: checks nothing.
   */
  check?(): void
  /**
   * Resolves if the data can be reached, for readiness checks. Rejects with StorageAwayError otherwise, within the time that a request can wait.
   * Default: the data is in this process.
   */
  ping?(): Promise<void>
  /** Writes all unwritten data, and releases files and timers. Connections of the host stay open. */
  close(): Promise<void>
}

/** A page of the list of tokens. */
export interface TokenQuery {
  readonly owner?: string
  /** The `next` of the previous page. */
  readonly after?: string
  /** 1 to 1,000. Default: 100. */
  readonly limit?: number
}

/** Store of tokens, which are found by their id and by the digest of each of their secrets. All processes see a change at once. */
export interface TokenStore {
  /** Returns the token with a secret of this digest, in any state: revoked ones are found too. */
  findByDigest(digest: string): Awaitable<TokenRecord | undefined>
  get(id: string): Awaitable<TokenRecord | undefined>
  /** Throws if the id or a digest exists already. */
  create(record: TokenRecord): Awaitable<void>
  /**
   * Replaces a record by the result of `change`, atomically. `change` may be called again if another process changed the record in
   * between. Digests that the result does not contain are no longer found.
   *
   * @returns the record with its version increased; undefined if there is no such token
   */
  change(id: string, change: (record: TokenRecord) => TokenRecord): Awaitable<TokenRecord | undefined>
  /** Returns tokens, the oldest first. `next` is set if there are more. */
  list(query: TokenQuery): Awaitable<{ readonly tokens: readonly TokenRecord[]; readonly next?: string }>
}

/** A page of the list of owners. */
export interface OwnerQuery {
  /** The `next` of the previous page. */
  readonly after?: string
  /** 1 to 1,000. Default: 100. */
  readonly limit?: number
}

/** Store of the settings of owners. All processes see a change at once. */
export interface OwnerStore {
  get(owner: string): Awaitable<Owner | undefined>
  /** Creates or replaces the record of its owner. */
  put(record: Owner): Awaitable<void>
  /** Returns false if there was no record. */
  delete(owner: string): Awaitable<boolean>
  /** Returns records, ordered by owner. `next` is set if there are more. */
  list(query: OwnerQuery): Awaitable<{ readonly owners: readonly Owner[]; readonly next?: string }>
}

/** The storage cannot be reached, or did not respond in time. */
export class StorageAwayError extends Error {
  override readonly name = 'StorageAwayError'
  /** The storage itself logs when it becomes unavailable. */
  isLogged?: boolean
}
