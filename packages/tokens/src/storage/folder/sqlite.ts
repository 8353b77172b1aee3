import { createRequire } from 'node:module'
import type Libsql from 'libsql'
import type { Awaitable } from '../../base/async.ts'
import { StorageAwayError } from '../../contract/storage.ts'

export type Value = string | number | null

/** A prepared statement. Rows are arrays, in the order of the columns. */
export interface Statement {
  run(...values: Value[]): void
  first(...values: Value[]): readonly Value[] | undefined
  all(...values: Value[]): readonly (readonly Value[])[]
}

export interface Database {
  prepare(sql: string): Statement
  exec(sql: string): void
  /** Runs `work` in a transaction. Does not wait: if another process writes, it throws an error that `isBusy` recognises. */
  transaction<T>(work: () => T): T
  close(): void
}

/**
 * Milliseconds that SQLite itself waits for another process. Short, because it blocks the event loop; `retryWhileBusy` waits longer
 * without blocking.
 */
const blockingWaitMs = 5
/** The same while a file is opened at the start of the process, when blocking delays no calls. */
const openingWaitMs = 2_000

export interface OpenOptions {
  /** Settings of this connection: `synchronous = FULL`. */
  readonly pragmas?: readonly string[]
  /** Statements that create version 1 of the database, then those that migrate version 1 to 2, and so on. Default: no migration. */
  readonly schema?: readonly string[]
  readonly waitMs?: number
}

/** Opens a database file, and creates it if it does not exist. Throws StorageAwayError if it cannot. */
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
      // Without `raw`, rows are objects with an additional field of the library.
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
        // After some failures (a full disk) SQLite has already rolled back.
        if (connection.inTransaction) connection.exec('ROLLBACK')
        throw error
      }
    },
    close: () => void connection.close(),
  }
}

let loaded: typeof Libsql | undefined

/**
 * Loads the library with the first folder, not with the package: it is native code for some platforms, and the other storages run
 * everywhere.
 */
function library(): typeof Libsql {
  // The package is built as ESM and CommonJS: one of the two exists.
  loaded ??= createRequire(typeof __filename === 'string' ? __filename : import.meta.url)('libsql') as typeof Libsql
  return loaded
}

/** Returns the version of the database's schema; 0 if it is empty. */
export const versionOf = (database: Database): number =>
  Number(database.prepare('PRAGMA user_version').first()?.[0] ?? 0)

/** Migrates a database to the newest version of its schema, in one transaction. Safe if several processes open it at the same time. */
function migrate(database: Database, schema: readonly string[], file: string): void {
  if (versionOf(database) === schema.length) return
  database.transaction(() => {
    const from = versionOf(database)
    if (from > schema.length) {
      throw new Error(
        `${file} was written by a newer version of @modelgate/tokens (schema ${from}; this version supports up to ${schema.length}). Update the package`,
      )
    }
    for (const statements of schema.slice(from)) database.exec(statements)
    database.exec(`PRAGMA user_version = ${schema.length}`)
  })
}

/**
 * Runs `attempt`, and repeats it for up to `maxMs` while other processes use the file.
 *
 * @throws StorageAwayError for failures of the file; other errors of `attempt` unchanged.
 */
export function retryWhileBusy<T>(file: string, maxMs: number, attempt: () => T): Awaitable<T> {
  try {
    return attempt()
  } catch (error) {
    if (!isBusy(error)) throw toStorageError(error, file)
  }
  return retried(file, performance.now() + maxMs, attempt)
}

async function retried<T>(file: string, until: number, attempt: () => T): Promise<T> {
  for (;;) {
    // Random: two processes with equal pauses would collide again.
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

/** Returns whether an error means that another process uses the file, which may be free a moment later. */
export const isBusy = (error: unknown): boolean => /^SQLITE_(BUSY|LOCKED|PROTOCOL)/.test(codeOf(error) ?? '')

/** Explanations by the beginning of the error code. Messages put the file's name in front. */
const explanations: readonly (readonly [code: string, explanation: string])[] = [
  ['SQLITE_BUSY', 'has been in use by another process for too long'],
  ['SQLITE_LOCKED', 'has been in use by another process for too long'],
  ['SQLITE_PROTOCOL', 'has been in use by another process for too long'],
  ['SQLITE_FULL', 'cannot grow: the disk is full, or a quota is used up. Free disk space. Nothing was changed'],
  [
    'SQLITE_READONLY',
    'cannot be written. Give this process write access to the file and its folder. Nothing was changed',
  ],
  ['SQLITE_CANTOPEN', 'cannot be opened. Give this process read and write access to the file and its folder'],
  ['SQLITE_PERM', 'cannot be opened. Give this process read and write access to the file and its folder'],
  ['SQLITE_AUTH', 'cannot be opened. Give this process read and write access to the file and its folder'],
  ['SQLITE_NOTADB', 'is not a database. Restore it from a backup, or move it away to start with an empty one'],
  ['SQLITE_CORRUPT', 'is damaged. Restore it from a backup, or move it away to start with an empty one'],
  ['SQLITE_IOERR', 'cannot be read or written: the disk reports an error, or is full'],
]

/** Returns a StorageAwayError with an explanation for a failure of the file, and any other error unchanged. */
export function toStorageError(error: unknown, file: string): unknown {
  const code = codeOf(error)
  if (code === undefined) return error
  const found = explanations.find(([beginning]) => code.startsWith(beginning))
  // Other codes are defects of this package (a constraint, wrong SQL), not failures of the file.
  return found === undefined ? error : new StorageAwayError(`${file} ${found[1]} (${code})`, { cause: error })
}
