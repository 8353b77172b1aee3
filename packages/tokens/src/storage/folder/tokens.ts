import type { TokenStore } from '../../contract/storage.ts'
import type { TokenRecord } from '../../contract/token.ts'
import { duplicateDigestError, duplicateIdError, nextVersion, pageOf } from '../memory/memory-storage.ts'
import { openDatabase, retryWhileBusy, type Value } from './sqlite.ts'

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
]

/**
 * Not WAL, though it is faster: the library's SQLite has the fault of it that loses what two processes write in the same moment
 * (fixed in SQLite 3.51.3). Tokens are changed rarely, and this way is the oldest there is. FULL: on the disk before it is told.
 */
const pragmas = ['journal_mode = TRUNCATE', 'synchronous = FULL', 'foreign_keys = ON']

/** Milliseconds that a look-up waits for another process that is writing: a call waits for it. */
const lookUpMs = 100
/** The same for a change: only people wait for it. */
const changeMs = 2_000

/** Tokens in a database file, for several processes at once. Changes are on the disk when they are told to be done. */
export function createFolderTokens(file: string): TokenStore & { close(): void } {
  const database = openDatabase(file, { pragmas, schema })
  const find = database.prepare('SELECT record FROM digests JOIN tokens USING (id) WHERE digest = ?')
  const get = database.prepare('SELECT record FROM tokens WHERE id = ?')
  const holder = database.prepare('SELECT id FROM digests WHERE digest = ?')
  const add = database.prepare('INSERT INTO tokens (created_at, owner, record, id) VALUES (?, ?, ?, ?)')
  const replace = database.prepare('UPDATE tokens SET created_at = ?, owner = ?, record = ? WHERE id = ?')
  const addDigest = database.prepare('INSERT INTO digests (digest, id) VALUES (?, ?)')
  const dropDigests = database.prepare('DELETE FROM digests WHERE id = ?')
  const listSql = (where: string): string => `SELECT record FROM tokens WHERE ${where} ORDER BY created_at, id LIMIT ?`
  const afterSql = '(created_at, id) > (SELECT created_at, id FROM tokens WHERE id = ?)'
  const list = database.prepare(listSql('true'))
  const listAfter = database.prepare(listSql(afterSql))
  const listOfOwner = database.prepare(listSql('owner = ?'))
  const listOfOwnerAfter = database.prepare(listSql(`owner = ? AND ${afterSql}`))

  const recordIn = (row: readonly Value[] | undefined): TokenRecord | undefined =>
    row === undefined ? undefined : (JSON.parse(String(row[0])) as TokenRecord)
  const putDigests = ({ id, secrets }: TokenRecord): void => {
    dropDigests.run(id)
    for (const { digest } of secrets) {
      const other = holder.first(digest)
      if (other !== undefined) throw duplicateDigestError(id, String(other[0]))
      addDigest.run(digest, id)
    }
  }
  const row = (record: TokenRecord): [number, string | null, string, string] => [
    record.createdAt,
    record.owner ?? null,
    JSON.stringify(record),
    record.id,
  ]

  return {
    findByDigest: (digest) => retryWhileBusy(file, lookUpMs, () => recordIn(find.first(digest))),
    get: (id) => retryWhileBusy(file, lookUpMs, () => recordIn(get.first(id))),
    create: (record) =>
      retryWhileBusy(file, changeMs, () =>
        database.transaction(() => {
          if (get.first(record.id) !== undefined) throw duplicateIdError(record.id)
          add.run(...row(record))
          putDigests(record)
        }),
      ),
    change: (id, change) =>
      retryWhileBusy(file, changeMs, () =>
        database.transaction(() => {
          const before = recordIn(get.first(id))
          if (before === undefined) return undefined
          const after = nextVersion(before, change)
          replace.run(...row(after))
          putDigests(after)
          return after
        }),
      ),
    list: ({ owner, after, limit = 100 }) =>
      retryWhileBusy(file, lookUpMs, () => {
        // One more than belongs on the page: it tells whether there are more.
        const more = limit + 1
        const rows =
          owner === undefined
            ? after === undefined
              ? list.all(more)
              : listAfter.all(after, more)
            : after === undefined
              ? listOfOwner.all(owner, more)
              : listOfOwnerAfter.all(owner, after, more)
        return pageOf(
          rows.map((found) => JSON.parse(String(found[0])) as TokenRecord),
          limit,
        )
      }),
    close: () => database.close(),
  }
}
