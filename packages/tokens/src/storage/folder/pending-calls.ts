import { randomUUID } from 'node:crypto'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import type { Logger } from '@modelgate/core'
import type { Settlement } from '../../contract/meter-store.ts'
import { createSettledCalls } from '../settled-calls.ts'
import { prepareFile } from './files.ts'
import type { Database } from './sqlite.ts'
import { openDatabase, toStorageError } from './sqlite.ts'

/**
 * Calls that a secondary process settled while the primary process counts in the folder:
 *
 *     secondary:  settle → queue ─(100 ms)→ pending.db: one row for each batch
 *     primary:    pending.db → counters and the batch's id → meters.db (one transaction) → delete the row → forget the id
 *
 * Every batch is counted exactly once, whichever process ends at whichever step:
 * - A batch counts as merged if and only if its id is in meters.db, in the same transaction as its counts.
 * - The row is deleted only after that transaction, and the id only after the row.
 * - A failed write is repeated with the same id: SQLite may have committed it before it reported the failure.
 *
 * A secondary that is killed loses the calls of its last 100 ms. A power failure can lose the last seconds of meters.db, as for
 * the primary's own calls (saved-counts.ts).
 *
 * Several processes write this file, so it has a rollback journal, as `tokens.db` has (docs/decisions/0014).
 */
export const pendingFile = 'pending.db'

const schema = ['CREATE TABLE batches (id TEXT PRIMARY KEY, settlements TEXT NOT NULL) STRICT']
const pragmas = ['journal_mode = TRUNCATE', 'synchronous = FULL']
/** Milliseconds between two writes. */
const writeIntervalMs = 100
/** Milliseconds until a failed write is tried again. */
const retryMs = 1_000
/** Maximum number of settlements in memory while the file cannot be written. */
const maxQueued = 10_000

/** The settled calls of this process, on their way to the primary. */
export interface PendingCalls {
  /** Queues a call, once. It is written within 100 ms. */
  add(settlement: Settlement): void
  /** Writes the queue. Throws StorageAwayError if it cannot; the queue is kept then. */
  flush(): void
  /** Stops writing, and returns the calls that are not known to be written. */
  close(): readonly Settlement[]
}

/** Calls that are written together. */
export interface PendingBatch {
  readonly id: string
  readonly settlements: readonly Settlement[]
}

/** Opens the file in a secondary process. */
export function openPendingCalls(folder: string, logger: Pick<Logger, 'warn'> | undefined): PendingCalls {
  const file = prepareFile(folder, pendingFile)
  const queuedCalls = createSettledCalls()
  let database: Database | undefined
  let queue: Settlement[] = []
  /** The batch that is being written. It is kept after a failure, with its id. */
  let batch: PendingBatch | undefined
  let timer: ReturnType<typeof setTimeout> | undefined
  let failing = false
  let dropped = 0

  const writeBatch = ({ id, settlements }: PendingBatch): void => {
    database ??= openDatabase(file, { pragmas, schema })
    const insert = database.prepare('INSERT OR IGNORE INTO batches VALUES (?, ?)')
    database.transaction(() => insert.run(id, JSON.stringify(settlements)))
  }
  const flush = (): void => {
    clearTimeout(timer)
    timer = undefined
    if (batch === undefined && queue.length === 0) return
    try {
      while (batch !== undefined || queue.length > 0) {
        if (batch === undefined) {
          batch = { id: randomUUID(), settlements: queue }
          queue = []
        }
        writeBatch(batch)
        batch = undefined
      }
    } catch (error) {
      timer = setTimeout(flushOrWarn, retryMs)
      throw toStorageError(error, file)
    }
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
        logger?.warn(`modelgate: counts cannot be written to ${file}; the write is retried every second`, error)
      failing = true
    }
  }

  return {
    add: (settlement) => {
      if (!queuedCalls.add(settlement.callId, performance.now())) return
      if (queue.length + (batch?.settlements.length ?? 0) >= maxQueued) {
        dropped++
        return
      }
      queue.push({ ...settlement, at: settlement.at ?? Date.now() })
      // Keeps the process alive: a process that ends by itself writes first.
      timer ??= setTimeout(flushOrWarn, writeIntervalMs)
    },
    flush,
    close: () => {
      clearTimeout(timer)
      database?.close()
      database = undefined
      const unwritten = [...(batch?.settlements ?? []), ...queue]
      batch = undefined
      queue = []
      return unwritten
    },
  }
}

/** Returns the batches of all processes, in the order in which they were written. Throws StorageAwayError if they cannot be read. */
export function readPendingBatches(folder: string): readonly PendingBatch[] {
  return withDatabase(folder, [], (database) =>
    database
      .prepare('SELECT id, settlements FROM batches ORDER BY rowid')
      .all()
      .map(([id, settlements]) => ({ id: String(id), settlements: JSON.parse(String(settlements)) as Settlement[] })),
  )
}

/** Deletes merged batches. Throws StorageAwayError if it cannot. */
export function deletePendingBatches(folder: string, ids: readonly string[]): void {
  withDatabase(folder, undefined, (database) =>
    database.transaction(() =>
      database.prepare('DELETE FROM batches WHERE id IN (SELECT value FROM json_each(?))').run(JSON.stringify(ids)),
    ),
  )
}

/** Opens the file for one operation. Returns `otherwise` if there is no file, which is usual, or an empty one that is being created. */
function withDatabase<T>(folder: string, otherwise: T, operate: (database: Database) => T): T {
  const file = join(folder, pendingFile)
  if ((statSync(file, { throwIfNoEntry: false })?.size ?? 0) === 0) return otherwise
  try {
    const database = openDatabase(file, { pragmas, schema })
    try {
      return operate(database)
    } finally {
      database.close()
    }
  } catch (error) {
    throw toStorageError(error, file)
  }
}
