import { randomUUID } from 'node:crypto'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import type { Logger } from '@modelgate/core'
import type { Settlement } from '../../contract/meter-store.ts'
import { createSettledCalls } from '../settled-calls.ts'
import { prepareFile } from './files.ts'
import { type Database, openDatabase, toStorageError } from './sqlite.ts'

/**
 * Calls that a process settled while another process counts in the folder:
 *
 *     second process:   settle → queue ─(100 ms)→ pending.db: one row for each batch
 *     process that counts:                        pending.db → its counters and the batch's id → meters.db (one transaction)
 *                                                 then the row is deleted, then the id is forgotten
 *
 * A batch whose id is in meters.db was counted: a crash between two steps neither loses a batch nor counts it twice. Several processes write this
 * file, so it has a rollback journal, as `tokens.db` has (docs/decisions/0014).
 */
export const pendingFile = 'pending.db'

const schema = ['CREATE TABLE batches (id TEXT PRIMARY KEY, settlements TEXT NOT NULL) STRICT']
const pragmas = ['journal_mode = TRUNCATE', 'synchronous = FULL']
/** Milliseconds between two writes. */
const writeEveryMs = 100
/** Milliseconds until a failed write is tried again. */
const writeAgainMs = 1_000
/** Settlements that are kept in memory while the file cannot be written. */
const mostQueued = 10_000

/** The calls of this process that wait to be counted. */
export interface PendingCalls {
  /** Queues a call once; it is written within 100 ms. */
  add(settlement: Settlement): void
  /** Writes the queue. Throws StorageAwayError if it cannot; the queue is kept then. */
  flush(): void
  /** Ends the writing, and returns the calls that were not written. */
  close(): readonly Settlement[]
}

/** Opens the file for a process that settles calls while another one counts. */
export function openPendingCalls(folder: string, logger: Pick<Logger, 'warn'> | undefined): PendingCalls {
  const file = prepareFile(folder, pendingFile)
  const known = createSettledCalls()
  let database: Database | undefined
  let queue: Settlement[] = []
  let timer: ReturnType<typeof setTimeout> | undefined
  let failing = false
  let dropped = 0

  const flush = (): void => {
    clearTimeout(timer)
    timer = undefined
    if (queue.length === 0) return
    try {
      database ??= openDatabase(file, { pragmas, schema })
      const insert = database.prepare('INSERT INTO batches VALUES (?, ?)')
      database.transaction(() => insert.run(randomUUID(), JSON.stringify(queue)))
    } catch (error) {
      timer = setTimeout(flushOrWarn, writeAgainMs)
      throw toStorageError(error, file)
    }
    queue = []
    if (failing)
      logger?.warn(
        `modelgate: counts are written to ${file} again${dropped > 0 ? `; ${dropped} calls were dropped` : ''}`,
      )
    failing = false
    dropped = 0
  }
  const flushOrWarn = (): void => {
    try {
      flush()
    } catch (error) {
      if (!failing)
        logger?.warn(`modelgate: counts cannot be written to ${file}; writing is tried again each second`, error)
      failing = true
    }
  }

  return {
    add: (settlement) => {
      if (!known.add(settlement.callId, performance.now())) return
      if (queue.length >= mostQueued) {
        dropped++
        return
      }
      queue.push({ ...settlement, at: settlement.at ?? Date.now() })
      // Holds the process: one that ends by itself writes first.
      timer ??= setTimeout(flushOrWarn, writeEveryMs)
    },
    flush,
    close: () => {
      clearTimeout(timer)
      database?.close()
      database = undefined
      const unwritten = queue
      queue = []
      return unwritten
    },
  }
}

/** Calls that were written together. */
export interface PendingBatch {
  readonly id: string
  readonly settlements: readonly Settlement[]
}

/** Returns the batches of all processes, in the order in which they were written. Throws StorageAwayError if they cannot be read. */
export function readPendingBatches(folder: string): readonly PendingBatch[] {
  return withFile(folder, [], (database) =>
    database
      .prepare('SELECT id, settlements FROM batches ORDER BY rowid')
      .all()
      .map(([id, settlements]) => ({ id: String(id), settlements: JSON.parse(String(settlements)) as Settlement[] })),
  )
}

/** Deletes batches that were counted. Throws StorageAwayError if it cannot. */
export function deletePendingBatches(folder: string, ids: readonly string[]): void {
  withFile(folder, undefined, (database) =>
    database.transaction(() =>
      database.prepare('DELETE FROM batches WHERE id IN (SELECT value FROM json_each(?))').run(JSON.stringify(ids)),
    ),
  )
}

/** Opens the file for a moment. Most folders have none, or an empty one that is being made. */
function withFile<T>(folder: string, otherwise: T, work: (database: Database) => T): T {
  const file = join(folder, pendingFile)
  if ((statSync(file, { throwIfNoEntry: false })?.size ?? 0) === 0) return otherwise
  try {
    const database = openDatabase(file, { pragmas, schema })
    try {
      return work(database)
    } finally {
      database.close()
    }
  } catch (error) {
    throw toStorageError(error, file)
  }
}
