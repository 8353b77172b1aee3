import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createGateway, openai } from '@modelgate/core'
import { expect, it, onTestFinished } from 'vitest'
import { createTokens } from './create-tokens.ts'
import { fileLedger } from './ledger/file-ledger.ts'
import { memoryStorage } from './storage/memory-storage.ts'

it('a gateway, its tokens and their ledger close when the block of `await using` ends, the gateway first', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'modelgate-dispose-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const closed: string[] = []
  const storage = memoryStorage()
  const close = storage.close.bind(storage)
  const ledger = fileLedger({ folder })
  const { gateway, status } = await (async () => {
    await using used = ledger
    await using tokens = createTokens({
      storage: {
        ...storage,
        close() {
          closed.push('tokens')
          return close()
        },
      },
      ledger: { append: (record) => used.append(record) },
    })
    await using made = createGateway({
      auth: tokens.authenticate,
      upstreams: { one: openai({ apiKey: 'k' }) },
      models: { m: 'one' },
      logger: false,
    })
    return { gateway: made, status: (await made.fetch('http://gateway/v1/models')).status }
  })()
  expect(status).toBe(401)
  expect((await gateway.fetch('http://gateway/v1/models')).status).toBe(503)
  expect(closed).toEqual(['tokens'])
  expect(() => ledger.append({ time: '2026-01-01T00:00:00.000Z' } as never)).toThrow('after close()')
})
