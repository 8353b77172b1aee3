import { join } from 'node:path'
import type { Logger } from '@modelgate/core'
import type { MeterStore } from '../../contract/meter-store.ts'
import { StorageAwayError } from '../../contract/storage.ts'
import { createMemoryMeters } from '../memory/meters.ts'
import { type ProcessLock, prepareFile } from './files.ts'
import {
  deletePendingBatches,
  openPendingCalls,
  type PendingCalls,
  pendingFile,
  readPendingBatches,
} from './pending-calls.ts'
import { type Counts, openSavedCounts, readSavedCounts, type SavedCounts } from './saved-counts.ts'
import { toStorageError } from './sqlite.ts'

/** Milliseconds between two looks for calls that other processes settled. */
const mergeEveryMs = 1_000

export interface FolderMetersOptions {
  /** Milliseconds for which limited tokens are admitted here though another process counts in the folder. */
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

/** The counts of the one process that counts. */
interface Counting {
  readonly meters: MeterStore
  readonly saved: SavedCounts
  /** Batches of `pending.db` that are part of the counts. */
  readonly merged: Set<string>
  nextMergeAt: number
}

/** The counts of a process while another one counts. */
interface Beside {
  /** Goes on from what the other process has written, for `localMs`. */
  readonly meters: MeterStore
  readonly until: number
  readonly pending: PendingCalls
}

/**
 * Counts in memory, and writes what changed behind. One process counts in a folder, the first that has a call to count. The others can
 * read. A second process that has calls to count admits them by what the first has written, for a while, and then refuses those of limited
 * tokens. What its calls took goes to `pending.db`, from which the process that counts adds it to its counts. When that process has ended, the
 * second one takes over.
 */
export function createFolderMeters(
  folder: string,
  name: string,
  claim: ProcessLock,
  options: FolderMetersOptions,
): FolderMeters {
  const { localMs, logger, now } = options
  const clock = now === undefined ? {} : { now }
  const file = prepareFile(folder, name)
  let counting: Counting | undefined
  let beside: Beside | undefined
  let mergeFailed = false
  let closed = false

  const check = (): void => {
    if (counting !== undefined) return
    if (!claim.acquire()) {
      logger?.warn(`modelgate: ${another(folder)}. ${refusedAfter(localMs)}. ${whatToDo}`)
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
      savedOr(join(folder, pendingFile), () => readPendingBatches(folder))
    } finally {
      // The process that counts is the first that has a call to count.
      claim.release()
    }
  }

  const takeOver = (): Counting | undefined => {
    if (counting !== undefined) {
      if (performance.now() >= counting.nextMergeAt) merge(counting)
      return counting
    }
    if (!claim.acquire()) return undefined
    try {
      counting = startCounting(openSavedCounts(file, logger))
    } finally {
      if (counting === undefined) claim.release()
    }
    merge(counting)
    // The reservations of these calls are not known there: the calls are counted with what they took.
    for (const settlement of beside?.pending.close() ?? []) counting.meters.settle(settlement)
    if (beside !== undefined) logger?.warn(`modelgate: this process now counts in ${folder}`)
    beside = undefined
    return counting
  }

  const startCounting = (saved: SavedCounts): Counting => {
    try {
      const { meters, merged } = saved.read()
      return {
        meters: createMemoryMeters({ ...clock, saved: meters, onChange: saved.add }),
        saved,
        merged: new Set(merged),
        nextMergeAt: 0,
      }
    } catch (error) {
      saved.close()
      throw toStorageError(error, file)
    }
  }

  /** Adds the calls of other processes to the counts. A failure is logged and tried again: it must not fail this process's own calls. */
  const merge = (into: Counting): void => {
    into.nextMergeAt = performance.now() + mergeEveryMs
    try {
      const batches = readPendingBatches(folder)
      const ids = new Set(batches.map(({ id }) => id))
      for (const id of into.merged) {
        if (ids.has(id)) continue
        into.merged.delete(id)
        into.saved.setMerged(id, false)
      }
      if (batches.length === 0) return
      for (const { id, settlements } of batches) {
        if (into.merged.has(id)) continue
        for (const settlement of settlements) into.meters.settle(settlement)
        into.merged.add(id)
        into.saved.setMerged(id, true)
      }
      // Only what is written as counted may be deleted.
      into.saved.flush()
      deletePendingBatches(folder, [...ids])
      mergeFailed = false
    } catch (error) {
      if (!mergeFailed) logger?.warn(`modelgate: calls of another process cannot be counted in ${folder} yet`, error)
      mergeFailed = true
    }
  }

  const startBeside = (): Beside => {
    if (beside === undefined) {
      logger?.warn(
        `modelgate: ${another(folder)}: limits hold in each process by itself now. ${refusedAfter(localMs)}. ${whatToDo}`,
      )
      beside = { meters: written(), until: performance.now() + localMs, pending: openPendingCalls(folder, logger) }
    }
    return beside
  }

  /** The counts as all processes have written them. */
  const written = (): MeterStore => {
    const { meters: saved, merged }: Counts = readSavedCounts(file)
    const meters = createMemoryMeters({ ...clock, saved })
    for (const { id, settlements } of readPendingBatches(folder))
      if (!merged.has(id)) for (const settlement of settlements) meters.settle(settlement)
    return meters
  }

  const looking = (): MeterStore => {
    if (counting === undefined) return beside?.meters ?? written()
    if (performance.now() >= counting.nextMergeAt) merge(counting)
    return counting.meters
  }

  return {
    check,
    reserve: (reservation) => {
      const own = takeOver()
      if (own !== undefined) return own.meters.reserve(reservation)
      const { meters, until } = startBeside()
      if (performance.now() >= until) throw new StorageAwayError(`${another(folder)}. ${whatToDo}`)
      return meters.reserve(reservation)
    },
    settle: (settlement) => {
      const own = takeOver()
      if (own !== undefined) return own.meters.settle(settlement)
      const { meters, pending } = startBeside()
      pending.add(settlement)
      return meters.settle(settlement)
    },
    renew: (calls) => (counting ?? beside)?.meters.renew(calls),
    read: (tokenId, meters) => looking().read(tokenId, meters),
    sums: (query) => looking().sums(query),
    flush: () => {
      counting?.saved.flush()
      beside?.pending.flush()
    },
    close: () => {
      if (closed) return
      closed = true
      try {
        if (counting !== undefined) {
          merge(counting)
          counting.nextMergeAt = Number.POSITIVE_INFINITY
          counting.saved.flush()
        }
        beside?.pending.flush()
      } finally {
        const lost = beside?.pending.close().length ?? 0
        if (lost > 0)
          logger?.warn(`modelgate: ${lost} calls are not counted in ${folder}, because they could not be written`)
        counting?.saved.close()
        claim.release()
      }
    },
  }
}

const another = (folder: string): string => `another process counts calls in ${folder}`
const refusedAfter = (localMs: number): string =>
  `What calls of this process take is added to the counts there, but calls of tokens with limits are refused with 503 after ${localMs / 1000} s`
const whatToDo = 'Stop the other process, or let both share a Redis (redisStorage(), or redis in a configuration)'

/** Counts that are no JSON fail every call as much as a damaged file. */
function savedOr(file: string, read: () => unknown): void {
  try {
    read()
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw toStorageError(error, file)
    throw new StorageAwayError(
      `${file} is damaged. Restore it from a backup, or move it away to start with an empty one`,
      { cause: error },
    )
  }
}
