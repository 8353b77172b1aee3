import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describeOwners } from '../owners.test-support.ts'
import { folderStorage } from './folder-storage.ts'

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
