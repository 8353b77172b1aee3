import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createFakeProvider, listen } from '@modelgate/testing'
import { afterEach, describe, expect, it } from 'vitest'
import { createTestContext } from '../terminal/command-context.test-support.ts'
import { serve } from './serve.ts'

const closing: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

const adminToken = 'canary-admin-token'
const withAdmin = { MODELGATE_ADMIN_TOKEN: adminToken }

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'cli-usage-'))
  closing.push(() => rmSync(path, { recursive: true, force: true }))
  return path
}

const asText = (config: object): Record<string, string> => ({ 'modelgate.config.json': JSON.stringify(config) })

async function started(
  env: Record<string, string> = withAdmin,
  files: (config: object) => Record<string, string> = asText,
) {
  const provider = await listen(createFakeProvider({ apiKey: 'k' }))
  closing.push(provider.close)
  const server = createTestContext(
    files({
      upstreams: { one: { provider: 'openai', apiKey: 'k', baseURL: provider.url } },
      models: { fast: { upstream: 'one', model: 'gpt-5-mini' } },
      token: 'static',
    }),
    env,
  )
  const serving = await serve(server, { port: '0' })
  closing.push(() => serving.stop())
  const root = `http://127.0.0.1:${serving.port}`
  return { root, server, serving, ...clientOf(root) }
}

interface Row {
  readonly token: string | null
  readonly calls: number
}

const callsByToken = (rows: readonly Row[]) => Object.fromEntries(rows.map(({ token, calls }) => [token, calls]))

function clientOf(root: string, token: string = adminToken) {
  const read = (path: string, credential: string = token) =>
    fetch(`${root}/console/${path}`, { headers: { authorization: `Bearer ${credential}` } })
  const issue = async (settings: object = {}): Promise<{ id: string; secret: string }> => {
    const response = await fetch(`${root}/console/api/tokens`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify(settings),
    })
    expect(response.status).toBe(201)
    return (await response.json()) as { id: string; secret: string }
  }
  const ask = async (credential: string, model = 'fast'): Promise<number> => {
    const response = await fetch(`${root}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${credential}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model, messages: [{ role: 'user', content: 'Hello' }] }),
    })
    await response.text()
    return response.status
  }
  const rows = async (): Promise<readonly Row[]> => ((await (await read('api/usage')).json()) as { rows: Row[] }).rows
  return { read, issue, ask, rows }
}

const paths = ['usage', 'tokens', 'api/usage', 'api/tokens']

describe('usage and tokens of the server', () => {
  it('require MODELGATE_ADMIN_TOKEN', async () => {
    const { root, server, read } = await started()
    for (const path of ['api/usage', 'api/tokens'])
      for (const [token, status] of [
        ['wrong', 401],
        ['static', 401],
        [adminToken, 200],
      ] as const)
        expect([path, token, (await read(path, token)).status]).toEqual([path, token, status])
    for (const name of ['usage', 'tokens']) expect((await fetch(`${root}/console/${name}`)).status).toBe(200)
    expect(server.stdout()).toContain(`Usage              ${root}/console/usage\n`)
    expect(server.stdout()).toContain(`Tokens             ${root}/console/tokens\n`)
    expect(server.stdout()).not.toContain(adminToken)
  })

  it.each([
    ['without MODELGATE_ADMIN_TOKEN', {}, asText],
    ['with an empty one', { MODELGATE_ADMIN_TOKEN: '' }, asText],
    ['without the console', withAdmin, (config: object) => asText({ ...config, console: false })],
  ])('do not exist %s', async (_, env, files) => {
    const { read, server } = await started(env, files)
    for (const path of paths) for (const token of [adminToken, '']) expect((await read(path, token)).status).toBe(404)
    expect(server.stdout()).not.toMatch(/Usage {2}|Tokens {2}|Issued tokens/)
  })

  it('issue tokens that the server accepts until it stops if it stores none', async () => {
    const { server, issue, ask, rows, serving } = await started()
    expect(server.stdout()).toContain('Issued tokens      in memory, until the server stops')
    const { id, secret } = await issue({ name: 'laptop' })
    expect([await ask(secret), await ask('static'), await ask('mg-wrong')]).toEqual([200, 200, 401])
    expect(await rows()).toMatchObject([{ token: id, name: 'laptop', model: 'fast', calls: 1 }])
    await serving.reload()
    expect(await ask(secret)).toBe(200)
    expect(await rows()).toMatchObject([{ token: id, calls: 2 }])
  })

  it('keep tokens and usage in the folder of MODELGATE_DATA', async () => {
    const env = { ...withAdmin, MODELGATE_DATA: folder() }
    const first = await started(env)
    const { id, secret } = await first.issue()
    expect(await first.ask(secret)).toBe(200)
    await first.serving.stop()
    const second = await started(env)
    expect(await second.rows()).toMatchObject([{ token: id, calls: 1 }])
    expect(await second.ask(secret)).toBe(200)
  })

  it('contain the calls with a configured token if there is a ledger', async () => {
    const { issue, ask, read } = await started({ ...withAdmin, MODELGATE_LEDGER: folder() })
    const { id, secret } = await issue()
    for (const credential of [secret, 'static', 'static']) await ask(credential)
    const { source, rows } = (await (await read('api/usage')).json()) as { source: string; rows: Row[] }
    expect(source).toBe('ledger')
    expect(callsByToken(rows)).toEqual({ [id]: 1, owner: 2 })
  })

  it('use the tokens of the configuration, and admit its own callers', async () => {
    const { issue, ask, read, serving } = await started(withAdmin, (config) => ({
      'modelgate.config.mjs': `
        import { createTokens, memoryStorage } from '@modelgate/tokens'
        import { openai } from '@modelgate/core'
        const { upstreams: { one }, models } = ${JSON.stringify(config)}
        const tokens = createTokens({ storage: memoryStorage(), logger: false })
        const authorize = ({ header }) => header('cookie') === 'session=operator'
        export default { upstreams: { one: openai(one) }, models, tokens, console: { usage: { tokens, authorize } } }`,
    }))
    const { id, secret } = await issue()
    expect(await ask(secret)).toBe(200)
    const asOperator = await fetch((await read('api/usage')).url, { headers: { cookie: 'session=operator' } })
    expect(await asOperator.json()).toMatchObject({ rows: [{ token: id, calls: 1 }] })
    expect((await read('api/usage', 'wrong')).status).toBe(401)
    await serving.reload()
    expect((await read('api/usage')).status).toBe(200)
  })

  it('have a token of the run in demos, which the banner links', async () => {
    const server = createTestContext()
    const serving = await serve(server, { port: '0' })
    closing.push(() => serving.stop())
    for (const name of ['Usage', 'Tokens'])
      expect(server.stdout()).toMatch(new RegExp(`${name} +http:.*/console/${name.toLowerCase()}#token=mga-\\S{32}\n`))
    const [, root = '', token = ''] = /(http:\S*)\/console\/tokens#token=(\S+)/.exec(server.stdout()) ?? []
    const { issue, ask, rows } = clientOf(root, token)
    const { id, secret } = await issue()
    expect(await ask(secret, 'demo-chat')).toBe(200)
    const [, generated = ''] = /Token +(mg-\S+)/.exec(server.stdout()) ?? []
    for (let n = 0; n < 2; n++) expect(await ask(generated, 'demo-chat')).toBe(200)
    expect(callsByToken(await rows())).toEqual({ owner: 2, [id]: 1 })
    expect(server.stdout()).not.toContain('Ledger  ')
  })
})
