import type { Logger } from '@modelgate/core'
import type { SavedEntry, SavedMeters } from '../memory/meters.ts'
import { type Database, openDatabase, toStorageError, versionOf } from './sqlite.ts'

const schema = ['CREATE TABLE meters (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;']

/**
 * WAL, because a write then waits for no disk: what was written outlives this process at once, and the machine's fall by what stood
 * there some seconds before. One process writes, by the claim, so WAL's fault with two cannot come about.
 */
const writerPragmas = ['journal_mode = WAL', 'synchronous = NORMAL']
const readerPragmas = ['wal_autocheckpoint = 0', 'query_only = ON']

/** Milliseconds that a look waits: while another process opens or closes the file, nobody else can read it. */
const lookWaitMs = 100
/** Milliseconds between two writes. */
const writeEveryMs = 100
/** Milliseconds until a write that failed is tried again. */
const writeAgainMs = 1_000

/** What a file of counts holds. */
export interface Counts {
  readonly meters: SavedMeters
  /** Ids of the batches of `pending.db` that are part of the counts, and may still be in that file. */
  readonly merged: ReadonlySet<string>
}

/** Counts in a file, written behind. */
export interface SavedCounts {
  read(): Counts
  /** Is written within 100 ms; of several changes to one entry the last. */
  add(entry: SavedEntry): void
  /** Records that a batch is part of the counts (true), in one transaction with the counts that changed; or forgets its id (false). */
  setMerged(id: string, isKept: boolean): void
  /** Writes at once. Throws StorageAwayError if it cannot; what was not written is kept for the next time. */
  flush(): void
  close(): void
}

/** Opens the file for the one process that writes it. */
export function openSavedCounts(file: string, logger: Pick<Logger, 'warn'> | undefined): SavedCounts {
  const database = openDatabase(file, { pragmas: writerPragmas, schema })
  // One statement for all entries: calls into the library cost more than what they do.
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
      timer = setTimeout(flushOrWarn, writeAgainMs)
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
          `modelgate: counts cannot be written; they hold on in memory, and it is tried again each second`,
          error,
        )
      }
      failing = true
    }
  }
  const changed = ({ key, value }: SavedEntry): void => {
    changes.set(key, value)
    // Holds the process: one that comes to its end by itself writes first.
    timer ??= setTimeout(flushOrWarn, writeEveryMs)
  }

  return {
    read: () => savedIn(database),
    add: changed,
    setMerged: (id, isKept) => changed({ key: JSON.stringify([mergedKind, id]), value: isKept ? [] : null }),
    flush,
    close: () => {
      clearTimeout(timer)
      database.close()
    },
  }
}

/** What is written, for those who only look. */
export function readSavedCounts(file: string): Counts {
  const database = openDatabase(file, { pragmas: readerPragmas, waitMs: lookWaitMs })
  try {
    // No process has written here yet.
    return versionOf(database) === 0 ? { meters: [], merged: new Set() } : savedIn(database)
  } catch (error) {
    throw toStorageError(error, file)
  } finally {
    database.close()
  }
}

/** Kind of the entries that are ids of batches. */
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
