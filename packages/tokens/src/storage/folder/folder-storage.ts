import { statSync } from 'node:fs'
import { join } from 'node:path'
import { type Logger, toLogger } from '@modelgate/core'
import type { Storage } from '../../contract/storage.ts'
import { createProcessLock, prepareFile, prepareFolder } from './files.ts'
import { createFolderMeters } from './meters.ts'
import { createFolderTokens } from './tokens.ts'

/** Options of `folderStorage`. */
export interface FolderStorageOptions {
  /**
   * Milliseconds for which this process admits calls of limited tokens while another one counts in the folder, for example during a
   * restart with overlap. After that, such calls are rejected (StorageAwayError). 0: at once. Default: 30 s.
   */
  readonly localMs?: number
  /**
   * Receives warnings: about another process that counts in the folder, an empty `tokens.db`, and counts that cannot be written.
   * Default: `console`. `false` logs nothing.
   */
  readonly logger?: Pick<Logger, 'warn'> | false
}

/** A storage in a folder. Counts are written up to 100 ms after they change. */
export interface FolderStorage extends Storage {
  /** Writes all unwritten counts. Rejects with StorageAwayError if it cannot. */
  flush(): Promise<void>
}

/**
 * Creates a storage of tokens and counts in a folder of this machine. The folder is created with mode 0700, its files with 0600.
 *
 * Several processes may use the tokens, for example a command line and a running gateway. A change is on the disk when its promise
 * resolves, and all processes see it. One process counts calls, the first that has a call to count; for several, use `redisStorage()`.
 * Counts are written every 100 ms: a crash of the process loses at most the last 100 ms of them, `close()` nothing.
 *
 * Not for network file systems, because their locks are not reliable.
 *
 * @param path default: `modelgate-data` in the working directory
 * @throws Error if the folder cannot be created, read or written, or was written by a newer version; RangeError for an invalid `localMs`.
 */
export function folderStorage(path = 'modelgate-data', options: FolderStorageOptions = {}): FolderStorage {
  const { localMs = 30_000 } = options
  const logger = toLogger(options.logger)
  if (!(localMs >= 0)) throw new RangeError(`localMs is ${localMs}: it must be a number of milliseconds, 0 or more`)
  const folder = prepareFolder(path)
  warnOfLostTokens(folder, logger)
  const file = prepareFile(folder, 'tokens.db')
  const tokens = createFolderTokens(file)
  const meters = createFolderMeters(folder, 'meters.db', createProcessLock(folder, 'counting.lock'), {
    localMs,
    logger,
  })
  let closed = false
  return {
    tokens,
    meters,
    owners: tokens.owners,
    check: meters.check,
    flush: async () => meters.flush(),
    close: async () => {
      if (closed) return
      closed = true
      try {
        meters.close()
      } finally {
        tokens.close()
      }
    },
  }
}

/** Warns if `tokens.db` is empty or missing in a used folder: it would be opened like a new one, and every token would be unknown for no visible reason. */
function warnOfLostTokens(folder: string, logger: Pick<Logger, 'warn'>): void {
  const sizeOf = (name: string): number | undefined => statSync(join(folder, name), { throwIfNoEntry: false })?.size
  const tokens = sizeOf('tokens.db')
  // Created after the tables of tokens.db: a folder that another process is just creating has no meters.db yet.
  const wasUsed = sizeOf('meters.db') !== undefined
  const isLost = wasUsed && (tokens === undefined || tokens === 0)
  if (!isLost) return
  logger.warn(
    `modelgate: ${join(folder, 'tokens.db')} is ${tokens === 0 ? 'empty' : 'missing'}, so no token exists. If tokens were issued before, stop the server and restore the file from a backup`,
  )
}
