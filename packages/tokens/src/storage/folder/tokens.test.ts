import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describeTokenStore } from '../token-store.test-support.ts'
import { prepareFile, prepareFolder } from './files.ts'
import { createFolderTokens } from './tokens.ts'

describeTokenStore('a folder', () => {
  const folder = prepareFolder(mkdtempSync(join(tmpdir(), 'modelgate-tokens-')))
  const file = prepareFile(folder, 'tokens.db')
  const stores = [createFolderTokens(file), createFolderTokens(file)] as const
  return {
    store: stores[0],
    other: stores[1],
    close: async () => {
      for (const store of stores) store.close()
      rmSync(folder, { recursive: true })
    },
  }
})
