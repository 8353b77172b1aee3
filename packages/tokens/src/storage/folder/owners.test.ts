import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createTokens } from '../../create-tokens.ts'
import { describeOwners } from '../owners.test-support.ts'
import { folderStorage } from './folder-storage.ts'
import { openDatabase } from './sqlite.ts'

describeOwners('a folder', () => {
  const place = mkdtempSync(join(tmpdir(), 'modelgate-owners-'))
  const first = folderStorage(place, { logger: false })
  return {
    first,
    close: async () => {
      await first.close()
      rmSync(place, { recursive: true })
    },
  }
})

test('adds the table of owners to a folder of an older version, and keeps its tokens', async () => {
  const place = mkdtempSync(join(tmpdir(), 'modelgate-owners-'))
  const open = () => createTokens({ storage: folderStorage(place, { logger: false }) })
  const before = open()
  const { id } = await before.issue({ owner: 'team' })
  await before.close()
  const older = openDatabase(join(place, 'tokens.db'), {})
  older.exec('DROP TABLE owners; PRAGMA user_version = 1')
  older.close()
  const after = open()
  expect(await after.get(id)).toMatchObject({ id, owner: 'team' })
  expect(await after.owners.list()).toEqual({ owners: [] })
  await after.owners.set('team', { limits: { requests: 1 } })
  expect(await after.owners.get('team')).toMatchObject({ limits: [{ requests: 1 }] })
  await after.close()
  rmSync(place, { recursive: true })
})
