import type { Logger } from '@modelgate/core'
import type { SavedEntry, SavedMeters } from '../memory/meters.ts'
import { type Database, openDatabase, toStorageError, versionOf } from './sqlite.ts'

const schema = ['CREATE TABLE meters (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;']

/**
 * WAL with `synchronous = NORMAL`: a write does not wait for the disk. Written counts survive the end of this process; a power failure loses
 * those of the last seconds. Only the holder of the lock writes, so SQLite's WAL bug with two writers does not apply.
 */
const writerPragmas = ['journal_mode = WAL', 'synchronous = NORMAL']
const readerPragmas = ['wal_autocheckpoint = 0', 'query_only = ON']

/** Milliseconds that a reader waits: the file cannot be read while another process opens or closes it. */
const readerWaitMs = 100
/** Milliseconds between two writes. */
const writeIntervalMs = 100
/** Milliseconds until a failed write is tried again. */
const retryMs = 1_000

/** Content of the file of counts. */
export interface Counts {
  readonly meters: SavedMeters
  /** Ids of the batches of `pending.db` that are part of the counts and may still be in that file. */
  readonly merged: ReadonlySet<string>
}

/** The file of counts, as its writer sees it. */
export interface SavedCounts {
  read(): Counts
  /** Queues a changed entry, which is written within 100 ms. The last change of each key is written. */
  add(entry: SavedEntry): void
  /** Queues the id of a batch that is part of the counts (true), written in one transaction with the changed counts; or deletes the id (false). */
  setMerged(id: string, isMerged: boolean): void
  /** Writes all queued entries now. Throws StorageAwayError if it cannot; they are kept for the next write. */
  flush(): void
  close(): void
}

/** Opens the file in the process that holds the lock. */
export function openSavedCounts(file: string, logger: Pick<Logger, 'warn'> | undefined): SavedCounts {
  const database = openDatabase(file, { pragmas: writerPragmas, schema })
  // One statement for all entries: a call into the library costs more than the work of the statement.
  const put = database.prepare('INSERT OR REPLACE INTO meters SELECT value ->> 0, value -> 1 FROM json_each(?)')
  const drop = database.prepare('DELETE FROM meters WHERE key IN (SELECT value FROM json_each(?))')
  let changes = new Map<string, SavedEntry['value']>()
  let timer: ReturnType<typeof setTimeout> | undefined
  let failing = false

  const flush = (): void => {
    clearTimeout(timer)
    timer = undefined
    if (changes.size === 0) return
    const batch = changes
    changes = new Map()
    try {
      database.transaction(() => {
        const entries = [...batch]
        put.run(JSON.stringify(entries.filter(([, value]) => value !== null)))
        drop.run(JSON.stringify(entries.filter(([, value]) => value === null).map(([key]) => key)))
      })
    } catch (error) {
      for (const [key, value] of changes) batch.set(key, value)
      changes = batch
      timer = setTimeout(flushOrWarn, retryMs)
      throw toStorageError(error, file)
    }
    if (failing) logger?.warn(`modelgate: counts are written to ${file} again`)
    failing = false
  }
  const flushOrWarn = (): void => {
    try {
      flush()
    } catch (error) {
      if (!failing) {
        logger?.warn(
          `modelgate: counts cannot be written; they are kept in memory, and the write is retried every second`,
          error,
        )
      }
      failing = true
    }
  }
  const add = ({ key, value }: SavedEntry): void => {
    changes.set(key, value)
    // Keeps the process alive: a process that ends by itself writes first.
    timer ??= setTimeout(flushOrWarn, writeIntervalMs)
  }

  return {
    read: () => savedIn(database),
    add,
    setMerged: (id, isMerged) => add({ key: JSON.stringify([mergedKind, id]), value: isMerged ? [] : null }),
    flush,
    close: () => {
      clearTimeout(timer)
      database.close()
    },
  }
}

/** Reads the file in a process that does not write it. */
export function readSavedCounts(file: string): Counts {
  const database = openDatabase(file, { pragmas: readerPragmas, waitMs: readerWaitMs })
  try {
    // No process has written the file yet.
    return versionOf(database) === 0 ? { meters: [], merged: new Set() } : savedIn(database)
  } catch (error) {
    throw toStorageError(error, file)
  } finally {
    database.close()
  }
}

/** Kind of the entries that hold ids of batches. */
const mergedKind = 'merged'

function savedIn(database: Database): Counts {
  const meters: SavedEntry[] = []
  const merged = new Set<string>()
  for (const [key, value] of database.prepare('SELECT key, value FROM meters').all()) {
    const [kind, id = ''] = JSON.parse(String(key)) as readonly string[]
    if (kind === mergedKind) merged.add(id)
    else meters.push({ key: String(key), value: JSON.parse(String(value)) as SavedEntry['value'] })
  }
  return { meters, merged }
}
