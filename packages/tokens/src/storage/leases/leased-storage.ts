import { type Logger, toLogger } from '@modelgate/core'
import type { Storage } from '../../contract/storage.ts'
import { createLeasedMeters } from './leased-meters.ts'

/** Options of `leasedStorage`. */
export interface LeasedStorageOptions {
  /** Number of processes that use the storage. All leases together hold at most an eighth of what a limit or budget has left. */
  readonly processes: number
  /** Receives an error if counts are lost. Default: `console`. `false` logs nothing. */
  readonly logger?: Logger | false
}

/**
 * Wraps a storage that counts calls elsewhere, as one of several processes that share it: a process with many calls of one token
 * reserves what they need for about a second, in one step, and counts them itself. Limits and budgets are never exceeded. What other
 * processes hold counts as used for up to a second, so a call close to a limit may be rejected early, and thresholds of budgets may be reported early.
 */
export function leasedStorage(storage: Storage, { processes, logger }: LeasedStorageOptions): Storage {
  const meters = createLeasedMeters(storage.meters, { processes: () => processes, logger: toLogger(logger) })
  const { tokens, owners } = storage
  return {
    tokens,
    meters,
    ...(owners === undefined ? {} : { owners }),
    ...(storage.check === undefined ? {} : { check: storage.check.bind(storage) }),
    ...(storage.ping === undefined ? {} : { ping: storage.ping.bind(storage) }),
    async close() {
      await meters.close()
      await storage.close()
    },
  }
}
