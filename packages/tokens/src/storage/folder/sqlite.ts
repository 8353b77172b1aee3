import { createRequire } from 'node:module'
import type Libsql from 'libsql'
import type { Awaitable } from '../../base/async.ts'
import { StorageAwayError } from '../../contract/storage.ts'

export type Value = string | number | null

/** One statement, prepared once. Rows are arrays, in the order of the columns. */
export interface Statement {
  run(...values: Value[]): void
  first(...values: Value[]): readonly Value[] | undefined
  all(...values: Value[]): readonly (readonly Value[])[]
}

export interface Database {
  prepare(sql: string): Statement
  exec(sql: string): void
  /** Everything that `work` does, or nothing. Waits for nobody: throws what `isBusy` knows where another process writes. */
  transaction<T>(work: () => T): T
  close(): void
}

/**
 * Milliseconds that the library itself waits for another process. It stops this whole process meanwhile, so it is short;
 * `patiently` waits longer, without.
 */
const blockingWaitMs = 5
/** The same while a file is opened: then there is nothing yet to stop. */
const openingWaitMs = 2_000

export interface OpenOptions {
  /** What holds for this connection: `synchronous = FULL`. */
  readonly pragmas?: readonly string[]
  /** Statements that make version 1 of the database, then those that make 2 of 1, … Default: it is left as it is. */
  readonly schema?: readonly string[]
  readonly waitMs?: number
}

/** Opens a database file, made if it is not there. Throws StorageAwayError if it cannot be. */
export function openDatabase(file: string, { pragmas = [], schema, waitMs = blockingWaitMs }: OpenOptions): Database {
  const connection = new (library())(file, { timeout: openingWaitMs })
  const database = databaseOf(connection)
  try {
    for (const pragma of pragmas) connection.exec(`PRAGMA ${pragma}`)
    if (schema !== undefined) migrate(database, schema, file)
    connection.exec(`PRAGMA busy_timeout = ${waitMs}`)
  } catch (error) {
    connection.close()
    throw toStorageError(error, file)
  }
  return database
}

function databaseOf(connection: Libsql.Database): Database {
  return {
    prepare: (sql) => {
      const statement = connection.prepare(sql)
      // Without this, results are objects that carry a field of the library's own.
      if (statement.reader) statement.raw()
      return {
        run: (...values) => void statement.run(values),
        first: (...values) => statement.get(values) as readonly Value[] | undefined,
        all: (...values) => statement.all(values) as readonly (readonly Value[])[],
      }
    },
    exec: (sql) => void connection.exec(sql),
    transaction: (work) => {
      connection.exec('BEGIN IMMEDIATE')
      try {
        const result = work()
        connection.exec('COMMIT')
        return result
      } catch (error) {
        // After some failures (a full disk) it has rolled back by itself.
        if (connection.inTransaction) connection.exec('ROLLBACK')
        throw error
      }
    },
    close: () => void connection.close(),
  }
}

let loaded: typeof Libsql | undefined

/**
 * Loaded by the first folder, not with the package: the library is native code for some platforms, and storages that need none of it
 * run on others too.
 */
function library(): typeof Libsql {
  // One of the two is there: the package is built for both kinds of modules.
  loaded ??= createRequire(typeof __filename === 'string' ? __filename : import.meta.url)('libsql') as typeof Libsql
  return loaded
}

/** The version of its schema; 0: nothing was made yet. */
export const versionOf = (database: Database): number =>
  Number(database.prepare('PRAGMA user_version').first()?.[0] ?? 0)

/** Brings a database to the newest version of its schema, in one step, whoever else opens it at the same time. */
function migrate(database: Database, schema: readonly string[], file: string): void {
  if (versionOf(database) === schema.length) return
  database.transaction(() => {
    const from = versionOf(database)
    if (from > schema.length) {
      throw new Error(
        `${file} was written by a newer version of @modelgate/tokens (schema ${from}, this one knows ${schema.length}): update the package`,
      )
    }
    for (const statements of schema.slice(from)) database.exec(statements)
    database.exec(`PRAGMA user_version = ${schema.length}`)
  })
}

/**
 * Tries until nobody else is at the file, for so many milliseconds at most; the first time at once. Throws StorageAwayError for
 * failures of the file, and whatever else `attempt` throws as it is.
 */
export function retryWhileBusy<T>(file: string, patienceMs: number, attempt: () => T): Awaitable<T> {
  try {
    return attempt()
  } catch (error) {
    if (!isBusy(error)) throw toStorageError(error, file)
  }
  return retried(file, performance.now() + patienceMs, attempt)
}

async function retried<T>(file: string, until: number, attempt: () => T): Promise<T> {
  for (;;) {
    // Not the same for all: two that wait for each other would meet again.
    await new Promise((resolve) => setTimeout(resolve, 1 + Math.random() * 10))
    try {
      return attempt()
    } catch (error) {
      if (!isBusy(error) || performance.now() >= until) throw toStorageError(error, file)
    }
  }
}

const codeOf = (error: unknown): string | undefined => {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  return typeof code === 'string' && code.startsWith('SQLITE_') ? code : undefined
}

/** Somebody else is at the file; a moment later it may be free. */
export const isBusy = (error: unknown): boolean => /^SQLITE_(BUSY|LOCKED|PROTOCOL)/.test(codeOf(error) ?? '')

/** Codes by their beginning, the longer first; what follows is said after the file's name. */
const explanations: readonly (readonly [code: string, explanation: string])[] = [
  ['SQLITE_BUSY', 'is in use by another process for too long'],
  ['SQLITE_LOCKED', 'is in use by another process for too long'],
  ['SQLITE_PROTOCOL', 'is in use by another process for too long'],
  ['SQLITE_FULL', 'cannot grow: the disk is full, or a quota is used up. Make room; nothing was changed'],
  ['SQLITE_READONLY', 'cannot be written. Let this process write the file and its folder; nothing was changed'],
  ['SQLITE_CANTOPEN', 'cannot be opened. Let this process read and write the file and its folder'],
  ['SQLITE_PERM', 'cannot be opened. Let this process read and write the file and its folder'],
  ['SQLITE_AUTH', 'cannot be opened. Let this process read and write the file and its folder'],
  ['SQLITE_NOTADB', 'is not a database. Restore it from a backup, or move it away to start with an empty one'],
  ['SQLITE_CORRUPT', 'is damaged. Restore it from a backup, or move it away to start with an empty one'],
  ['SQLITE_IOERR', 'cannot be read or written: the disk reports an error, or is full'],
]

/** A failure of the file as StorageAwayError, in words; anything else as it is. */
export function toStorageError(error: unknown, file: string): unknown {
  const code = codeOf(error)
  if (code === undefined) return error
  const found = explanations.find(([beginning]) => code.startsWith(beginning))
  // Others are faults of ours (a constraint, a mistake in SQL), not of the file.
  return found === undefined ? error : new StorageAwayError(`${file} ${found[1]} (${code})`, { cause: error })
}
