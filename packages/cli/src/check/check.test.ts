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

/** What `check --json` reports of a configuration. */
async function checked(
  config: object,
  ...args: string[]
): Promise<{ report: CheckReport; code: number | undefined; said: string }> {
  const context = createTestContext({ 'modelgate.config.json': JSON.stringify(config) })
  const code = await context.run('check', '--json', ...args)
  return { report: JSON.parse(context.said()) as CheckReport, code, said: context.said() }
}

const one = (upstream: object, models: object = { '*': 'one' }) => ({ upstreams: { one: upstream }, models })

describe('an upstream that answers', () => {
  it('is asked in each format with its own key, and its models are counted', async () => {
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

  it('is warned about names that it does not list', async () => {
    const { url } = await provider()
    const { report, code } = await checked(
      one({ provider: 'openai', apiKey: secret, baseURL: url }, { 'knwon-1': 'one', fast: ['one'], 'o*': 'one' }),
    )
    expect(report.warnings).toEqual([
      "models['knwon-1']: one does not list 'knwon-1': did you mean 'known-1'?",
      "models['fast']: one does not list 'fast'",
    ])
    expect(code).toBe(0)
  })

  it('is asked page after page', async () => {
    const baseURL = await server((req, res) => {
      const after = new URL(req.url ?? '', 'http://h').searchParams.get('after_id')
      res.end(JSON.stringify({ data: [{ id: after === null ? 'a' : 'b' }], has_more: after === null, last_id: 'a' }))
    })
    const { report } = await checked(one({ provider: 'anthropic', apiKey: secret, baseURL }, { a: 'one', b: 'one' }))
    expect(report).toMatchObject({ ok: true, warnings: [], upstreams: [{ models: 2 }] })
  })

  it('may have no list, which is no fault', async () => {
    const { report, code } = await checked(one({ provider: 'voyage', apiKey: secret }))
    expect(report.upstreams).toMatchObject([{ state: 'not asked', detail: 'it has no list of models' }])
    expect(code).toBe(0)
  })
})

describe('an upstream that does not', () => {
  const answering = (status: number, text = '{}') =>
    server((_req, res) => res.writeHead(status, { location: 'http://h/' }).end(text))
  it.each([
    [401, 'it refuses the key (401): check the key of upstreams.one'],
    [403, 'the key may not list models (403)'],
    [404, 'it has no list of models at /models (404): is baseURL right?'],
    [429, 'it is limited (429)'],
    [302, 'it redirects (302), which is not followed'],
    [503, 'it fails (503)'],
    [418, 'it refuses the request (418)'],
    [200, 'it answers, but with no list of models at /models: is baseURL right?'],
  ])('by %i', async (status, words) => {
    const { report, code, said } = await checked(
      one({ provider: 'openai', apiKey: secret, baseURL: await answering(status, secret) }),
    )
    expect(report).toMatchObject({
      ok: false,
      upstreams: [{ state: 'failed', detail: expect.stringContaining(words) }],
    })
    expect(said).not.toContain(secret)
    expect(code).toBe(1)
  })

  it.each([
    ['its port is one that is never called', 'http://127.0.0.1:1', 'no connection (bad port)'],
    ['there is no host', 'http://no-such-host.invalid', 'there is no such host'],
  ])('because %s', async (_, baseURL, words) => {
    const { report } = await checked(one({ provider: 'openai', apiKey: secret, baseURL }))
    expect(report.upstreams[0]?.detail).toContain(words)
  })

  it('because nobody listens', async () => {
    const { url, close } = await provider()
    await close()
    const { report } = await checked(one({ provider: 'openai', apiKey: secret, baseURL: url }))
    expect(report.upstreams[0]?.detail).toContain('nothing listens there: is it running')
  })

  it('because it hangs', async () => {
    const baseURL = await server(() => {})
    const { report } = await checked(one({ provider: 'openai', apiKey: secret, baseURL }), '--timeout', '0.05')
    expect(report.upstreams[0]?.detail).toContain('no answer within 0.05 s')
  })

  it.each([
    ['a line break', `${secret}\n${secret}`],
    ['a letter that no header may have', `${secret}–`],
  ])('because there is %s in its key, which is not told', async (_, apiKey) => {
    const { report, said } = await checked(one({ provider: 'openai', apiKey, baseURL: await answering(200) }))
    expect(report.error).toContain('upstreams.one.apiKey contains a line break or another character')
    expect(said).not.toContain(secret)
  })

  it('because there is a line break in a header of its own, which is not told', async () => {
    const context = createTestContext({
      'modelgate.config.mjs': `import { openai } from 'modelgate'
      const one = { ...openai({ apiKey: 'k' }), headers: { authorization: 'Bearer\\n${secret}' } }
      export default { upstreams: { one }, models: { '*': 'one' } }`,
    })
    expect(await context.run('check')).toBe(1)
    expect(context.said()).toContain('in the key of upstreams.one or in headers?')
    expect(context.said()).not.toContain(secret)
  })

  it('because one of its keys is refused', async () => {
    const { url } = await provider()
    const { report, said } = await checked(
      one({ provider: 'openai', apiKey: [secret, 'sk-wrong-key-1234'], baseURL: url }),
    )
    expect(report.upstreams[0]).toMatchObject({
      state: 'failed',
      detail: expect.stringMatching(/^key 2 of 2: it refuses the key/),
    })
    expect(said).not.toContain('sk-wrong')
  })

  it('because a variable is not set that the environment would have named', async () => {
    const context = createTestContext({
      'modelgate.config.mjs': `import { openai } from 'modelgate'
      export default { upstreams: { a: openai({ apiKey: process.env.NO_SUCH_KEY ?? '' }) }, models: { '*': 'a' } }`,
    })
    expect(await context.run('check')).toBe(1)
    expect(context.said()).toContain('upstreams.a.apiKey is empty. Set the environment variable that it is read from')
  })

  it('is told by the variable of its key, if it comes from the environment', async () => {
    const baseURL = await answering(401)
    const context = createTestContext({}, { OPENAI_API_KEY: secret, OPENAI_BASE_URL: baseURL })
    expect(await context.run('check')).toBe(1)
    expect(context.said()).toContain('it refuses the key (401): check OPENAI_API_KEY')
    expect(context.said()).toContain('1 of 1 upstreams cannot be used as they are.')
  })
})

describe('a configuration', () => {
  it.each([
    [{ upstreams: {}, models: {} }, 'upstreams is empty'],
    [one({ provider: 'openai', apiKey: 'k' }, { a: 'two' }), "models['a'] names the upstream 'two'"],
    [one({ provider: 'opnai' }), "did you mean 'openai'?"],
    [one({ provider: 'openai', baseURL: 'http://ada:secret@host/v1' }), 'baseURL holds a name or a password'],
  ])('%j cannot be, and nobody is asked', async (config, words) => {
    const { report, code } = await checked(config)
    expect(report).toMatchObject({ ok: false, error: expect.stringContaining(words), upstreams: [] })
    expect(code).toBe(1)
  })

  it('may be none: the demo is not asked', async () => {
    const context = createTestContext()
    expect(await context.run('check')).toBe(0)
    expect(context.said()).toContain('the environment (no provider key is set: a demo answers)')
    expect(context.said()).toContain('All is well.')
  })

  it('is only looked at: no folder is made', async () => {
    const config = { ...one({ provider: 'voyage', apiKey: 'k' }), data: 'data', ledger: 'ledger' }
    const context = createTestContext({ 'modelgate.config.json': JSON.stringify(config) })
    expect(await context.run('check')).toBe(0)
    expect(readdirSync(context.cwd)).toEqual(['modelgate.config.json'])
  })

  it('is not looked at for a time that is none', async () => {
    const context = createTestContext()
    expect(await context.run('check', '--timeout', 'soon')).toBe(2)
    expect(context.complained()).toContain("--timeout is 'soon'")
  })
})
