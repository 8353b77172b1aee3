import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { createGateway } from '@modelgate/core'
import { afterEach, describe, expect, it } from 'vitest'
import { createTestContext } from '../terminal/command-context.test-support.ts'
import type { Env } from '../terminal/command-context.ts'
import { envProviders } from './env-providers.ts'
import { type Flags, readSettings, type Settings } from './settings.ts'

const open: Settings[] = []
afterEach(async () => {
  for (const settings of open.splice(0)) await settings.resources.close()
})

async function read(files: Record<string, string> = {}, env: Env = {}, flags: Flags = {}) {
  const settings = await readSettings(createTestContext(files, env), flags)
  open.push(settings)
  return settings
}

const config = (text: string) => ({
  'modelgate.config.mjs': `import * as m from 'modelgate'\nexport default { ${text} }\n`,
})
const upstreams = `upstreams: { a: m.openai({ apiKey: 'k' }) }, models: { '*': 'a' }`

/** Returns true if the gateway accepts the credential. */
async function isAccepted({ gateway }: Settings, credential: string): Promise<boolean> {
  const { fetch } = createGateway({ ...gateway, logger: false })
  const { status } = await fetch('http://gateway/v1/models', { headers: { authorization: `Bearer ${credential}` } })
  return status === 200
}

describe('model cards of a JSON file', () => {
  const json = (card: object, modelCards: object) => ({
    'modelgate.config.json': JSON.stringify({
      upstreams: { a: { provider: 'openai', apiKey: 'k' } },
      models: { m: { targets: [{ upstream: 'a', model: 'x', when: ['fits', 'tools'], card }], card } },
      modelCards,
    }),
  })

  it('are used by the gateway', async () => {
    const { gateway } = await read(json({ contextWindow: 1234 }, { table: false, prices: true }))
    const [model] = await createGateway({ ...gateway, logger: false }).describeModels(['m'])
    expect(model).toMatchObject({ id: 'm', contextWindow: 1234 })
  })

  it('are checked by the gateway', async () => {
    const { gateway } = await read(json({ contextwindow: 1 }, { price: true }))
    const create = () => createGateway({ ...gateway, logger: false })
    expect(create).toThrow(/card\.contextwindow is unknown\. Did you mean 'contextWindow'\?/)
    expect(create).toThrow(/modelCards\.price is unknown/)
  })
})

describe('listen address', () => {
  const both = config(`port: 1, host: 'h1', ${upstreams}`)
  it.each([
    [{}, {}, {}, { port: 8787, host: '127.0.0.1' }],
    [both, {}, {}, { port: 1, host: 'h1' }],
    [both, { PORT: '2', HOST: 'h2' }, {}, { port: 2, host: 'h2' }],
    [both, { PORT: '2', HOST: 'h2' }, { port: '3', host: 'h3' }, { port: 3, host: 'h3' }],
    [both, { PORT: '', HOST: '' }, {}, { port: 1, host: 'h1' }],
    [both, {}, { port: '0' }, { port: 0 }],
  ])('%#: flags win over the environment, the environment over the file', async (files, env, flags, expected) => {
    expect(await read(files, env, flags)).toMatchObject(expected)
  })

  it.each([
    [{}, { PORT: 'http' }, {}, "Invalid PORT 'http': set it to a number from 0 to 65535."],
    [{}, {}, { port: '' }, "Invalid --port '': set it"],
    [config('port: 70000'), {}, {}, "modelgate.config.mjs: Invalid port '70000': set it"],
    [config('prot: 1'), {}, {}, "modelgate.config.mjs: Unknown setting 'prot'. Did you mean 'port'?"],
    [config('port: true'), {}, {}, "Invalid port 'true': set it"],
    [config('port: null'), {}, {}, "Invalid port 'null': set it"],
    [config('host: 1'), {}, {}, 'modelgate.config.mjs: host is a number: expected a string'],
    [config('models: null'), {}, {}, 'modelgate.config.mjs: models is null: expected an object'],
    [config('prices: 3'), {}, {}, 'modelgate.config.mjs: prices is a number: expected a path or an object'],
    [config(`console: 'yes'`), {}, {}, 'modelgate.config.mjs: console is a string: expected true, false or an object'],
    [config(`fetch: 'x'`), {}, {}, 'modelgate.config.mjs: fetch is a string: expected code'],
    [config('tokens: {}'), {}, {}, 'modelgate.config.mjs: tokens must be created by createTokens'],
    [config('port: 1'), { PORT: 'x' }, {}, /^Invalid PORT 'x'/],
    [config('models: []'), {}, {}, 'modelgate.config.mjs: models is a list: expected an object'],
    [
      config(`auth: 'all'`),
      {},
      {},
      "modelgate.config.mjs: auth must be a function (credential) => identity | null, or 'none'",
    ],
    [config(`data: 'a', redis: 'redis://h'`), {}, {}, 'modelgate.config.mjs: data and redis are both set'],
    [{}, { MODELGATE_DATA: 'a', MODELGATE_REDIS: 'redis://h' }, {}, 'MODELGATE_DATA and MODELGATE_REDIS are both set'],
    [
      {},
      { OPENAI_API_KEY: 'k', OPENAI_BASE_URL: 'localhost:1' },
      {},
      "OPENAI_BASE_URL: baseURL 'localhost:1' must start with http",
    ],
    [config('plugins: 5'), {}, {}, 'modelgate.config.mjs: plugins must be a list'],
  ] as const)('%#: reports an invalid setting', async (files, env, flags, words) => {
    await expect(read(files, { ...env }, flags)).rejects.toThrow(words)
  })
})

describe('upstreams', () => {
  it('come from the environment, with routes for the names of their models', async () => {
    const { gateway, demo, keyNames } = await read(
      {},
      { GROQ_API_KEY: 'k', GOOGLE_API_KEY: 'g', OPENROUTER_API_KEY: 'o' },
    )
    expect(Object.keys(gateway.upstreams)).toEqual(['gemini', 'groq', 'openrouter'])
    expect(keyNames).toEqual({ gemini: 'GOOGLE_API_KEY', groq: 'GROQ_API_KEY', openrouter: 'OPENROUTER_API_KEY' })
    expect(gateway.models).toMatchObject({
      'gemini-*': 'gemini',
      'groq/*': { upstream: 'groq', model: '*' },
      'openrouter/auto': { upstream: 'openrouter', model: 'openrouter/auto' },
      '*/*': 'openrouter',
    })
    expect(demo).toBe(false)
    createGateway(gateway)
  })

  it('are created for every provider whose variables are set', async () => {
    const keys = Object.fromEntries(envProviders.map(({ environment }) => [environment.apiKey[0], 'k']))
    const { gateway, notes } = await read(
      {},
      { ...keys, AZURE_OPENAI_ENDPOINT: 'https://r.openai.azure.com', AWS_REGION: 'us-east-1' },
    )
    expect(Object.keys(gateway.upstreams)).toEqual(envProviders.map(({ name }) => name))
    expect(notes).toEqual([])
    createGateway(gateway)
  })

  it('come with a note about variables that lack another one', async () => {
    const { notes } = await read(
      {},
      { AZURE_OPENAI_API_KEY: 'k', AWS_BEARER_TOKEN_BEDROCK: 'b', GROQ_BASE_URL: 'http://x' },
    )
    expect(notes).toEqual([
      'GROQ_BASE_URL is ignored, because GROQ_API_KEY is not set',
      'AZURE_OPENAI_API_KEY is ignored, because AZURE_OPENAI_ENDPOINT is not set',
      'AWS_BEARER_TOKEN_BEDROCK is ignored, because AWS_REGION is not set',
    ])
  })

  it('come only from the file if it has some; models without upstreams use those of the environment', async () => {
    const own = await read(config(upstreams), { GROQ_API_KEY: 'k' })
    expect(Object.keys(own.gateway.upstreams)).toEqual(['a'])
    const named = await read(config(`models: { fast: { upstream: 'groq', model: 'x' } }`), { GROQ_API_KEY: 'k' })
    expect(named.gateway.models).toEqual({ fast: { upstream: 'groq', model: 'x' } })
    createGateway(named.gateway)
  })

  it('are those of the demo without any key', async () => {
    const { demo, gateway, notes } = await read(config(`models: { x: 'groq' }`))
    expect(demo).toBe(true)
    expect(Object.keys(gateway.models)).toContain('demo-chat')
    expect(notes).toEqual(['the configured models are not served, because no provider key is set'])
  })

  it('read variables from .env; the environment wins', async () => {
    const files = { '.env': 'OPENAI_API_KEY=from-file\nPORT=9001\n# a comment\nHOST="127.0.0.2"\n' }
    const settings = await read(files, { PORT: '9002' })
    expect(settings).toMatchObject({ port: 9002, host: '127.0.0.2' })
    expect(settings.gateway.upstreams.openai?.headers).toEqual({ authorization: 'Bearer from-file' })
    expect(settings.details).toContainEqual(['Configuration', 'the environment, .env'])
  })
})

describe('authentication', () => {
  it('accepts a token generated for this run by default', async () => {
    const settings = await read()
    expect(settings).toMatchObject({ token: expect.stringMatching(/^mg-.{32}$/), tokenFrom: 'run' })
    expect(await isAccepted(settings, settings.token ?? '')).toBe(true)
    expect(await isAccepted(settings, 'other')).toBe(false)
  })

  it('prefers the token of the environment to that of the file', async () => {
    const files = config(`token: 'filed', ${upstreams}`)
    expect(await read(files)).toMatchObject({ token: 'filed', tokenFrom: 'configuration' })
    expect(await read(files, { MODELGATE_TOKEN: 'set' })).toMatchObject({ token: 'set', tokenFrom: 'environment' })
  })

  it('accepts issued tokens if they are stored, and generates none then', async () => {
    const settings = await read(config(`data: 'data', ${upstreams}`))
    expect(settings).toMatchObject({ token: undefined, issueCommand: 'npx modelgate tokens issue --name laptop' })
    const { secret } = await settings.resources.tokens.tokens.issue({})
    expect([await isAccepted(settings, secret), await isAccepted(settings, 'other')]).toEqual([true, false])
  })

  it("accepts credentials of the file's auth in addition to the token and issued tokens", async () => {
    const auth = `auth: (credential) => (credential === 'friend' ? { id: 'f' } : null)`
    const settings = await read(config(`${auth}, data: 'data', ${upstreams}`), { MODELGATE_TOKEN: 'mine' })
    const { secret } = await settings.resources.tokens.tokens.issue({})
    for (const [credential, expected] of [
      ['friend', true],
      ['mine', true],
      [secret, true],
      ['foe', false],
    ] as const)
      expect([credential, await isAccepted(settings, credential)]).toEqual([credential, expected])
    const alone = await read(config(`${auth}, ${upstreams}`))
    expect(alone).toMatchObject({ token: undefined, issueCommand: undefined })
    expect(await isAccepted(alone, 'friend')).toBe(true)
  })

  it("accepts every request with auth 'none', and notes it", async () => {
    const settings = await read(config(`auth: 'none', ${upstreams}`), { MODELGATE_TOKEN: 't' })
    expect(settings.notes[0]).toContain(
      'the server accepts every request without authentication, and the configured token has no effect',
    )
    expect(await isAccepted(settings, 'anything')).toBe(true)
  })
})

describe('paths', () => {
  it('are relative to the file, or to the working directory in environment variables', async () => {
    const files = config(`data: 'data', ledger: 'book', ${upstreams}`)
    const context = createTestContext(files)
    const settings = await readSettings(context, {})
    open.push(settings)
    expect(settings.details).toEqual([
      ['Configuration', 'modelgate.config.mjs'],
      ['Issued tokens', 'data'],
      ['Ledger', 'book'],
    ])
    const other = await readSettings({ ...context, env: { MODELGATE_DATA: 'elsewhere' } }, {})
    open.push(other)
    expect(other.issueCommand).toBe("MODELGATE_DATA='elsewhere' npx modelgate tokens issue --name laptop")
    expect(other.resources.locations.data).toBe(join(context.cwd, 'elsewhere'))
  })

  it('are not used with Redis, whose package is loaded from the folder and whose password is not shown', async () => {
    const context = createTestContext({}, { MODELGATE_REDIS: 'redis://ada:secret@cache:6379' })
    mkdirSync(join(context.cwd, 'node_modules/redis'), { recursive: true })
    const client = '{ on() {}, async connect() {}, destroy() {}, async sendCommand() { throw new Error("away") } }'
    context.write(
      'node_modules/redis/index.js',
      `exports.createClient = ({ url }) => (globalThis.redisUrl = url, ${client})`,
    )
    const settings = await readSettings(context, {})
    open.push(settings)
    expect(settings.details).toContainEqual(['Issued tokens', 'Redis at cache:6379'])
    expect(globalThis).toMatchObject({ redisUrl: 'redis://ada:secret@cache:6379' })
  })

  it('of missing price files are named in the error', async () => {
    await expect(read(config(`prices: 'no.json', ${upstreams}`))).rejects.toThrow('no.json: the prices cannot be read')
  })
})

describe('pages', () => {
  it.each([
    ['', undefined, { home: true, playground: true, calls: false, usage: false }],
    ['', 'admin', { home: true, playground: true, calls: true, usage: true }],
    ['console: false,', 'admin', { home: false, playground: false, calls: false, usage: false }],
    ['console: { playground: false },', 'admin', { home: true, playground: false, calls: true, usage: true }],
  ])('are served as configured with %j and the admin token %j', async (text, admin, expected) => {
    const { pages, gateway } = await read(
      config(`${text} ${upstreams}`),
      admin === undefined ? {} : { MODELGATE_ADMIN_TOKEN: admin },
    )
    expect(pages).toEqual(expected)
    const { fetch } = createGateway(gateway)
    expect((await fetch('http://gateway/')).status === 200).toBe(expected.home)
    expect((await fetch('http://gateway/console/playground')).status === 200).toBe(expected.playground)
    expect((await fetch('http://gateway/console/calls')).status === 200).toBe(expected.calls)
    expect((await fetch('http://gateway/console/usage')).status === 200).toBe(expected.usage)
  })
})
