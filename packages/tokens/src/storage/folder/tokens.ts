import type { OwnerStore, TokenStore } from '../../contract/storage.ts'
import type { Owner, TokenRecord } from '../../contract/token.ts'
import { duplicateDigestError, duplicateIdError, nextVersion, pageOf, pageOfOwners } from '../memory/memory-storage.ts'
import { type Database, openDatabase, retryWhileBusy, type Value } from './sqlite.ts'

const schema = [
  `CREATE TABLE tokens (
     id TEXT PRIMARY KEY,
     created_at INTEGER NOT NULL,
     owner TEXT,
     record TEXT NOT NULL
   ) STRICT;
   CREATE INDEX tokens_in_order ON tokens (created_at, id);
   CREATE INDEX tokens_of_owner ON tokens (owner, created_at, id);
   CREATE TABLE digests (
     digest TEXT PRIMARY KEY,
     id TEXT NOT NULL REFERENCES tokens (id)
   ) STRICT, WITHOUT ROWID;
   CREATE INDEX digests_of_token ON digests (id);`,
  `CREATE TABLE owners (
     owner TEXT PRIMARY KEY,
     record TEXT NOT NULL
   ) STRICT, WITHOUT ROWID;`,
]

/**
 * A rollback journal instead of the faster WAL: the library's SQLite has a WAL bug that can lose simultaneous writes of two processes (fixed
 * in SQLite 3.51.3). Tokens change rarely, and rollback journals are SQLite's oldest, best-tested mode. FULL: a change is on the disk
 * before it is reported.
 */
const pragmas = ['journal_mode = TRUNCATE', 'synchronous = FULL', 'foreign_keys = ON']

/** Milliseconds that a lookup waits for another process that writes. Calls wait for lookups. */
const lookupMs = 100
/** Milliseconds that a change waits. Only people wait for changes. */
const changeMs = 2_000

/** Creates stores of tokens and owners in a database file, which several processes may use. Changes are on the disk when they are reported. */
export function createFolderTokens(file: string): TokenStore & { readonly owners: OwnerStore; close(): void } {
  const database = openDatabase(file, { pragmas, schema })
  const find = database.prepare('SELECT record FROM digests JOIN tokens USING (id) WHERE digest = ?')
  const get = database.prepare('SELECT record FROM tokens WHERE id = ?')
  const findHolder = database.prepare('SELECT id FROM digests WHERE digest = ?')
  const add = database.prepare('INSERT INTO tokens (created_at, owner, record, id) VALUES (?, ?, ?, ?)')
  const replace = database.prepare('UPDATE tokens SET created_at = ?, owner = ?, record = ? WHERE id = ?')
  const addDigest = database.prepare('INSERT INTO digests (digest, id) VALUES (?, ?)')
  const deleteDigests = database.prepare('DELETE FROM digests WHERE id = ?')
  const listSql = (where: string): string => `SELECT record FROM tokens WHERE ${where} ORDER BY created_at, id LIMIT ?`
  const afterSql = '(created_at, id) > (SELECT created_at, id FROM tokens WHERE id = ?)'
  const list = database.prepare(listSql('true'))
  const listAfter = database.prepare(listSql(afterSql))
  const listOfOwner = database.prepare(listSql('owner = ?'))
  const listOfOwnerAfter = database.prepare(listSql(`owner = ? AND ${afterSql}`))

  const recordIn = (row: readonly Value[] | undefined): TokenRecord | undefined =>
    row === undefined ? undefined : (JSON.parse(String(row[0])) as TokenRecord)
  const replaceDigests = ({ id, secrets }: TokenRecord): void => {
    deleteDigests.run(id)
    for (const { digest } of secrets) {
      const other = findHolder.first(digest)
      if (other !== undefined) throw duplicateDigestError(id, String(other[0]))
      addDigest.run(digest, id)
    }
  }
  const rowOf = (record: TokenRecord): [number, string | null, string, string] => [
    record.createdAt,
    record.owner ?? null,
    JSON.stringify(record),
    record.id,
  ]

  return {
    findByDigest: (digest) => retryWhileBusy(file, lookupMs, () => recordIn(find.first(digest))),
    get: (id) => retryWhileBusy(file, lookupMs, () => recordIn(get.first(id))),
    create: (record) =>
      retryWhileBusy(file, changeMs, () =>
        database.transaction(() => {
          if (get.first(record.id) !== undefined) throw duplicateIdError(record.id)
          add.run(...rowOf(record))
          replaceDigests(record)
        }),
      ),
    change: (id, change) =>
      retryWhileBusy(file, changeMs, () =>
        database.transaction(() => {
          const before = recordIn(get.first(id))
          if (before === undefined) return undefined
          const after = nextVersion(before, change)
          replace.run(...rowOf(after))
          replaceDigests(after)
          return after
        }),
      ),
    list: ({ owner, after, limit = 100 }) =>
      retryWhileBusy(file, lookupMs, () => {
        // One more than the page holds, to find out whether there is a next page.
        const count = limit + 1
        const rows =
          owner === undefined
            ? after === undefined
              ? list.all(count)
              : listAfter.all(after, count)
            : after === undefined
              ? listOfOwner.all(owner, count)
              : listOfOwnerAfter.all(owner, after, count)
        return pageOf(
          rows.map((found) => JSON.parse(String(found[0])) as TokenRecord),
          limit,
        )
      }),
    owners: createFolderOwners(database, file),
    close: () => database.close(),
  }
}

/** Creates the store of owners in the database of the tokens. */
function createFolderOwners(database: Database, file: string): OwnerStore {
  const get = database.prepare('SELECT record FROM owners WHERE owner = ?')
  const put = database.prepare('INSERT OR REPLACE INTO owners (owner, record) VALUES (?, ?)')
  const drop = database.prepare('DELETE FROM owners WHERE owner = ?')
  const listAfter = database.prepare('SELECT record FROM owners WHERE owner > ? ORDER BY owner LIMIT ?')
  return {
    get: (owner) =>
      retryWhileBusy(file, lookupMs, () => {
        const row = get.first(owner)
        return row === undefined ? undefined : (JSON.parse(String(row[0])) as Owner)
      }),
    put: (record) =>
      retryWhileBusy(file, changeMs, () => database.transaction(() => put.run(record.owner, JSON.stringify(record)))),
    delete: (owner) =>
      retryWhileBusy(file, changeMs, () =>
        database.transaction(() => {
          const existed = get.first(owner) !== undefined
          drop.run(owner)
          return existed
        }),
      ),
    list: ({ after = '', limit = 100 }) =>
      retryWhileBusy(file, lookupMs, () =>
        pageOfOwners(
          listAfter.all(after, limit + 1).map((row) => JSON.parse(String(row[0])) as Owner),
          limit,
        ),
      ),
  }
}
