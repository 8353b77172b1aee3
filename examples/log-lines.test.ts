// Each cause of a failure produces one line in the log of the built command: a table of causes, for both formats.
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import http, { type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { startRedis, withoutRedisToKill } from '@modelgate/tokens/test-support'
import { afterEach, describe, expect, it } from 'vitest'
import { modelgate } from './server/modelgate.ts'
import { type Running, stopExamples } from './start-example.ts'

/** Secrets end with it: the output must not contain it. */
const canary = 'canary-5b82-end'
const secrets = {
  key: `sk-canary-key-${canary}`,
  wrongKey: `sk-canary-wrong-${canary}`,
  token: `canary-token-${canary}`,
  adminToken: `canary-admin-${canary}`,
  redisPassword: `canary-redis-${canary}`,
  content: `canary content ${canary}`,
} as const

const closing: (() => unknown)[] = []
afterEach(async () => {
  stopExamples()
  for (const close of closing.splice(0).reverse()) await close()
})

type Format = 'json' | 'pretty'

const completion = JSON.stringify({
  id: 'c',
  object: 'chat.completion',
  created: 1,
  model: 'm',
  choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: secrets.content } }],
  usage: { prompt_tokens: 12, completion_tokens: 3, total_tokens: 15 },
})
const json = { 'content-type': 'application/json' }
const failure = (response: ServerResponse, status: number): void => {
  const error = { message: `Failed: ${secrets.content} ${secrets.key}`, type: 'error' }
  response.writeHead(status, json).end(JSON.stringify({ error }))
}
const chunk = (delta: object, finish: string | null = null): string =>
  `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`

/** Starts an upstream that requires its key and behaves as the model's name says. */
async function startUpstream() {
  const held: (() => void)[] = []
  const state = { flakyFails: true }
  const respond = (model: string, request: IncomingMessage, response: ServerResponse): void => {
    if (request.headers.authorization !== `Bearer ${secrets.key}`) failure(response, 401)
    else if (model === 'resets') request.socket.resetAndDestroy()
    else if (model === 'hangs') return
    else if (model === 'fails' || (model === 'flaky' && state.flakyFails)) failure(response, 500)
    else if (model === 'busy') failure(response, 429)
    else if (model === 'garbage') response.writeHead(200, json).end(`<${secrets.content}>`)
    else if (model === 'slow') {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write(chunk({ role: 'assistant', content: 'a' }))
      held.push(() => response.end(`${chunk({}, 'stop')}data: [DONE]\n\n`))
    } else response.writeHead(200, json).end(completion)
  }
  const server = http.createServer(async (request, response) => {
    let body = ''
    for await (const part of request) body += part
    respond((JSON.parse(body) as { model: string }).model, request, response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  closing.push(() => {
    server.closeAllConnections()
    return new Promise((resolve) => server.close(resolve))
  })
  const release = (): void => {
    for (const end of held.splice(0)) end()
  }
  return { port: (server.address() as AddressInfo).port, release, state }
}

/** A port that refuses connections. */
async function closedPort(): Promise<number> {
  const server = http.createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}

/** Replaces values that differ between two runs. */
const normalized = (line: string): string =>
  line
    .replace(/^\d\d:\d\d:\d\d/, '12:00:00')
    .replace(/\breq_\w+/g, 'req_…')
    .replace(/127\.0\.0\.1:\d+/g, '127.0.0.1:9000')
    .replace(/resets at [\d-]+T/, 'resets at 2026-12-01T')
    .replace(/try again in \w+/, 'try again in 1m30s')
    .replace(/after \d+ ms/, 'after 31 ms')
    .replace(/ {2,}[\d.]+ m?s( \(first [\d.]+ m?s\))?(?= {2})/, (_, first) =>
      first ? '  31 ms (first 30 ms)' : '  31 ms',
    )

interface LogLine {
  readonly level: string
  /** Message of JSON; the whole normalized line of the pretty format. */
  readonly text: string
}

interface Command {
  readonly server: Running
  readonly folder: string
  ask(model: string, body?: object, options?: { token?: string; signal?: AbortSignal }): Promise<Response>
  /** Waits for a line, and returns its match. */
  waitFor(pattern: RegExp): Promise<unknown>
  /** Runs an action, waits for what it logs and returns these lines. A further call proves that no line follows. */
  linesOf(action: () => unknown, until?: RegExp): Promise<LogLine[]>
  lines(): LogLine[]
}

const levels: Readonly<Record<number, string>> = { 20: 'debug', 30: 'info', 40: 'warn', 50: 'error' }

async function startCommand(format: Format, config: object, settings: Record<string, string> = {}): Promise<Command> {
  const folder = mkdtempSync(join(tmpdir(), 'modelgate-log-lines-'))
  closing.push(() => rmSync(folder, { recursive: true, force: true }))
  writeFileSync(join(folder, 'modelgate.config.json'), JSON.stringify(config))
  // The package that users install in their own folder.
  mkdirSync(join(folder, 'node_modules'))
  const redisPackage = fileURLToPath(new URL('multi-process/node_modules/redis', import.meta.url))
  symlinkSync(redisPackage, join(folder, 'node_modules/redis'), 'junction')
  const env = { MODELGATE_ADMIN_TOKEN: secrets.adminToken, ...settings }
  const server = modelgate(['start', '--log', format], env, folder)
  const [, root = ''] = await server.waitForOutput(/listens on (\S+)/)
  await server.waitForOutput(/\/v1\/models .*\n/)
  const lines = (): LogLine[] => {
    const [, text = ''] = server.output().split(/\/v1\/models .*\n/)
    return text
      .split('\n')
      .slice(0, -1)
      .filter((line) => line !== '' && !line.includes('stored responses'))
      .map((line) => {
        if (format === 'pretty') return { level: line.split(/ +/)[1] ?? '', text: normalized(line) }
        const { level, msg } = JSON.parse(line) as { level: number; msg: string }
        return { level: levels[level] ?? '', text: normalized(msg) }
      })
  }
  const ask: Command['ask'] = (model, body = {}, { token = secrets.token, signal } = {}) =>
    fetch(`${root}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, ...json },
      body: JSON.stringify({ model, messages: [{ role: 'user', content: secrets.content }], ...body }),
      ...(signal === undefined ? {} : { signal }),
    })
  let probes = 0
  return {
    server,
    folder,
    ask,
    lines,
    waitFor: (pattern) => server.waitForOutput(pattern),
    async linesOf(action, until) {
      const before = lines().length
      await action()
      if (until !== undefined) await server.waitForOutput(until)
      const probe = `probe-${++probes}`
      await (await ask(probe)).text()
      await server.waitForOutput(new RegExp(`\\b${probe}\\b.*\\n`))
      return lines()
        .slice(before)
        .filter(({ text }) => !text.includes('probe-'))
    },
  }
}

const upstreamOf = (port: number, apiKey: string = secrets.key) => ({
  provider: 'openai',
  apiKey,
  // A key in the address, as some proxies need it, must not appear either.
  baseURL: `http://127.0.0.1:${port}/${secrets.key}/v1`,
  formats: ['chat'],
})

/** Lines of the documentation, in the order of the test. */
function documentedLines(heading: string): string[] {
  const page = readFileSync(new URL('../docs/operate/observability.md', import.meta.url), 'utf8')
  const [, block = ''] = /```text\n([\s\S]*?)```/.exec(page.slice(page.indexOf(heading))) ?? []
  return block.split('\n').slice(0, -1)
}

describe.each<Format>(['pretty', 'json'])('the log of the command in the format %s', (format) => {
  it('has one line for each cause', async () => {
    const upstream = await startUpstream()
    const priced = ['gpt-5', 'resets', 'hangs', 'fails', 'busy', 'garbage', 'slow']
    const config = {
      token: secrets.token,
      upstreams: {
        openai: upstreamOf(upstream.port),
        locked: upstreamOf(upstream.port, secrets.wrongKey),
        away: upstreamOf(await closedPort()),
        claude: { provider: 'anthropic', apiKey: secrets.key, baseURL: `http://127.0.0.1:${upstream.port}` },
      },
      models: Object.fromEntries([
        ...[...priced, 'unpriced'].map((name) => [name, 'openai']),
        ['wrong-key', 'locked'],
        ['refused', 'away'],
        ['claude', 'claude'],
        [
          'repaired',
          [
            { upstream: 'away', model: 'gpt-5' },
            { upstream: 'openai', model: 'gpt-5' },
          ],
        ],
      ]),
      prices: { models: Object.fromEntries(priced.map((name) => [name, { input: 1, output: 1 }])) },
      data: 'data',
      onLoss: 'reject',
      retry: { attempts: 2, backoffMs: 1 },
      breaker: false,
      limits: { firstByteMs: 3000 },
    }
    const command = await startCommand(format, config)
    const { ask, linesOf, server } = command
    const issue = async (name: string, ...flags: string[]): Promise<string> => {
      const issuing = modelgate(['tokens', 'issue', '--name', name, '--json', ...flags], {}, command.folder)
      expect(await issuing.ended, issuing.output()).toBe(0)
      return JSON.parse(issuing.output()).secret
    }
    const [limited, poor] = [
      await issue('laptop', '--requests-per-minute', '1'),
      await issue('trial', '--budget-tokens', '1', '--per', 'month'),
    ]
    const samples: string[] = []
    /** Runs one cause and expects exactly one line. */
    const expectLine = async (level: string, text: RegExp, action: () => unknown, until?: RegExp): Promise<void> => {
      const lines = await linesOf(action, until)
      expect(lines, String(text)).toEqual([{ level, text: expect.stringMatching(text) }])
      samples.push(...lines.map((line) => line.text))
    }
    const calls = (model: string, body?: object, token?: string) => async (): Promise<void> => {
      await (await ask(model, body, token === undefined ? {} : { token })).text()
    }

    await expectLine('info', /gpt-5 -> openai\/gpt-5 .*200/, calls('gpt-5'))
    await expectLine(
      'warn',
      /200.*after away\/gpt-5: connection failed \(ECONNREFUSED 127\.0\.0\.1:9000\)/,
      calls('repaired'),
    )
    await expectLine('error', /502.*the upstream rejected the configured key \(401\)/, calls('wrong-key'))
    await expectLine('error', /502.*connection failed \(ECONNREFUSED 127\.0\.0\.1:9000\) 2 times/, calls('refused'))
    await expectLine('error', /502.*connection failed \(ECONNRESET/, calls('resets'))
    await expectLine('error', /504.*timeout, no response/, calls('hangs'))
    await expectLine('error', /502.*upstream error \(500\)/, calls('fails'))
    await expectLine('warn', /429.*rate limit \(429\)/, calls('busy'))
    await expectLine('error', /502.*invalid response/, calls('garbage'))
    await expectLine('warn', /404.*not_found: .*no-such/, calls('no-such'))
    await expectLine('warn', /400.*invalid_request: .*messages/, calls('gpt-5', { messages: 5 }))
    await expectLine('warn', /400.*seed/, calls('claude', { seed: 7 }))
    await expectLine('warn', /401.*authentication: /, calls('gpt-5', {}, `canary-stranger-${canary}`))
    await linesOf(calls('gpt-5', {}, limited))
    await expectLine('warn', /429.*rate_limited: /, calls('gpt-5', {}, limited))
    await expectLine('warn', /429.*quota_exceeded: /, calls('gpt-5', {}, poor))
    expect(server.output()).not.toContain(limited)
    expect(server.output()).not.toContain(poor)

    // The warning is in addition to the line of the call, and once for each model.
    const unpriced = await linesOf(async () => {
      await calls('unpriced')()
      await calls('unpriced')()
    })
    expect(unpriced.map(({ level }) => level).sort()).toEqual(['info', 'info', 'warn'])
    const [warning] = unpriced.filter(({ level }) => level === 'warn')
    expect(warning?.text).toContain("no price for 'openai/unpriced'")
    samples.push(warning?.text ?? '')

    await expectLine(
      'info',
      /client disconnected/,
      async () => {
        const client = new AbortController()
        const response = await ask('slow', { stream: true }, { signal: client.signal })
        await response.body?.getReader().read()
        client.abort()
      },
      /client disconnected.*\n/,
    )

    const file = join(command.folder, 'modelgate.config.json')
    const reload = (changed: object) => (): void => {
      writeFileSync(file, JSON.stringify(changed))
      server.signal('SIGHUP')
    }
    await expectLine(
      'info',
      /Configuration reloaded\. Upstreams: openai/,
      reload({ ...config, retry: false }),
      /Configuration reloaded.*\n/,
    )
    await expectLine(
      'error',
      /Reload failed, .*Unknown setting 'prot'\. Did you mean 'port'\?/,
      reload({ ...config, prot: 1 }),
      /Reload failed.*\n/,
    )

    const running = await ask('slow', { stream: true })
    const before = command.lines().length
    server.signal('SIGTERM')
    await server.waitForOutput(/SIGTERM received.*\n/)
    upstream.release()
    expect(await running.text()).toContain('[DONE]')
    expect(await server.ended).toBe(0)
    const shutdown = command.lines().slice(before)
    expect(shutdown).toEqual([
      { level: 'info', text: expect.stringContaining('SIGTERM received: draining 1 in-flight request (send it again') },
      { level: 'info', text: expect.stringContaining('slow -> openai/slow') },
      { level: 'info', text: expect.stringContaining('Server stopped after') },
    ])
    samples.push(...shutdown.map((line) => line.text))
    if (format === 'pretty') expect(documentedLines('## Logs')).toEqual(samples)
    expect(server.output()).not.toContain(canary)
  })

  it.skipIf(withoutRedisToKill !== undefined)(
    'has one line for each change of a circuit breaker and of Redis',
    async () => {
      const upstream = await startUpstream()
      const redis = await startRedis()
      closing.push(redis.close)
      const command = await startCommand(format, {
        token: secrets.token,
        upstreams: { openai: upstreamOf(upstream.port) },
        models: { flaky: 'openai' },
        retry: false,
        breaker: { failures: 2, restMs: 2000 },
        redis: { url: redis.url.replace('//', `//default:${secrets.redisPassword}@`), timeoutMs: 1000 },
      })
      const { ask, server, lines } = command
      const about = (words: string): LogLine[] => lines().filter(({ text }) => text.includes(words))
      /** Calls until the log has a line. */
      const callUntil = async (pattern: RegExp): Promise<void> => {
        while (!pattern.test(server.output())) await (await ask('flaky')).text()
      }
      // An open circuit breaker responds without the upstream. A further failing trial call would open it again.
      while ((await ask('flaky')).status !== 503);
      await server.waitForOutput(/Circuit breaker of openai\/flaky opened.*\n/)
      upstream.state.flakyFails = false
      await callUntil(/Circuit breaker of openai\/flaky closed.*\n/)
      await redis.kill()
      await server.waitForOutput(/Redis is unavailable.*\n/)
      await redis.start()
      await server.waitForOutput(/Redis is available again.*\n/)
      server.signal('SIGTERM')
      expect(await server.ended).toBe(0)
      expect(about('Circuit breaker')).toEqual([
        { level: 'warn', text: expect.stringContaining('openai/flaky opened: it receives no calls for') },
        { level: 'info', text: expect.stringContaining('openai/flaky closed') },
      ])
      // The connection's own error is part of the pretty line, and the field `err` of the JSON line.
      expect(server.output()).toMatch(/Redis is unavailable.*(ECONNREFUSED|Socket closed)/)
      expect(about('Redis')).toEqual([
        { level: 'warn', text: expect.stringContaining('Redis is unavailable') },
        { level: 'warn', text: expect.stringContaining('Redis is available again') },
      ])
      expect(server.output()).not.toContain(canary)
    },
  )
})
