// biome-ignore-all lint/suspicious/noTemplateCurlyInString: variables, as configurations name them
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { createFakeProvider, listen } from '@modelgate/testing'
import { afterEach, describe, expect, it } from 'vitest'
import { issueCommand } from '../config/access.ts'
import { readSettings } from '../config/settings.ts'
import { main } from '../main.ts'
import { createTestContext, type TestContext } from '../terminal/command-context.test-support.ts'
import { banner } from './banner.ts'
import { serve } from './serve.ts'
import type { Serving } from './serving.ts'

const closing: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

async function provider() {
  const opened = await listen(createFakeProvider({ apiKey: 'k' }))
  closing.push(opened.close)
  return opened.url
}

async function started(context: TestContext): Promise<Serving & { models(token?: string): Promise<string[]> }> {
  const serving = await serve(context, { port: '0' })
  closing.push(serving.stop)
  const models = async (token = 't'): Promise<string[]> => {
    const headers = { authorization: `Bearer ${token}` }
    const response = await fetch(`http://127.0.0.1:${serving.port}/v1/models`, { headers })
    return ((await response.json()) as { data: { id: string }[] }).data.map(({ id }) => id)
  }
  return { ...serving, models }
}

const config = (baseURL: string, models: object, rest: object = {}) =>
  JSON.stringify({ upstreams: { one: { provider: 'openai', apiKey: '${KEY}', baseURL } }, models, token: 't', ...rest })

describe('reload', () => {
  it('activates a valid configuration, and keeps the current one if the new one is invalid', async () => {
    const baseURL = await provider()
    const context = createTestContext({ 'modelgate.config.json': config(baseURL, { a: 'one' }) }, { KEY: 'k' })
    const serving = await started(context)
    expect(await serving.models()).toEqual(['a'])

    context.write('modelgate.config.json', config(baseURL, { a: 'one', b: 'one' }))
    await serving.reload()
    expect(await serving.models()).toEqual(['a', 'b'])
    expect(context.stdout()).toContain('Configuration reloaded.')

    for (const [text, words] of [
      [config(baseURL, { c: 'two' }), "modelgate.config.json: models['c'] names the unknown upstream 'two'"],
      ['{', 'modelgate.config.json: invalid JSON'],
      [config('localhost', { c: 'one' }), 'upstreams.one.baseURL'],
    ] as const) {
      context.write('modelgate.config.json', text)
      await serving.reload()
      expect(context.stdout()).toContain('Reload failed, the current configuration stays active: ')
      expect(context.stdout()).toContain(words)
      expect(await serving.models()).toEqual(['a', 'b'])
    }
  })

  it('reports settings that require a restart', async () => {
    const baseURL = await provider()
    const context = createTestContext({ 'modelgate.config.json': config(baseURL, { a: 'one' }) }, { KEY: 'k' })
    const serving = await started(context)
    context.write('modelgate.config.json', config(baseURL, { a: 'one' }, { host: '127.0.0.2', data: 'data' }))
    await serving.reload()
    expect(context.stdout()).toContain(
      'Note: restart the server to use the new locations of tokens, prices and ledger.',
    )
    expect(context.stdout()).toContain('Note: restart the server to listen on another port or host.')
  })

  it('keeps open storage and its tokens when their configured location changes', async () => {
    const baseURL = await provider()
    const place = (data: object) => config(baseURL, { a: 'one' }, { token: undefined, ...data })
    const context = createTestContext({ 'modelgate.config.json': place({ data: 'data' }) }, { KEY: 'k' })
    let secret = ''
    await main(['tokens', 'issue', '--json'], {
      ...context,
      out: (text) => {
        secret = JSON.parse(text).secret
      },
    })
    const serving = await started(context)
    expect(await serving.models(secret)).toEqual(['a'])
    context.write('modelgate.config.json', place({}))
    await serving.reload()
    expect(context.stdout()).toContain('restart the server')
    expect(await serving.models(secret)).toEqual(['a'])
  })

  it('keeps the configuration if its file was deleted', async () => {
    const baseURL = await provider()
    const context = createTestContext({ 'modelgate.config.json': config(baseURL, { a: 'one' }) }, { KEY: 'k' })
    const serving = await started(context)
    rmSync(join(context.cwd, 'modelgate.config.json'))
    await serving.reload()
    expect(context.stdout()).toContain(
      "the current configuration stays active: File 'modelgate.config.json' does not exist",
    )
    expect(await serving.models()).toEqual(['a'])
  })

  it('applies a changed key of .env', async () => {
    const baseURL = await provider()
    const context = createTestContext({ 'modelgate.config.json': config(baseURL, { a: 'one' }), '.env': 'KEY=wrong\n' })
    const serving = await started(context)
    const ask = async (): Promise<number> => {
      const { status } = await fetch(`http://127.0.0.1:${serving.port}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: 'Bearer t', 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'a', messages: [{ role: 'user', content: 'hi' }] }),
      })
      return status
    }
    expect(await ask()).toBe(502)
    context.write('.env', 'KEY=k\n')
    await serving.reload()
    expect(await ask()).toBe(200)
  })
})

describe('the startup message', () => {
  it('lists model routes, formats of upstreams and other settings', async () => {
    const context = createTestContext({
      'modelgate.config.mjs': `import { anthropic, groq, openai } from 'modelgate'
        export default {
          basePath: '/ai', data: 'kept', ledger: 'book', otel: false,
          upstreams: { openai: openai({ apiKey: 'sk-secret-1' }), claude: anthropic({ apiKey: 'sk-secret-2' }), groq: groq({ apiKey: 'sk-secret-3' }) },
          models: {
            'gpt-5': 'openai', 'gpt-*': 'openai', 'claude-*': 'claude',
            fast: [{ upstream: 'groq', model: 'llama' }, 'openai'],
            spread: { targets: [{ upstream: 'openai', weight: 3 }, { upstream: 'claude', weight: 1, model: 'c' }] },
            late: { targets: ['openai', { upstream: 'claude', priority: 1 }] },
          },
        }`,
    })
    const serving = await started(context)
    const output = context.stdout()
    const root = `http://127.0.0.1:${serving.port}/ai`
    expect(output).toContain(`Modelgate listens on ${root}\n`)
    expect(output).toContain(`OpenAI clients     base URL ${root}/v1\n`)
    expect(output).toContain('Token              issue one: npx modelgate tokens issue --name laptop\n')
    expect(output).toContain('Configuration      modelgate.config.mjs\n')
    expect(output).toContain('Issued tokens      kept\n')
    expect(output).toContain('Ledger             book\n')
    expect(output).toMatch(/^ {2}gpt-5, gpt-\* +openai$/m)
    expect(output).toMatch(/^ {2}fast +groq \(llama\), then openai$/m)
    expect(output).toMatch(/^ {2}spread +openai or claude \(c\)$/m)
    expect(output).toMatch(/^ {2}late +openai, then claude$/m)
    expect(output).toMatch(/^ {2}claude +api\.anthropic\.com +messages$/m)
    expect(output).toContain('TOKEN=mg-…\ncurl ')
    expect(output).not.toContain('sk-secret')
  })

  it.each([
    [
      'of the environment',
      { token: undefined },
      { MODELGATE_TOKEN: 'env-token-5d1f' },
      'the value of MODELGATE_TOKEN',
      '$MODELGATE_TOKEN"',
    ],
    ['of the file', { token: 'file-token-5d1f' }, {}, "the configuration's token", '$TOKEN"'],
  ])('names the origin of a token %s, and never prints it', async (_, rest, env, place, variable) => {
    const context = createTestContext(
      { 'modelgate.config.json': config(await provider(), { a: 'one' }, rest) },
      { KEY: 'key-5d1f', ...env },
    )
    await started(context)
    expect(context.stdout()).toContain(`Token              ${place}\n`)
    expect(context.stdout()).toContain(`-H "authorization: Bearer ${variable}`)
    expect(context.stdout()).not.toContain('5d1f')
  })

  it('shows the location of issued tokens without the Redis password', async () => {
    const env = { MODELGATE_REDIS: 'redis://default:pw-5d1f@localhost:1/0', OPENAI_API_KEY: 'key-5d1f' }
    const settings = await readSettings(createTestContext({}, env), {}, 'nothing')
    const text = banner(
      {
        ...settings,
        issueCommand: issueCommand({ redis: { url: env.MODELGATE_REDIS } }, createTestContext({}, env), {}),
      },
      8787,
    )
    expect(text).toContain(
      'issue one: npx modelgate tokens issue --name laptop  (with MODELGATE_REDIS set as for this server)',
    )
    expect(text).not.toContain('5d1f')
    await settings.resources.close()
  })

  it.each([
    ['on a terminal', true, {}, /playground#token=mg-[\w-]+\n/],
    ['into a file', false, {}, /playground\n/],
    ['with a configured token', true, { MODELGATE_TOKEN: 'own-5d1f' }, /playground\n/],
  ])(
    'links to the Playground with a token only if it was generated for this run: %s',
    async (_, isTerminal, env, line) => {
      const settings = await readSettings(createTestContext({}, env), {}, 'nothing')
      const text = banner(settings, 8787, { isTerminal })
      expect(text).toMatch(line)
      expect(text).not.toContain('5d1f')
      await settings.resources.close()
    },
  )

  it('warns about an upstream that is the server itself', async () => {
    const baseURL = await provider()
    const context = createTestContext({ 'modelgate.config.json': config(baseURL, { a: 'one' }) }, { KEY: 'k' })
    await started(context)
    expect(context.stdout()).not.toContain('this server itself')
    const settings = await readSettings(
      createTestContext({}, { OPENAI_API_KEY: 'k', OPENAI_BASE_URL: 'http://localhost:8787/v1' }),
      {},
    )
    expect(banner(settings, 8787)).toContain(
      'Note: the upstream openai is this server itself (http://localhost:8787/v1)',
    )
    await settings.resources.close()
  })

  it('prints commands for models with chat, without a token if none is required', async () => {
    const context = createTestContext({
      'modelgate.config.mjs': `import { voyage, groq } from 'modelgate'
        export default { auth: 'none', upstreams: { voyage: voyage({ apiKey: 'k' }), groq: groq({ apiKey: 'k' }) },
          models: { 'voyage-3': 'voyage', 'groq/*': { upstream: 'groq', model: '*' } } }`,
    })
    await started(context)
    expect(context.stdout()).toContain('"model":"groq/your-model"')
    expect(context.stdout()).toContain('Token              not required')
    expect(context.stdout()).not.toContain('authorization')
    expect(context.stdout()).toMatch(/\/v1\/models\n/)
  })
})
