import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createGateway, openai } from '@modelgate/core'
import { expressMiddleware } from '@modelgate/express'
import { createFakeProvider, listen } from '@modelgate/testing'
import { createTokens, folderStorage, type Tokens } from '@modelgate/tokens'
import express from 'express'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'

const document = readFileSync(new URL('../../docs/guide/tokens.md', import.meta.url), 'utf8')
const [, block = ''] = /^```js\n(.*?)^```/ms.exec(document) ?? []
const imports = /^import .*\n/gm
const code = block.replace(imports, '')

/** Imports and declarations of the block, with tokens in a folder of the test. */
type Given = Record<string, unknown>
const run = (given: Given): unknown => new Function(...Object.keys(given), code)(...Object.values(given))

describe('the first code of docs/guide/tokens.md', () => {
  const ends: (() => unknown)[] = []
  let folder = ''
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'modelgate-document-'))
  })
  afterEach(async () => {
    for (const end of ends.splice(0).reverse()) await end()
    rmSync(folder, { recursive: true, force: true })
  })

  /** An app with a login (the cookie is a name) that follows the document. */
  async function start() {
    const provider = await listen(createFakeProvider({ apiKey: 'upstream-key' }))
    ends.push(provider.close)
    const app = express()
    let tokens: Tokens | undefined
    const given = {
      // The existing login of the app.
      express: () => app,
      apiKey: 'upstream-key',
      createGateway,
      expressMiddleware,
      openai: (options: Parameters<typeof openai>[0]) => openai({ ...options, baseURL: provider.url }),
      createTokens: (options: Parameters<typeof createTokens>[0]) => {
        tokens = createTokens(options)
        return tokens
      },
      folderStorage: (path: string) => folderStorage(join(folder, path)),
    }
    app.use((req, res, next) => {
      res.locals.user = { id: req.headers.cookie }
      next()
    })
    run(given)
    ends.push(() => tokens?.close())
    const server = app.listen(0, '127.0.0.1')
    await new Promise((resolve) => server.once('listening', resolve))
    ends.push(
      () => server.closeAllConnections(),
      () => new Promise((resolve) => server.close(resolve)),
    )
    const root = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    return {
      as: (user: string, method: string, path: string) => fetch(root + path, { method, headers: { cookie: user } }),
      ask: (secret: string, model: string) =>
        fetch(`${root}/v1/chat/completions`, {
          method: 'POST',
          headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
          body: JSON.stringify({ model, messages: [{ role: 'user', content: 'hello' }] }),
        }),
    }
  }

  it('has at most the stated twenty lines in addition to imports', () => {
    expect(block.match(imports)).toHaveLength(4)
    expect(code.trim().split('\n').length).toBeLessThanOrEqual(20)
  })

  it('issues a token to a user that is valid within its limits', async () => {
    const { as, ask } = await start()
    const issued = await as('ada', 'POST', '/my/tokens')
    expect(issued.status).toBe(201)
    const { secret, owner, budgets } = await issued.json()
    expect({ owner, budgets }).toEqual({ owner: 'ada', budgets: [{ tokens: 1_000_000, period: 'month' }] })
    const answer = await ask(secret, 'gpt-5')
    expect(answer.status).toBe(200)
    expect(await answer.json()).toMatchObject({ choices: [{ finish_reason: 'stop' }] })
    expect(answer.headers.get('x-ratelimit-remaining-requests')).toBe('59')
    expect(answer.headers.get('modelgate-budget')).toMatch(/^month;unit=tokens;limit=1000000;remaining=\d+;reset=\d+$/)
    expect((await ask(`${secret.slice(0, -1)}_`, 'gpt-5')).status).toBe(401)
  })

  it('lets users revoke only their own tokens', async () => {
    const { as, ask } = await start()
    const { id, secret } = await (await as('ada', 'POST', '/my/tokens')).json()
    expect((await as('bob', 'DELETE', `/my/tokens/${id}`)).status).toBe(404)
    expect((await ask(secret, 'gpt-5')).status).toBe(200)
    expect((await as('ada', 'DELETE', `/my/tokens/${id}`)).status).toBe(200)
    expect((await ask(secret, 'gpt-5')).status).toBe(401)
    expect((await as('ada', 'DELETE', '/my/tokens/tok_none')).status).toBe(404)
  })
})
