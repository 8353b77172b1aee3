import type { Logger } from '@modelgate/core'
import { createMemoryMeters } from '../meters/memory-meters.ts'
import type { MeterStore, Settlement } from '../meters/meter-store.ts'
import type { Claim } from './folder-claim.ts'
import { prepareFile } from './folder-files.ts'
import type { SavedCounts } from './saved-counts.ts'
import { openSavedCounts, readSavedCounts } from './saved-counts.ts'
import { explain } from './sqlite.ts'
import { StorageAwayError } from './storage.ts'

/** Settlements that are kept while another process counts. */
const mostKept = 10_000

export interface FolderMetersOptions {
  /** Milliseconds for which calls are counted here though another process counts in the folder. */
  readonly localMs: number
  readonly logger?: Pick<Logger, 'warn'>
  readonly now?: () => number
}

export interface FolderMeters extends MeterStore {
  /** Warns if another process counts in the folder. Throws StorageAwayError if the counts cannot be read. */
  check(): void
  /** Writes what is not written yet. Throws if it cannot. */
  flush(): void
  close(): void
}

/**
 * Counts in memory, and writes what changed behind. One process counts in a folder, the first that has a call to count; others can
 * look. A second one that has calls to count does so by what the first has written, for a while, and then refuses; when the first is gone
 * it takes over, and adds what it counted meanwhile.
 */
export function createFolderMeters(
  folder: string,
  name: string,
  claim: Claim,
  options: FolderMetersOptions,
): FolderMeters {
  const { localMs, logger, now } = options
  const clock = now === undefined ? {} : { now }
  const file = prepareFile(folder, name)
  let writer: SavedCounts | undefined
  let counting: MeterStore | undefined
  let local:
    | { readonly meters: MeterStore; readonly until: number; readonly calls: Map<string, Settlement> }
    | undefined

  const check = (): void => {
    if (counting !== undefined) return
    if (!claim.take()) {
      logger?.warn(`modelgate: ${besides(folder)}. ${refusedAfter(localMs)}. ${whatToDo}`)
      savedOr(file, () => readSavedCounts(file))
      return
    }
    try {
      const saved = openSavedCounts(file, logger)
      try {
        savedOr(file, saved.read)
      } finally {
        saved.close()
      }
    } finally {
      // The process that counts is the first that has a call to count.
      claim.release()
    }
  }
  const takeOver = (): MeterStore | undefined => {
    if (counting !== undefined) return counting
    if (!claim.take()) return undefined
    try {
      counting = countingFrom(openSavedCounts(file, logger))
    } finally {
      if (counting === undefined) claim.release()
    }
    return counting
  }
  const countingFrom = (saved: SavedCounts): MeterStore => {
    try {
      const meters = createMemoryMeters({ ...clock, saved: saved.read(), onChange: saved.changed })
      // Nobody there knows their reservations: they are counted with what they took.
      for (const settlement of local?.calls.values() ?? []) meters.settle(settlement)
      if (local !== undefined) logger?.warn(`modelgate: this process now counts in ${folder}`)
      local = undefined
      writer = saved
      return meters
    } catch (error) {
      saved.close()
      throw explain(error, file)
    }
  }
  /** Counts that are good for nothing but to go on with: those that the process that counts has written. */
  const beside = (): MeterStore => {
    if (local === undefined) {
      logger?.warn(
        `modelgate: ${besides(folder)}: limits are counted in each process for itself now. ${refusedAfter(localMs)}. ${whatToDo}`,
      )
      const meters = createMemoryMeters({ ...clock, saved: readSavedCounts(file) })
      local = { meters, until: performance.now() + localMs, calls: new Map() }
    }
    return local.meters
  }
  const countingOr = (other: () => MeterStore): MeterStore => takeOver() ?? other()

  return {
    check,
    reserve: (reservation) =>
      countingOr(() => {
        const meters = beside()
        if (local !== undefined && performance.now() < local.until) return meters
        throw new StorageAwayError(`${besides(folder)}. ${whatToDo}`)
      }).reserve(reservation),
    settle: (settlement) => {
      const meters = countingOr(beside)
      if (local !== undefined && !local.calls.has(settlement.callId)) {
        if (local.calls.size < mostKept) local.calls.set(settlement.callId, settlement)
        else if (local.calls.size === mostKept) {
          logger?.warn(
            `modelgate: more than ${mostKept} calls were made while another process counts in ${folder}: the rest is not written`,
          )
        }
      }
      return meters.settle(settlement)
    },
    renew: (calls) => (counting ?? local?.meters)?.renew(calls),
    read: (tokenId, meters) => looking().read(tokenId, meters),
    sums: (query) => looking().sums(query),
    flush: () => writer?.flush(),
    close: () => {
      try {
        if (local !== undefined && local.calls.size > 0 && takeOver() === undefined) {
          logger?.warn(
            `modelgate: ${local.calls.size} calls are not counted in ${folder}: another process counts there`,
          )
        }
        writer?.flush()
      } finally {
        writer?.close()
        writer = undefined
        claim.release()
      }
    },
  }

  function looking(): MeterStore {
    return counting ?? local?.meters ?? createMemoryMeters({ ...clock, saved: readSavedCounts(file) })
  }
}

const besides = (folder: string): string => `another process counts calls in ${folder}`
const refusedAfter = (localMs: number): string =>
  `Calls of tokens with limits are refused with 503 after ${localMs / 1000} s, and calls of this process are not counted there`
const whatToDo = 'Stop the other process, or let both share a Redis (redisStorage(), or redis in a configuration)'

/** Counts that are no JSON fail every call as much as a damaged file. */
function savedOr(file: string, read: () => unknown): void {
  try {
    read()
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw explain(error, file)
    throw new StorageAwayError(
      `${file} is damaged. Restore it from a backup, or move it away to start with an empty one`,
      { cause: error },
    )
  }
}
