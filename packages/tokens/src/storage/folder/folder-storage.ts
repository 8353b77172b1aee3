import { statSync } from 'node:fs'
import { join } from 'node:path'
import type { Logger } from '@modelgate/core'
import { safeLogger } from '../../base/safe-logger.ts'
import type { Storage } from '../../contract/storage.ts'
import { createProcessLock, prepareFile, prepareFolder } from './files.ts'
import { createFolderMeters } from './meters.ts'
import { createFolderTokens } from './tokens.ts'

/** What `folderStorage` takes. */
export interface FolderStorageOptions {
  /**
   * Milliseconds for which this process counts calls for itself while another one counts in the folder, as when a new one is started
   * before the old one is gone; then calls are refused (StorageAwayError). 0: at once. Default: 30 s.
   */
  readonly localMs?: number
  /**
   * Receives a warning for another process that counts in the folder, for an empty `tokens.db`, and for counts that cannot be written.
   * Default `console`; `false`: none.
   */
  readonly logger?: Pick<Logger, 'warn'> | false
}

/** A storage in a folder; it keeps counts in memory for a moment before it writes them. */
export interface FolderStorage extends Storage {
  /** Writes the counts that are not written yet. StorageAwayError if it cannot. */
  flush(): Promise<void>
}

/**
 * Tokens and counts in a folder of this machine, which is made if it is not there (0700, its files 0600).
 *
 * Several processes may use it for tokens: a command line beside a running gateway, say. A change is on the disk when its promise
 * resolves, and seen by all. Calls are counted by one of them, the first that has one to count; for many there is `redisStorage()`.
 * Counts are written every 100 ms: a crash loses that much of them at most, `close()` nothing.
 *
 * Not for network file systems: their locks cannot be relied on.
 *
 * Throws if the folder cannot be made, read or written, or was written by a newer version; RangeError for a time that is none.
 *
 * @param path Default: `modelgate-data` in the working directory.
 */
export function folderStorage(path = 'modelgate-data', options: FolderStorageOptions = {}): FolderStorage {
  const { localMs = 30_000 } = options
  const logger = safeLogger(options.logger)
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

/** A `tokens.db` that lost its content is opened like a new one: every token would be unknown without a reason to be seen. */
function warnOfLostTokens(folder: string, logger: Pick<Logger, 'warn'>): void {
  const sizeOf = (name: string): number | undefined => statSync(join(folder, name), { throwIfNoEntry: false })?.size
  const tokens = sizeOf('tokens.db')
  // Made after the tokens have their tables: a folder that another process is just making has no counts yet.
  const wasUsed = sizeOf('meters.db') !== undefined
  const isLost = wasUsed && (tokens === undefined || tokens === 0)
  if (!isLost) return
  logger.warn(
    `modelgate: ${join(folder, 'tokens.db')} is ${tokens === 0 ? 'empty' : 'missing'}, so no token is known. If tokens were issued before, stop the server and restore the file from a backup`,
  )
}
