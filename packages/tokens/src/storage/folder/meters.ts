import { join } from 'node:path'
import type { Logger } from '@modelgate/core'
import type { MeterStore, ReachedAmount, ReachedListener, Settlement } from '../../contract/meter-store.ts'
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
import { openSavedCounts, readSavedCounts, type SavedCounts } from './saved-counts.ts'
import { toStorageError } from './sqlite.ts'

/** Milliseconds between two merges of the calls that other processes settled. */
const mergeIntervalMs = 1_000

export interface FolderMetersOptions {
  /** Milliseconds for which limited tokens are admitted here although another process counts in the folder. */
  readonly localMs: number
  readonly logger?: Pick<Logger, 'warn'>
  readonly now?: () => number
}

export interface FolderMeters extends MeterStore {
  /** Warns if another process counts in the folder. Throws StorageAwayError if the counts cannot be read. */
  check(): void
  /** Writes all unwritten counts. Throws StorageAwayError if it cannot. */
  flush(): void
  close(): void
}

/** State of the process that counts in the folder. */
interface Primary {
  readonly meters: MeterStore
  readonly saved: SavedCounts
  /** Ids of the batches of `pending.db` that are part of the counts. */
  readonly merged: Set<string>
  nextMergeAt: number
}

/** State of a process with calls to count while another one is the primary. */
interface Secondary {
  /** Continues from the counts that the primary has written, for `localMs`. */
  readonly meters: MeterStore
  readonly until: number
  readonly pending: PendingCalls
}

/**
 * Creates a meter store that counts in memory and writes the changes to a folder afterwards.
 *
 * One process counts in a folder, the primary: the first with a call to count. The others can read. A second process with calls to
 * count becomes a secondary. It admits calls by the counts that the primary has written, for `localMs`, and then rejects
 * those of limited tokens. The use of its calls goes to `pending.db`, and the primary adds it to its counts. When the primary has
 * ended, a secondary takes its place.
 */
export function createFolderMeters(
  folder: string,
  name: string,
  lock: ProcessLock,
  options: FolderMetersOptions,
): FolderMeters {
  const { localMs, logger, now } = options
  const clock = now === undefined ? {} : { now }
  const file = prepareFile(folder, name)
  let primary: Primary | undefined
  let secondary: Secondary | undefined
  let onReached: ReachedListener | undefined
  let mergeFailed = false
  let closed = false

  const check = (): void => {
    if (primary !== undefined) return
    if (!lock.acquire()) {
      logger?.warn(`modelgate: ${anotherCounts(folder)}. ${consequences(localMs)}. ${whatToDo}`)
      checkReadable(file, () => readSavedCounts(file))
      return
    }
    try {
      const saved = openSavedCounts(file, logger)
      try {
        checkReadable(file, saved.read)
      } finally {
        saved.close()
      }
      checkReadable(join(folder, pendingFile), () => readPendingBatches(folder))
    } finally {
      // The primary is the first process with a call to count, not the first that starts.
      lock.release()
    }
  }

  /** Returns the state of the primary if this process is, or can now become, the primary. */
  const asPrimary = (): Primary | undefined => {
    if (primary !== undefined) {
      if (performance.now() >= primary.nextMergeAt) merge(primary)
      return primary
    }
    if (!lock.acquire()) return undefined
    try {
      primary = startPrimary(openSavedCounts(file, logger))
    } finally {
      if (primary === undefined) lock.release()
    }
    merge(primary)
    // Their reservations are not among the saved counts, so these calls are counted with their actual use.
    for (const settlement of secondary?.pending.close() ?? []) primary.meters.settle(settlement)
    if (secondary !== undefined) logger?.warn(`modelgate: this process now counts the calls in ${folder}`)
    secondary = undefined
    return primary
  }

  const startPrimary = (saved: SavedCounts): Primary => {
    try {
      const { meters: counts, merged } = saved.read()
      const meters = createMemoryMeters({ ...clock, saved: counts, onChange: saved.add })
      // Without a listener nothing is marked, so that another process can still report it.
      if (onReached !== undefined) meters.onReached?.((reached) => reportReached(saved, reached))
      return {
        meters,
        saved,
        merged: new Set(merged),
        nextMergeAt: 0,
      }
    } catch (error) {
      saved.close()
      throw toStorageError(error, file)
    }
  }

  /** Reports an amount after its mark is on the disk: a crash could otherwise lose the mark, and the amount would be reported again. */
  const reportReached = (saved: SavedCounts, reached: ReachedAmount): void => {
    try {
      saved.flush()
    } catch (error) {
      logger?.warn(
        `modelgate: a reached threshold is not reported, because counts cannot be written in ${folder}`,
        error,
      )
      return
    }
    onReached?.(reached)
  }

  /** Adds the calls of other processes to the counts. A failure is logged and tried again: it must not fail this process's own calls. */
  const merge = (into: Primary): void => {
    into.nextMergeAt = performance.now() + mergeIntervalMs
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
        // First: a settlement that throws must not have the rest of its batch counted again.
        into.merged.add(id)
        into.saved.setMerged(id, true)
        for (const settlement of settlements) settlePending(into.meters, settlement)
      }
      // A batch may be deleted only after it is saved as merged.
      into.saved.flush()
      deletePendingBatches(folder, [...ids])
      mergeFailed = false
    } catch (error) {
      if (!mergeFailed)
        logger?.warn(
          `modelgate: calls of another process could not be added to the counts in ${folder}; the next attempt follows`,
          error,
        )
      mergeFailed = true
    }
  }

  /** Counts a call of another process. One that cannot be read, because another version wrote it, is skipped. */
  const settlePending = (meters: MeterStore, settlement: Settlement): void => {
    try {
      meters.settle(settlement)
    } catch (error) {
      logger?.warn(
        `modelgate: the record of a call of another process is unreadable, so the call is not counted in ${folder}`,
        error,
      )
    }
  }

  const asSecondary = (): Secondary => {
    if (secondary === undefined) {
      logger?.warn(
        `modelgate: ${anotherCounts(folder)}. Limits now apply to each process separately. ${consequences(localMs)}. ${whatToDo}`,
      )
      secondary = {
        meters: readWritten(),
        until: performance.now() + localMs,
        pending: openPendingCalls(folder, logger),
      }
    }
    return secondary
  }

  /** Returns the counts that all processes have written. */
  const readWritten = (): MeterStore => {
    // Batches first: one that the primary merges between the two reads is then found twice, and its id shows it. In the other
    // order it would be missed.
    const batches = readPendingBatches(folder)
    const { meters: saved, merged } = readSavedCounts(file)
    const meters = createMemoryMeters({ ...clock, saved })
    for (const { id, settlements } of batches)
      if (!merged.has(id)) for (const settlement of settlements) settlePending(meters, settlement)
    return meters
  }

  const metersToRead = (): MeterStore => {
    if (primary === undefined) return secondary?.meters ?? readWritten()
    if (performance.now() >= primary.nextMergeAt) merge(primary)
    return primary.meters
  }

  return {
    check,
    reserve: (reservation) => {
      const counting = asPrimary()
      if (counting !== undefined) return counting.meters.reserve(reservation)
      const { meters, until } = asSecondary()
      if (performance.now() >= until) throw new StorageAwayError(`${anotherCounts(folder)}. ${whatToDo}`)
      return meters.reserve(reservation)
    },
    settle: (settlement) => {
      const counting = asPrimary()
      if (counting !== undefined) return counting.meters.settle(settlement)
      const { meters, pending } = asSecondary()
      pending.add(settlement)
      return meters.settle(settlement)
    },
    renew: (calls) => (primary ?? secondary)?.meters.renew(calls),
    read: (tokenId, meters) => metersToRead().read(tokenId, meters),
    onReached: (listener) => {
      onReached = listener
    },
    sums: (query) => metersToRead().sums(query),
    flush: () => {
      primary?.saved.flush()
      secondary?.pending.flush()
    },
    close: () => {
      if (closed) return
      closed = true
      try {
        if (primary !== undefined) {
          merge(primary)
          primary.nextMergeAt = Number.POSITIVE_INFINITY
          primary.saved.flush()
        }
        secondary?.pending.flush()
      } finally {
        const lost = secondary?.pending.close().length ?? 0
        if (lost > 0)
          logger?.warn(`modelgate: ${lost} calls are not counted in ${folder}, because they could not be written`)
        primary?.saved.close()
        lock.release()
      }
    },
  }
}

const anotherCounts = (folder: string): string => `another process counts calls in ${folder}`
const consequences = (localMs: number): string =>
  `The usage of this process is added to those counts later, but calls of tokens with limits are rejected with 503 after ${localMs / 1000} s`
const whatToDo = 'Stop the other process, or use one Redis for both (redisStorage(), or `redis` in a configuration)'

/** Counts that are not JSON are reported like a damaged file, because they fail every call as well. */
function checkReadable(file: string, read: () => unknown): void {
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
