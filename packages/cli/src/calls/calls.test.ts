import { createFakeProvider, listen } from '@modelgate/testing'
import { afterEach, describe, expect, it } from 'vitest'
import { serve } from '../start/serve.ts'
import { createTestContext, type TestContext } from '../terminal/command-context.test-support.ts'
import { calls } from './calls.ts'

const closing: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

const adminToken = 'canary-admin-token'

async function started(env: Record<string, string> = { MODELGATE_ADMIN_TOKEN: adminToken }, settings: object = {}) {
  const provider = await listen(createFakeProvider({ apiKey: 'k' }))
  closing.push(provider.close)
  const config = {
    upstreams: { one: { provider: 'openai', apiKey: 'k', baseURL: provider.url } },
    models: { fast: { upstream: 'one', model: 'gpt-5-mini' } },
    token: 't',
    ...settings,
  }
  const server = createTestContext({ 'modelgate.config.json': JSON.stringify(config) }, env)
  const serving = await serve(server, { port: '0' })
  closing.push(() => serving.stop())
  const root = `http://127.0.0.1:${serving.port}`
  const ask = async (model: string): Promise<string> => {
    const response = await fetch(`${root}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: 'Bearer t', 'content-type': 'application/json' },
      body: JSON.stringify({ model, messages: [{ role: 'user', content: 'canary question' }] }),
    })
    await response.text()
    return response.headers.get('modelgate-request-id') ?? ''
  }
  const client: TestContext = createTestContext({}, { MODELGATE_ADMIN_TOKEN: adminToken })
  return { root, ask, server, serving, client }
}

const read = (url: string, token: string): Promise<Response> =>
  fetch(`${url}/console/api/calls`, { headers: { authorization: `Bearer ${token}` } })

describe('recent calls of the server', () => {
  it('require MODELGATE_ADMIN_TOKEN', async () => {
    const { root, server } = await started()
    expect([(await read(root, 'wrong')).status, (await read(root, adminToken)).status]).toEqual([401, 200])
    expect((await read(root, 't')).status).toBe(401)
    expect((await fetch(`${root}/console/calls`)).status).toBe(200)
    expect(server.stdout()).toContain(`Calls              ${root}/console/calls\n`)
    expect(server.stdout()).not.toContain(adminToken)
  })

  it.each([
    ['without MODELGATE_ADMIN_TOKEN', {}, {}],
    ['with an empty one', { MODELGATE_ADMIN_TOKEN: '' }, {}],
    ['without the console', { MODELGATE_ADMIN_TOKEN: adminToken }, { console: false }],
  ])('do not exist %s', async (_, env, settings) => {
    const { root } = await started(env, settings)
    expect((await read(root, adminToken)).status).toBe(404)
    expect((await read(root, '')).status).toBe(404)
    expect((await fetch(`${root}/console/calls`)).status).toBe(404)
  })

  it('have a token of the run in demos, which the banner links', async () => {
    const server = createTestContext()
    const serving = await serve(server, { port: '0' })
    closing.push(() => serving.stop())
    const [, url = '', token = ''] = /Calls +(http:.*)\/console\/calls#token=(mga-\S{32}) /.exec(server.stdout()) ?? []
    expect((await read(url, token)).status).toBe(200)
  })

  it('survive a reload', async () => {
    const { root, ask, serving } = await started()
    const id = await ask('fast')
    await serving.reload()
    expect(await (await read(root, adminToken)).text()).toContain(id)
  })
})

describe('modelgate calls', () => {
  it('prints one line for each call, without content', async () => {
    const { root, ask, client } = await started()
    const first = await ask('fast')
    const second = await ask('unknown')
    expect(await client.run('calls', '--url', root)).toBe(0)
    const lines = client.stdout().trimEnd().split('\n')
    expect(lines).toHaveLength(2)
    expect(lines[0]).toMatch(/^\d\d:\d\d:\d\d {2}200 {2}owner {2}fast → one\/gpt-5-mini {2}.* tokens {2}/)
    expect(lines[0]).toContain(first)
    expect(lines[1]).toMatch(/ {2}404 {2}owner {2}unknown {2}model_not_found {2}/)
    expect(lines[1]).toContain(second)
    expect(client.stdout()).not.toMatch(/canary/)
  })

  it('filters, limits and prints JSON', async () => {
    const { root, ask, client } = await started()
    for (const model of ['fast', 'unknown', 'fast']) await ask(model)
    expect(await client.run('calls', '--url', `${root}/`, '--model', 'fast', '--last', '1', '--json')).toBe(0)
    expect(JSON.parse(client.stdout())).toMatchObject({ model: 'fast', status: 200 })
  })

  it('follows new calls', async () => {
    const { root, ask, client } = await started()
    const ids = [await ask('fast')]
    const controller = new AbortController()
    let wake = (): void => {}
    const context = {
      ...client,
      out(text: string) {
        client.out(text)
        wake()
      },
    }
    const printed = async (id: string): Promise<void> => {
      while (!client.stdout().includes(id))
        await new Promise<void>((resolve) => {
          wake = resolve
        })
    }
    const ended = calls(['--follow', '--url', root], context, controller.signal)
    await printed(ids[0] ?? '')
    ids.push(await ask('fast'))
    await printed(ids[1] ?? '')
    controller.abort()
    expect(await ended).toBe(0)
    expect(client.stdout().trimEnd().split('\n')).toHaveLength(2)
  })

  it.each([
    ['a wrong token', { MODELGATE_ADMIN_TOKEN: 'wrong' }, [], 1, 'rejected MODELGATE_ADMIN_TOKEN'],
    ['no token', {}, [], 2, 'MODELGATE_ADMIN_TOKEN is not set'],
    ['an invalid status', { MODELGATE_ADMIN_TOKEN: adminToken }, ['--status', '9xx'], 1, "Invalid status '9xx'"],
    ['an argument', { MODELGATE_ADMIN_TOKEN: adminToken }, ['all'], 2, "Unexpected argument 'all'"],
  ])('reports %s in one line', async (_, env, args, code, words) => {
    const { root } = await started()
    const client = createTestContext({}, env)
    expect(await client.run('calls', '--url', root, ...args)).toBe(code)
    expect(client.stderr()).toContain(words)
    expect(client.stderr()).not.toContain(adminToken)
  })

  it('reports a server without recent calls, and one that is not there', async () => {
    const { root, serving, client } = await started({})
    expect(await client.run('calls', '--url', root)).toBe(1)
    expect(client.stderr()).toContain('keeps no recent calls')
    await serving.stop()
    expect(await client.run('calls', '--follow', '--url', root)).toBe(1)
    expect(client.stderr()).toContain('could not be reached (ECONNREFUSED)')
  })
})
