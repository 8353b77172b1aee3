import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { RecentCallDetails } from '@modelgate/console'
import { afterEach, describe, expect, it } from 'vitest'
import { serve } from '../start/serve.ts'
import { createTestContext } from '../terminal/command-context.test-support.ts'

const closing: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

const adminToken = 'canary-admin-token'
const clientToken = 'canary-client-token-1'
const apiKey = 'sk-canary-0123456789abcdef'
const question = 'words of the question'
const answer = 'words of the answer'

/** An upstream that repeats its key in content and in errors. */
async function echoingProvider(): Promise<string> {
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      const isGood = request.url !== '/v1/broken/chat/completions'
      const content = `${answer} ${request.headers.authorization}`
      response.writeHead(isGood ? 200 : 400, { 'content-type': 'application/json', 'x-request-id': apiKey })
      response.end(
        JSON.stringify(
          isGood
            ? {
                id: 'c',
                object: 'chat.completion',
                created: 1,
                model: 'm',
                choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }],
              }
            : { error: { message: `${content} is wrong`, type: 'invalid_request_error' } },
        ),
      )
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  closing.push(() => new Promise((resolve) => server.close(resolve)))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`
}

async function started(settings: object, flags: { readonly capture?: string } = {}, env: Record<string, string> = {}) {
  const url = await echoingProvider()
  const upstream = { provider: 'openai', apiKey, formats: ['chat'] }
  const config = {
    upstreams: { good: { ...upstream, baseURL: url }, broken: { ...upstream, baseURL: `${url}/broken` } },
    models: { good: 'good', broken: 'broken' },
    token: clientToken,
    ...settings,
  }
  const files = { 'modelgate.config.json': JSON.stringify(config) }
  const server = createTestContext(files, { MODELGATE_ADMIN_TOKEN: adminToken, ...env })
  const serving = await serve(server, { port: '0', ...flags })
  closing.push(() => serving.stop())
  const root = `http://127.0.0.1:${serving.port}`
  const ask = async (model: string): Promise<void> => {
    const response = await fetch(`${root}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${clientToken}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model, messages: [{ role: 'user', content: `${question} ${clientToken} ${apiKey}` }] }),
    })
    await response.text()
  }
  for (const model of ['good', 'broken', 'unknown']) await ask(model)
  const client = createTestContext({}, { MODELGATE_ADMIN_TOKEN: adminToken })
  /** Prints the calls as JSON. Returns the last call of each model. */
  const details = async (): Promise<Record<string, RecentCallDetails>> => {
    expect(await client.run('calls', '--url', root, '--json')).toBe(0)
    const lines = client.stdout().trimEnd().split('\n')
    const calls = lines.map((line) => JSON.parse(line) as RecentCallDetails)
    return Object.fromEntries(calls.map((call) => [call.model ?? '', call]))
  }
  return { root, server, serving, client, config, ask, details }
}

const isNoted = (output: string): boolean => output.includes('Note: the contents of calls are kept in memory')

describe('captured bodies of the server', () => {
  it.each<[string, object, { capture?: string }, Record<string, string>, boolean]>([
    ['by default', {}, {}, {}, false],
    ['--capture bodies', {}, { capture: 'bodies' }, {}, true],
    ['MODELGATE_CAPTURE', {}, {}, { MODELGATE_CAPTURE: 'bodies' }, true],
    ['an empty MODELGATE_CAPTURE', { capture: 'bodies' }, {}, { MODELGATE_CAPTURE: '' }, true],
    ['capture', { capture: 'bodies' }, {}, {}, true],
    ['limits', { capture: { maxBodyBytes: 1000 } }, {}, {}, true],
    ['--capture off', { capture: 'bodies' }, { capture: 'off' }, { MODELGATE_CAPTURE: 'bodies' }, false],
    ['MODELGATE_CAPTURE=off', { capture: { maxBodyBytes: 1000 } }, {}, { MODELGATE_CAPTURE: 'off' }, false],
    ['the file switches it off', { capture: 'off' }, {}, {}, false],
  ])('are kept only if it is switched on: %s', async (_, settings, flags, env, isOn) => {
    const { server, details } = await started(settings, flags, env)
    const { good } = await details()
    expect(good?.bodies.state).toBe(isOn ? 'captured' : 'off')
    expect(isNoted(server.stdout())).toBe(isOn)
  })

  it('are printed by `modelgate calls --json` without any credential', async () => {
    const { server, client, details } = await started({}, { capture: 'bodies' })
    const { good, broken, unknown } = await details()
    const all = client.stdout()
    for (const canary of [adminToken, clientToken, apiKey, 'canary', btoa(apiKey).slice(0, 16)])
      expect(all, canary).not.toContain(canary)
    expect(server.stdout() + server.stderr()).not.toMatch(/canary|words of/)
    expect([good, broken, unknown].map((call) => call?.bodies)).toMatchObject([
      { state: 'captured', attempts: [{ path: '/v1/chat/completions', response: { isComplete: true } }] },
      { state: 'captured', attempts: [{ path: '/v1/broken/chat/completions' }] },
      { state: 'captured', attempts: [] },
    ])
    expect(all).toContain(`${question} *** ***`)
    expect(all).toContain(answer)
    expect(good?.attempts).toHaveLength(1)
  })

  it('are printed while `modelgate calls --follow --json` follows', async () => {
    const { client, root } = await started({}, { capture: 'bodies' })
    const { calls } = await import('./calls.ts')
    const controller = new AbortController()
    const lines: string[] = []
    const context = {
      ...client,
      out(line: string) {
        lines.push(line)
        if (lines.length === 3) controller.abort()
      },
    }
    expect(await calls(['--follow', '--json', '--url', root], context, controller.signal)).toBe(0)
    expect(lines.map((line) => (JSON.parse(line) as RecentCallDetails).bodies.state)).toEqual([
      'captured',
      'captured',
      'captured',
    ])
  })

  it('are switched on and off by a reload, which forgets them', async () => {
    const { server, serving, root, ask, config, details } = await started({ capture: 'bodies' })
    expect((await details()).good?.bodies.state).toBe('captured')
    const reload = async (more: object): Promise<string> => {
      const before = server.stdout().length
      server.write('modelgate.config.json', JSON.stringify({ ...config, capture: undefined, ...more }))
      await serving.reload()
      await ask('good')
      return server.stdout().slice(before)
    }
    expect(await reload({})).not.toContain('contents of calls')
    expect((await details()).good?.bodies.state).toBe('off')
    expect(await reload({ capture: 'bodies' })).toContain('the contents of calls are kept in memory')
    const { calls } = await (
      await fetch(`${root}/console/api/calls`, { headers: { authorization: `Bearer ${adminToken}` } })
    ).json()
    expect(calls).toHaveLength(1)
  })

  it('need the recent calls: without them the server notes that nothing is captured', async () => {
    const { server } = await started({}, { capture: 'bodies' }, { MODELGATE_ADMIN_TOKEN: '' })
    expect(server.stdout()).toContain('Note: bodies are not captured')
    expect(isNoted(server.stdout())).toBe(false)
  })

  it.each([
    [['--capture', 'body'], {}, {}, "Invalid --capture 'body'. Valid: bodies, off."],
    [[], { MODELGATE_CAPTURE: 'yes' }, {}, "Invalid MODELGATE_CAPTURE 'yes'. Valid: bodies, off."],
    [[], {}, { capture: true }, "modelgate.config.json: Invalid capture 'true'. Valid: bodies, off."],
    [[], {}, { capture: { maxBytes: 1 } }, "Unknown setting 'capture.maxBytes'."],
    [[], {}, { capture: { maxBodyBytes: 0 } }, 'capture.maxBodyBytes is 0'],
  ])('reject an invalid value: %j %j %j', async (args, env, config, words) => {
    const context = createTestContext({ 'modelgate.config.json': JSON.stringify(config) }, env)
    expect(await context.run('start', '--port', '0', ...args)).toBe(1)
    expect(context.stderr()).toContain(words)
  })
})
