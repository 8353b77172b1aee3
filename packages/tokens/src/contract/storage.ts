import type { Awaitable } from '../base/async.ts'
import type { MeterStore } from './meter-store.ts'
import type { TokenRecord } from './token.ts'

/**
 * Where tokens and their counts are kept. `memoryStorage()`, `folderStorage(path)` and `redisStorage({ client })` make one.
 * Methods that cannot reach what they keep throw StorageAwayError, those that calls need within a time that a request can wait.
 */
export interface Storage {
  readonly tokens: TokenStore
  readonly meters: MeterStore
  /**
   * Called when a gateway starts with it. Throws what would fail every call, such as a damaged file, and logs what needs attention.
   * Default: nothing is checked.
   */
  check?(): void
  /** Writes what is not written yet, and lets go of files and timers. Connections that were handed in stay open. */
  close(): Promise<void>
}

/** Which tokens are listed, a page at a time. */
export interface TokenQuery {
  readonly owner?: string
  /** As `next` of the page before. */
  readonly after?: string
  /** 1 to 1,000. Default 100. */
  readonly limit?: number
}

/** The tokens, found by id and by the digest of any of their secrets. What was changed is seen by every process at once. */
export interface TokenStore {
  /** The token one of whose secrets has this digest, whatever its state: revoked ones are found too. */
  findByDigest(digest: string): Awaitable<TokenRecord | undefined>
  get(id: string): Awaitable<TokenRecord | undefined>
  /** Throws if the id or a digest is there already. */
  create(record: TokenRecord): Awaitable<void>
  /**
   * Puts what `change` makes of the record in its place, as one step: no other change falls between. `change` may be called
   * again where another process was faster. It gives back the record with its version raised; digests it leaves out are
   * no longer found. undefined: there is no such token.
   */
  change(id: string, change: (record: TokenRecord) => TokenRecord): Awaitable<TokenRecord | undefined>
  /** The oldest first. `next` is there while there are more. */
  list(query: TokenQuery): Awaitable<{ readonly tokens: readonly TokenRecord[]; readonly next?: string }>
}

/** The store cannot be reached, or did not answer in time. */
export class StorageAwayError extends Error {
  override readonly name = 'StorageAwayError'
}
