import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { prepareFile, prepareFolder } from './folder-files.ts'
import { createFolderTokens } from './folder-tokens.ts'
import { describeTokenStore } from './token-store.test-support.ts'

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
