// biome-ignore-all lint/suspicious/noTemplateCurlyInString: variables, as configurations name them
import { mkdirSync, symlinkSync } from 'node:fs'
import http, { type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createFakeProvider, listen } from '@modelgate/testing'
import { startRedis, withoutRedisToKill } from '@modelgate/tokens/test-support'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { createTestContext, type TestContext } from '../terminal/command-context.test-support.ts'
import { serve } from './serve.ts'
import type { Serving } from './serving.ts'

/** Secrets of these tests: none may appear in the output. */
const canaries = {
  key: 'sk-canary-key-7f31',
  wrongKey: 'sk-canary-wrong-7f31',
  token: 'canary-token-7f31',
  strangerToken: 'canary-stranger-7f31',
  content: 'canary content 7f31',
} as const

const contexts: TestContext[] = []
const closing: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
  const outputs = contexts.splice(0).map(({ stdout, stderr }) => stdout() + stderr())
  expect(outputs.filter((output) => output.includes('7f31'))).toEqual([])
})

/** Behaviour of an upstream by the model of a call. */
type Behaviours = Readonly<Record<string, (response: ServerResponse, request: IncomingMessage) => void>>

const completion = (response: ServerResponse): void => {
  response.setHeader('content-type', 'application/json')
  response.end(
    JSON.stringify({
      id: 'c',
      object: 'chat.completion',
      created: 1,
      model: 'm',
      choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: canaries.content } }],
      usage: { prompt_tokens: 12, completion_tokens: 3, total_tokens: 15 },
    }),
  )
}
const failure = (status: number) => (response: ServerResponse) => {
  response.writeHead(status, { 'content-type': 'application/json' })
  response.end(JSON.stringify({ error: { message: `Failed: ${canaries.content}`, type: 'error' } }))
}
/** Called when a call reaches the upstream that does not respond. */
let onSilentCall = (): void => {}
const silentCall = (): Promise<void> =>
  new Promise((resolve) => {
    onSilentCall = resolve
  })
const behaviours: Behaviours = {
  good: completion,
  500: failure(500),
  429: failure(429),
  401: failure(401),
  garbage: (response) => response.writeHead(200, { 'content-type': 'application/json' }).end(`<${canaries.content}>`),
  reset: (_, request) => request.socket.resetAndDestroy(),
  silent: () => onSilentCall(),
}

/** Starts an upstream whose behaviour follows from the model name. */
async function upstream(behaviours: Behaviours): Promise<string> {
  const server = http.createServer((request, response) => {
    let body = ''
    request.on('data', (chunk) => {
      body += chunk
    })
    request.on('end', () => {
      const { model = '' } = JSON.parse(body) as { model?: string }
      behaviours[model]?.(response, request)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  closing.push(async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`
}

/** An address that refuses connections. */
async function refusingAddress(): Promise<string> {
  const server = http.createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return `127.0.0.1:${port}`
}

interface Line {
  level: number
  msg: string
  [field: string]: unknown
}

interface Started {
  serving: Serving
  context: TestContext
  ask(body?: object, options?: { token?: string; path?: string; signal?: AbortSignal }): Promise<Response>
  /** Returns the lines after the startup message, without the one about responses in memory. */
  lines(): Line[]
  /** Waits for a number of lines, and some time for more. */
  settled(count: number): Promise<Line[]>
}

async function started(config: object, env: Record<string, string> = {}, files = {}): Promise<Started> {
  const context = createTestContext(
    { 'modelgate.config.json': JSON.stringify({ token: canaries.token, ...config }), ...files },
    { KEY: canaries.key, ...env },
  )
  contexts.push(context)
  const serving = await serve(context, { port: '0' })
  closing.push(() => serving.stop())
  return withCalls(context, serving)
}

function withCalls(context: TestContext, serving: Serving): Started {
  const lines = (): Line[] =>
    context
      .stdout()
      .split('\n')
      .filter((line) => line.startsWith('{'))
      .map((line) => JSON.parse(line) as Line)
      .filter(({ msg }) => !msg.startsWith('stored responses'))
  return {
    serving,
    context,
    lines,
    ask: (body = {}, { token = canaries.token, path = '/v1/chat/completions', signal } = {}) =>
      fetch(`http://127.0.0.1:${serving.port}${path}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'good', messages: [{ role: 'user', content: canaries.content }], ...body }),
        ...(signal === undefined ? {} : { signal }),
      }),
    async settled(count) {
      await vi.waitFor(() => expect(lines().length).toBeGreaterThanOrEqual(count), 5000)
      // A further line would follow in the same turn or shortly after.
      await new Promise((resolve) => setTimeout(resolve, 50))
      return lines()
    },
  }
}

/** A configuration whose model names are behaviours of one upstream. */
const configured = async (rest: object = {}) => ({
  upstreams: { one: { provider: 'openai', apiKey: '${KEY}', baseURL: await upstream(behaviours), formats: ['chat'] } },
  models: { '*': 'one' },
  retry: false,
  ...rest,
})

describe('one line for each cause', () => {
  it('logs a successful call', async () => {
    const { ask, settled } = await started(await configured())
    await (await ask()).text()
    expect(await settled(1)).toEqual([
      {
        level: 30,
        time: expect.any(Number),
        msg: 'chat good -> one/good 200',
        requestId: expect.stringMatching(/^req_/),
        identity: 'owner',
        operation: 'generate',
        format: 'chat',
        model: 'good',
        upstream: 'one',
        upstreamModel: 'good',
        stream: false,
        attempts: 1,
        status: 200,
        outcome: 'finished',
        durationMs: expect.any(Number),
        firstEventMs: expect.any(Number),
        input: 12,
        output: 3,
        losses: 0,
      },
    ])
  })

  it.each([
    ['500', 502, 'one/500: upstream error (500)', { status: 500, error: 'upstream_error' }],
    ['429', 429, 'one/429: rate limit (429)', { status: 429, error: 'rate_limited' }],
    ['garbage', 502, 'one/garbage: invalid response', { error: 'upstream_bad_response' }],
    ['reset', 502, 'one/reset: connection failed', { error: 'upstream_unreachable' }],
    ['401', 502, 'one/401: the upstream rejected the configured key (401)', { status: 401, error: 'upstream_auth' }],
    ['silent', 504, 'one/silent: timeout', { error: 'upstream_timeout' }],
  ])('logs an upstream failure with its cause: %s', async (model, status, words, failed) => {
    const { ask, settled } = await started(await configured(model === 'silent' ? { limits: { firstByteMs: 200 } } : {}))
    expect((await ask({ model })).status).toBe(status)
    const lines = await settled(1)
    expect(lines).toEqual([
      expect.objectContaining({
        level: status < 500 ? 40 : 50,
        status,
        msg: expect.stringContaining(words),
        failures: [expect.objectContaining(failed)],
      }),
    ])
  })

  it('logs the address of an upstream that refuses connections, and the repaired call as a warning', async () => {
    const address = await refusingAddress()
    const config = await configured({ models: { good: ['away', 'one'] }, retry: { attempts: 2 } })
    const away = { provider: 'openai', apiKey: '${KEY}', baseURL: `http://${address}/v1`, formats: ['chat'] }
    const { ask, settled } = await started({ ...config, upstreams: { ...config.upstreams, away } })
    expect((await ask()).status).toBe(200)
    expect(await settled(1)).toEqual([
      expect.objectContaining({
        level: 40,
        msg: `chat good -> one/good 200: after away/good: connection failed (ECONNREFUSED ${address})`,
        attempts: 2,
        failures: [expect.objectContaining({ code: 'ECONNREFUSED', address })],
      }),
    ])
  })

  it('logs that a circuit breaker opened and closed', async () => {
    const broken = { broken: true }
    const config = {
      ...(await configured({ breaker: { failures: 2, restMs: 100 } })),
      upstreams: {
        one: {
          provider: 'openai',
          apiKey: '${KEY}',
          baseURL: await upstream({
            good: (response) => (broken.broken ? failure(500)(response) : completion(response)),
          }),
          formats: ['chat'],
        },
      },
    }
    const { ask, lines } = await started(config)
    const changes = () => lines().filter(({ event }) => String(event).startsWith('circuit-'))
    for (let count = 0; count < 20 && changes().length === 0; count++) await (await ask()).text()
    await vi.waitFor(() => expect(changes()).toHaveLength(1))
    expect(changes()).toEqual([
      expect.objectContaining({ level: 40, event: 'circuit-opened', msg: expect.stringContaining('one/good opened') }),
    ])
    broken.broken = false
    await vi.waitFor(async () => expect((await ask()).status).toBe(200), 5000)
    await vi.waitFor(() => expect(changes()).toHaveLength(2))
    expect(changes()[1]).toMatchObject({ level: 30, event: 'circuit-closed' })
  })

  it.each<[string, object, Parameters<Started['ask']>[1], number, string]>([
    ['an unknown model', { model: 'no-such' }, {}, 404, 'no-such'],
    ['an invalid body', { messages: 5 }, {}, 400, 'invalid_request'],
    ['an unauthenticated caller', {}, { token: canaries.strangerToken }, 401, 'authentication'],
    ['an unknown path', {}, { path: '/v1/nothing' }, 404, 'POST /v1/nothing'],
  ])('logs %s', async (_, body, options, status, words) => {
    const { ask, settled } = await started(await configured({ models: { good: 'one' } }))
    expect((await ask(body, options)).status).toBe(status)
    expect(await settled(1)).toEqual([
      expect.objectContaining({ level: 40, status, msg: expect.stringContaining(words) }),
    ])
  })

  it('logs a rejected loss with the field', async () => {
    const config = await configured({ onLoss: 'reject' })
    const one = { provider: 'anthropic', apiKey: '${KEY}', baseURL: (await upstream(behaviours)).slice(0, -3) }
    const { ask, settled } = await started({ ...config, upstreams: { one } })
    expect((await ask({ seed: 7 })).status).toBe(400)
    expect(await settled(1)).toEqual([
      expect.objectContaining({ level: 40, status: 400, msg: expect.stringContaining('seed') }),
    ])
  })

  it.each([
    ['a limit', ['--requests-per-minute', '1'], 'rate_limited'],
    ['a budget', ['--budget-tokens', '1', '--per', 'month'], 'quota_exceeded'],
  ])('logs %s with the name of the token', async (_, flags, error) => {
    const context = createTestContext(
      { 'modelgate.config.json': JSON.stringify({ ...(await configured()), data: 'data' }) },
      { KEY: canaries.key },
    )
    contexts.push(context)
    let token = ''
    const issuing: TestContext = {
      ...context,
      out: (text) => {
        token = JSON.parse(text).secret
      },
    }
    const { main } = await import('../main.ts')
    expect(await main(['tokens', 'issue', '--name', 'laptop', '--json', ...flags], issuing)).toBe(0)
    const serving = await serve(context, { port: '0' })
    closing.push(() => serving.stop())
    const { ask, lines, settled } = withCalls(context, serving)
    for (let count = 0; count < 3; count++) await (await ask({}, { token })).text()
    await settled(3)
    const rejected = lines().filter(({ status }) => status === 429)
    expect(rejected.length).toBeGreaterThan(0)
    expect(lines()).toHaveLength(3)
    for (const line of rejected) expect(line).toMatchObject({ level: 40, token: 'laptop', error })
    expect(context.stdout()).not.toContain(token)
  })

  it('warns once of a model without a price', async () => {
    const prices = { models: { other: { input: 1, output: 1 } } }
    const { ask, settled } = await started(await configured({ prices }))
    for (let count = 0; count < 3; count++) await (await ask()).text()
    const lines = await settled(4)
    expect(lines.filter(({ level }) => level === 40)).toEqual([
      expect.objectContaining({ msg: expect.stringContaining("no price for 'one/good'") }),
    ])
    expect(lines).toHaveLength(4)
  })

  it('logs a client that disconnects as information', async () => {
    const { ask, settled } = await started(await configured())
    const client = new AbortController()
    const reached = silentCall()
    const response = ask({ model: 'silent' }, { signal: client.signal })
    response.catch(() => {})
    await reached
    client.abort()
    await expect(response).rejects.toThrow()
    expect(await settled(1)).toEqual([
      expect.objectContaining({
        level: 30,
        status: 499,
        outcome: 'aborted',
        msg: expect.stringContaining('disconnected'),
      }),
    ])
  })

  it('logs reloads, and all problems of an invalid configuration in one line', async () => {
    const config = await configured()
    const { context, serving, settled } = await started(config)
    context.write('modelgate.config.json', JSON.stringify({ ...config, token: canaries.token, onLoss: 'ignore' }))
    await serving.reload()
    expect(await settled(1)).toEqual([
      expect.objectContaining({ level: 30, event: 'reconfigured', msg: 'Configuration reloaded. Upstreams: one' }),
    ])
    context.write('modelgate.config.json', JSON.stringify({ ...config, prot: 1, models: { a: 'two' } }))
    await serving.reload()
    const lines = await settled(2)
    expect(lines).toHaveLength(2)
    expect(lines[1]).toMatchObject({
      level: 50,
      event: 'reload-failed',
      problems: [expect.any(String), expect.any(String)],
    })
    expect(lines[1]?.msg).toContain("Unknown setting 'prot'. Did you mean 'port'?")
  })

  it('logs the start and the end of a shutdown', async () => {
    const { ask, serving, settled } = await started(await configured({ limits: { firstByteMs: 300 } }))
    const reached = silentCall()
    const running = ask({ model: 'silent' })
    await reached
    await serving.stop('SIGTERM received', 'send it again')
    expect((await running).status).toBe(504)
    const lines = await settled(3)
    expect(lines.map(({ event, status }) => event ?? status)).toEqual(['drain-started', 504, 'stopped'])
    expect(lines[0]).toMatchObject({
      level: 30,
      activeCalls: 1,
      msg: 'SIGTERM received: draining 1 in-flight request (send it again to force quit)',
    })
  })

  it.skipIf(withoutRedisToKill !== undefined)('logs an outage of Redis, and its end', async () => {
    const redis = await startRedis()
    closing.push(redis.close)
    const context = createTestContext(
      {
        'modelgate.config.json': JSON.stringify({
          ...(await configured()),
          token: canaries.token,
          redis: { url: redis.url, timeoutMs: 200 },
        }),
      },
      { KEY: canaries.key },
    )
    contexts.push(context)
    mkdirSync(join(context.cwd, 'node_modules'))
    const redisPackage = join(dirname(fileURLToPath(import.meta.url)), '../../../tokens/node_modules/redis')
    symlinkSync(redisPackage, join(context.cwd, 'node_modules/redis'), 'junction')
    const serving = await serve(context, { port: '0' })
    closing.push(() => serving.stop())
    const { lines } = withCalls(context, serving)
    const aboutRedis = () => lines().filter(({ msg }) => msg.includes('Redis'))
    await redis.kill()
    await vi.waitFor(() => expect(aboutRedis()).toHaveLength(1), 10_000)
    expect(aboutRedis()[0]).toMatchObject({ level: 40, msg: expect.stringContaining('Redis is unavailable') })
    expect(JSON.stringify(aboutRedis()[0])).toMatch(/ECONNREFUSED|Socket closed/)
    await redis.start()
    await vi.waitFor(() => expect(aboutRedis()).toHaveLength(2), 10_000)
    expect(aboutRedis()[1]).toMatchObject({ msg: expect.stringContaining('available again') })
  })
})

describe('settings of the log', () => {
  const callAndStop = async (
    flags: object,
    config: object = {},
    env: Record<string, string> = {},
    isTerminal = false,
  ) => {
    const provider = await listen(createFakeProvider({ apiKey: canaries.key }))
    closing.push(provider.close)
    const upstreams = { one: { provider: 'openai', apiKey: '${KEY}', baseURL: provider.url, formats: ['chat'] } }
    const context = createTestContext(
      {
        'modelgate.config.json': JSON.stringify({
          token: canaries.token,
          upstreams,
          models: { good: 'one' },
          ...config,
        }),
      },
      { KEY: canaries.key, ...env },
    )
    contexts.push(context)
    const serving = await serve({ ...context, isTerminal }, { port: '0', ...flags })
    await (await withCalls(context, serving).ask()).text()
    await serving.stop()
    const text = context.stdout()
    return text.slice(text.indexOf('/v1/models'))
  }

  it('is pretty on a terminal and JSON elsewhere', async () => {
    expect(await callAndStop({}, {}, {}, true)).toMatch(/\d\d:\d\d:\d\d.* chat +good -> one\/good/)
    expect(await callAndStop({})).toContain('"msg":"chat good -> one/good 200"')
    expect(await callAndStop({ log: 'pretty' })).toMatch(/^\d\d:\d\d:\d\d info {2}chat/m)
  })

  it.each<[string, object, object, Record<string, string>]>([
    ['--log off', { log: 'off' }, {}, {}],
    ['log: off', {}, { log: 'off' }, {}],
    ['--log-level', { logLevel: 'error' }, {}, { LOG_LEVEL: 'debug' }],
    ['LOG_LEVEL', {}, { logLevel: 'debug' }, { LOG_LEVEL: 'ERROR' }],
    ['logLevel', {}, { logLevel: 'error' }, {}],
  ])('%s hides successful calls', async (_, flags, config, env) => {
    expect(await callAndStop(flags, config, env)).not.toContain('good')
  })

  it.each([
    [['--log', 'jsn'], {}, {}, "Invalid --log 'jsn'. Did you mean 'json'?"],
    [['--log-level', 'x'], {}, {}, "Invalid --log-level 'x'. Valid: debug, info, warn, error."],
    [[], { LOG_LEVEL: 'loud' }, {}, "Invalid LOG_LEVEL 'loud'."],
    [[], {}, { log: true }, "modelgate.config.json: Invalid log 'true'."],
  ])('reports an invalid value: %j %j %j', async (args, env, config, words) => {
    const context = createTestContext({ 'modelgate.config.json': JSON.stringify(config) }, env)
    expect(await context.run('start', '--port', '0', ...args)).toBe(1)
    expect(context.stderr()).toContain(words)
  })
})
