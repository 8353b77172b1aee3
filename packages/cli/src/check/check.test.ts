import { readdirSync } from 'node:fs'
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createFakeProvider, listen } from '@modelgate/testing'
import { afterEach, describe, expect, it } from 'vitest'
import { createTestContext } from '../terminal/command-context.test-support.ts'
import type { CheckReport } from './report-text.ts'

const closing: (() => Promise<unknown> | unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

const secret = 'sk-secret-0123456789'

async function provider(models: string[] = ['known-1', 'known-2']) {
  const opened = await listen(createFakeProvider({ apiKey: secret, models }))
  closing.push(opened.close)
  return opened
}

async function server(handle: RequestListener): Promise<string> {
  const made: Server = createServer(handle)
  await new Promise<void>((resolve) => made.listen(0, '127.0.0.1', resolve))
  closing.push(() => {
    made.closeAllConnections()
    made.close()
  })
  return `http://127.0.0.1:${(made.address() as AddressInfo).port}`
}

/** Runs `check --json` on a configuration. */
async function checked(
  config: object,
  ...args: string[]
): Promise<{ report: CheckReport; code: number | undefined; output: string }> {
  const context = createTestContext({ 'modelgate.config.json': JSON.stringify(config) })
  const code = await context.run('check', '--json', ...args)
  return { report: JSON.parse(context.stdout()) as CheckReport, code, output: context.stdout() }
}

const one = (upstream: object, models: object = { '*': 'one' }) => ({ upstreams: { one: upstream }, models })

describe('a working upstream', () => {
  it('is queried in each format with its own key, and its models are counted', async () => {
    const { url, origin } = await provider()
    const { report, code } = await checked({
      upstreams: {
        chat: { provider: 'openai', apiKey: secret, baseURL: url },
        messages: { provider: 'anthropic', apiKey: secret, baseURL: origin },
        content: { provider: 'gemini', apiKey: secret, baseURL: origin },
      },
      models: { 'known-1': 'chat', other: { upstream: 'messages', model: 'known-2' }, '*': 'content' },
    })
    expect(report).toMatchObject({ ok: true, config: 'modelgate.config.json', warnings: [] })
    const host = new URL(origin).host
    expect(report.upstreams).toEqual(
      ['chat', 'messages', 'content'].map((name) => ({ name, host, state: 'ok', models: 2, ms: expect.any(Number) })),
    )
    expect(code).toBe(0)
  })

  it('causes a warning for names that it does not list', async () => {
    const { url } = await provider()
    const { report, code } = await checked(
      one({ provider: 'openai', apiKey: secret, baseURL: url }, { 'knwon-1': 'one', fast: ['one'], 'o*': 'one' }),
    )
    expect(report.warnings).toEqual([
      "models['knwon-1']: one does not list 'knwon-1'. Did you mean 'known-1'?",
      "models['fast']: one does not list 'fast'",
    ])
    expect(code).toBe(0)
  })

  it('is queried page by page', async () => {
    const baseURL = await server((req, res) => {
      const after = new URL(req.url ?? '', 'http://h').searchParams.get('after_id')
      res.end(JSON.stringify({ data: [{ id: after === null ? 'a' : 'b' }], has_more: after === null, last_id: 'a' }))
    })
    const { report } = await checked(one({ provider: 'anthropic', apiKey: secret, baseURL }, { a: 'one', b: 'one' }))
    expect(report).toMatchObject({ ok: true, warnings: [], upstreams: [{ models: 2 }] })
  })

  it('without a model list is skipped without failing', async () => {
    const { report, code } = await checked(one({ provider: 'voyage', apiKey: secret }))
    expect(report.upstreams).toMatchObject([{ state: 'skipped', detail: 'no list of models' }])
    expect(code).toBe(0)
  })
})

describe('a failing upstream', () => {
  const answering = (status: number, text = '{}') =>
    server((_req, res) => res.writeHead(status, { location: 'http://h/' }).end(text))
  it.each([
    [401, 'it rejects the key (401): check the key of upstreams.one'],
    [403, 'the key is not allowed to list models (403)'],
    [404, 'no list of models at /models (404): check baseURL'],
    [429, 'rate limited (429)'],
    [302, 'it redirects (302), which is not followed'],
    [503, 'server error (503)'],
    [418, 'it rejects the request (418)'],
    [200, 'the response at /models is not a list of models: check baseURL'],
  ])('is reported with its status %i', async (status, words) => {
    const { report, code, output } = await checked(
      one({ provider: 'openai', apiKey: secret, baseURL: await answering(status, secret) }),
    )
    expect(report).toMatchObject({
      ok: false,
      upstreams: [{ state: 'failed', detail: expect.stringContaining(words) }],
    })
    expect(output).not.toContain(secret)
    expect(code).toBe(1)
  })

  it.each([
    ['its port is blocked', 'http://127.0.0.1:1', 'no connection (bad port)'],
    ['its host does not exist', 'http://no-such-host.invalid', 'unknown host'],
  ])('is reported if %s', async (_, baseURL, words) => {
    const { report } = await checked(one({ provider: 'openai', apiKey: secret, baseURL }))
    expect(report.upstreams[0]?.detail).toContain(words)
  })

  it('is reported if the connection is refused', async () => {
    const { url, close } = await provider()
    await close()
    const { report } = await checked(one({ provider: 'openai', apiKey: secret, baseURL: url }))
    expect(report.upstreams[0]?.detail).toContain('connection refused: check that the server is running')
  })

  it('is reported if it does not respond', async () => {
    const baseURL = await server(() => {})
    const { report } = await checked(one({ provider: 'openai', apiKey: secret, baseURL }), '--timeout', '0.05')
    expect(report.upstreams[0]?.detail).toContain('no response within 0.05 s')
  })

  it.each([
    ['a line break', `${secret}\n${secret}`],
    ['a letter that no header may have', `${secret}–`],
  ])('is reported if its key contains %s, without the key', async (_, apiKey) => {
    const { report, output } = await checked(one({ provider: 'openai', apiKey, baseURL: await answering(200) }))
    expect(report.error).toContain('upstreams.one.apiKey contains a line break or another character')
    expect(output).not.toContain(secret)
  })

  it('is reported if a header contains a line break, without the header', async () => {
    const context = createTestContext({
      'modelgate.config.mjs': `import { openai } from 'modelgate'
      const one = { ...openai({ apiKey: 'k' }), headers: { authorization: 'Bearer\\n${secret}' } }
      export default { upstreams: { one }, models: { '*': 'one' } }`,
    })
    expect(await context.run('check')).toBe(1)
    expect(context.stdout()).toContain('check the key of upstreams.one and headers')
    expect(context.stdout()).not.toContain(secret)
  })

  it('is reported if one of its keys is rejected', async () => {
    const { url } = await provider()
    const { report, output } = await checked(
      one({ provider: 'openai', apiKey: [secret, 'sk-wrong-key-1234'], baseURL: url }),
    )
    expect(report.upstreams[0]).toMatchObject({
      state: 'failed',
      detail: expect.stringMatching(/^key 2 of 2: it rejects the key/),
    })
    expect(output).not.toContain('sk-wrong')
  })

  it('is reported if the variable of its key is unset', async () => {
    const context = createTestContext({
      'modelgate.config.mjs': `import { openai } from 'modelgate'
      export default { upstreams: { a: openai({ apiKey: process.env.NO_SUCH_KEY ?? '' }) }, models: { '*': 'a' } }`,
    })
    expect(await context.run('check')).toBe(1)
    expect(context.stdout()).toContain('upstreams.a.apiKey is empty. Set the environment variable that it is read from')
  })

  it('is reported with the environment variable of its key', async () => {
    const baseURL = await answering(401)
    const context = createTestContext({}, { OPENAI_API_KEY: secret, OPENAI_BASE_URL: baseURL })
    expect(await context.run('check')).toBe(1)
    expect(context.stdout()).toContain('it rejects the key (401): check OPENAI_API_KEY')
    expect(context.stdout()).toContain('1 of 1 upstreams failed.')
  })
})

describe('a configuration', () => {
  it.each([
    [{ upstreams: {}, models: {} }, 'upstreams is empty'],
    [one({ provider: 'openai', apiKey: 'k' }, { a: 'two' }), "models['a'] names the unknown upstream 'two'"],
    [one({ provider: 'opnai' }), "Did you mean 'openai'?"],
    [one({ provider: 'openai', baseURL: 'http://ada:secret@host/v1' }), 'baseURL contains a user name or a password'],
  ])('%j is invalid, and no upstream is called', async (config, words) => {
    const { report, code } = await checked(config)
    expect(report).toMatchObject({ ok: false, error: expect.stringContaining(words), upstreams: [] })
    expect(code).toBe(1)
  })

  it('is optional: the demo is not queried', async () => {
    const context = createTestContext()
    expect(await context.run('check')).toBe(0)
    expect(context.stdout()).toContain('the environment (demo: no provider key is set)')
    expect(context.stdout()).toContain('All upstreams OK.')
  })

  it('is validated without creating folders', async () => {
    const config = { ...one({ provider: 'voyage', apiKey: 'k' }), data: 'data', ledger: 'ledger' }
    const context = createTestContext({ 'modelgate.config.json': JSON.stringify(config) })
    expect(await context.run('check')).toBe(0)
    expect(readdirSync(context.cwd)).toEqual(['modelgate.config.json'])
  })

  it('is not checked with an invalid --timeout', async () => {
    const context = createTestContext()
    expect(await context.run('check', '--timeout', 'soon')).toBe(2)
    expect(context.stderr()).toContain("Invalid --timeout 'soon'")
  })
})
