import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createGateway, openai } from '@modelgate/core'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Meter } from '../../contract/meter-store.ts'
import { StorageAwayError } from '../../contract/storage.ts'
import { createTokens } from '../../create-tokens.ts'
import { aRecord } from '../token-store.test-support.ts'
import { folderStorage } from './folder-storage.ts'
import { openDatabase } from './sqlite.ts'

let place: string
let folder: string
beforeEach(() => {
  place = mkdtempSync(join(tmpdir(), 'modelgate-folder-'))
  folder = join(place, 'deep', 'data')
})
afterEach(() => rmSync(place, { recursive: true }))

const total: Meter = { name: 'total', limit: 10, amount: 2, kind: 'period', period: 'total' }
const reservation = { callId: 'call', tokenId: 'tok', meters: [total] }

describe('the folder', () => {
  test('is created with its files for this user only', async () => {
    const storage = folderStorage(folder)
    await storage.tokens.create(aRecord())
    await storage.meters.reserve(reservation)
    await storage.flush()
    expect(statSync(folder).mode & 0o777).toBe(0o700)
    const files = readdirSync(folder)
    expect(files).toEqual(expect.arrayContaining(['tokens.db', 'meters.db', 'meters.db-wal', 'counting.lock']))
    for (const file of files) expect([file, statSync(join(folder, file)).mode & 0o777]).toEqual([file, 0o600])
    await storage.close()
  })

  test('keeps its mode if it exists', async () => {
    mkdirSync(folder, { recursive: true, mode: 0o750 })
    await folderStorage(folder).close()
    expect(statSync(folder).mode & 0o777).toBe(0o750)
  })

  test('contains all tokens and counts when it is opened again', async () => {
    const record = aRecord()
    const first = folderStorage(folder)
    await first.tokens.create(record)
    await first.meters.reserve(reservation)
    await first.close()
    const second = folderStorage(folder)
    expect(await second.tokens.get(record.id)).toEqual(record)
    expect(await second.meters.read('tok', [total])).toMatchObject([{ used: 2 }])
    expect(await second.meters.reserve(reservation)).toMatchObject({ ok: true, states: [{ used: 4 }] })
    await second.close()
  })

  test('can be closed twice', async () => {
    const storage = folderStorage(folder)
    await storage.close()
    await expect(storage.close()).resolves.toBeUndefined()
  })

  test.each([-1, Number.NaN])('rejects a duration of %d', (localMs) => {
    expect(() => folderStorage(folder, { localMs })).toThrow(RangeError)
    expect(existsSync(folder)).toBe(false)
  })
})

describe('the error for an unusable folder', () => {
  test('names the folder and the reason if a file is in its place', () => {
    const file = join(place, 'file')
    writeFileSync(file, '')
    expect(() => folderStorage(file)).toThrow(
      `${file} cannot be used as a folder for tokens: a file with this name exists`,
    )
  })

  test('names the folder and the reason if a file is in the middle of the path', () => {
    writeFileSync(join(place, 'file'), '')
    expect(() => folderStorage(join(place, 'file', 'data'))).toThrow('part of the path is a file')
  })

  // Root can write anywhere.
  if (process.getuid?.() !== 0)
    test('names the folder and the reason if it is not writable', () => {
      mkdirSync(folder, { recursive: true, mode: 0o500 })
      expect(() => folderStorage(folder)).toThrow('this process may not write there')
    })

  test('names the folder and the reason if a file is not a database', () => {
    mkdirSync(folder, { recursive: true })
    writeFileSync(
      join(folder, 'tokens.db'),
      'these are not the tokens that you are looking for, but some other text '.repeat(99),
    )
    expect(() => folderStorage(folder)).toThrow(/tokens\.db is not a database/)
  })

  test.each(['tokens.db', 'meters.db'])(
    'names the folder and the reason for a newer version’s %s, which stays unchanged',
    async (name) => {
      const storage = folderStorage(folder)
      await storage.meters.reserve(reservation)
      await storage.close()
      const newer = openDatabase(join(folder, name), { pragmas: ['user_version = 99'] })
      newer.close()
      const open = async () => {
        const opened = folderStorage(folder)
        try {
          await opened.meters.reserve(reservation)
        } finally {
          await opened.close()
        }
      }
      await expect(open()).rejects.toThrow(
        /newer version .*schema 99; this version supports up to [12].*Update the package/,
      )
      const again = openDatabase(join(folder, name), {})
      expect(again.prepare('PRAGMA user_version').first()).toEqual([99])
      again.close()
    },
  )
})

test('reports a full disk, and changes nothing', async () => {
  const file = join(place, 'small.db')
  const schema = ['CREATE TABLE texts (text TEXT) STRICT']
  const database = openDatabase(file, { pragmas: ['max_page_count = 4'], schema })
  const { retryWhileBusy: patiently } = await import('./sqlite.ts')
  const add = (text: string) =>
    patiently(file, 100, () =>
      database.transaction(() => {
        database.prepare('INSERT INTO texts VALUES (?)').run('small')
        database.prepare('INSERT INTO texts VALUES (?)').run(text)
      }),
    )
  expect(() => add('x'.repeat(50_000))).toThrow(StorageAwayError)
  expect(() => add('x'.repeat(50_000))).toThrow(`${file} cannot grow: the disk is full`)
  expect(database.prepare('SELECT count(*) FROM texts').first()).toEqual([0])
  await add('fits')
  expect(database.prepare('SELECT text FROM texts').all()).toEqual([['small'], ['fits']])
  database.close()
})

describe('a folder while another process writes', () => {
  const aMoment = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

  test('accepts a change after a wait that does not block this process', async () => {
    const storage = folderStorage(folder)
    const record = aRecord()
    await storage.tokens.create(record)
    const other = openDatabase(join(folder, 'tokens.db'), {})
    other.exec('BEGIN IMMEDIATE')
    const changing = storage.tokens.change(record.id, (before) => ({ ...before, revokedAt: 3 }))
    await aMoment(60)
    // A transaction that has not written yet does not block readers.
    expect(await storage.tokens.get(record.id)).toEqual(record)
    other.exec('COMMIT')
    expect(await changing).toMatchObject({ revokedAt: 3 })
    other.close()
    await storage.close()
  })

  test('throws StorageAwayError from a lookup after at most 100 ms', async () => {
    const storage = folderStorage(folder)
    const record = aRecord()
    await storage.tokens.create(record)
    const other = openDatabase(join(folder, 'tokens.db'), {})
    other.exec('BEGIN EXCLUSIVE')
    const before = performance.now()
    await expect(storage.tokens.findByDigest('0'.repeat(64))).rejects.toThrow(StorageAwayError)
    expect(performance.now() - before).toBeLessThan(400)
    other.exec('ROLLBACK')
    expect(await storage.tokens.get(record.id)).toEqual(record)
    other.close()
    await storage.close()
  })
})

describe('the start of a gateway', () => {
  const warnings: string[] = []
  beforeEach(() => void warnings.splice(0))
  const open = () => folderStorage(folder, { logger: { warn: (message) => warnings.push(message) } })

  test('warns about another process that counts in the folder, with a remedy', async () => {
    const first = open()
    await first.meters.reserve(reservation)
    const second = open()
    second.check?.()
    expect(warnings).toEqual([
      expect.stringMatching(
        /another process counts calls in .+ rejected with 503 after 30 s.+ Stop the other process, or use one Redis for both/,
      ),
    ])
    await second.close()
    await first.close()
  })

  test('lets the first process with a call do the counting', async () => {
    const [first, second] = [open(), open()]
    first.check?.()
    second.check?.()
    expect(await second.meters.reserve(reservation)).toMatchObject({ ok: true })
    expect(warnings).toEqual([])
    await first.close()
    await second.close()
  })

  test.each([
    [
      'not a database',
      () => {
        rmSync(join(folder, 'meters.db-wal'), { force: true })
        writeFileSync(join(folder, 'meters.db'), 'x'.repeat(5000))
      },
    ],
    [
      'not JSON',
      () => {
        const database = openDatabase(join(folder, 'meters.db'), {})
        database.exec(`INSERT INTO meters VALUES ('k', '{')`)
        database.close()
      },
    ],
  ])('throws for counts that are %s, and names the file and a remedy', async (_, damage) => {
    const first = open()
    await first.meters.reserve(reservation)
    await first.close()
    damage()
    const storage = open()
    const check = (): void => storage.check?.()
    expect(check).toThrow(StorageAwayError)
    expect(check).toThrow(/meters\.db is (not a database|damaged)\. Restore it from a backup, or move it away/)
    const tokens = createTokens({ storage, logger: false })
    const start = (): unknown =>
      createGateway({ auth: tokens.authenticate, upstreams: { up: openai() }, models: { m: 'up' }, logger: false })
    expect(start).toThrow(/meters\.db/)
    await tokens.close()
  })

  test.each([
    ['empty', () => writeFileSync(join(folder, 'tokens.db'), '')],
    ['missing', () => rmSync(join(folder, 'tokens.db'))],
  ])('warns that tokens.db is %s', async (state, lose) => {
    const first = open()
    await first.meters.reserve(reservation)
    await first.close()
    expect(warnings).toEqual([])
    lose()
    await open().close()
    expect(warnings).toEqual([expect.stringContaining(`tokens.db is ${state}, so no token exists`)])
  })
})
