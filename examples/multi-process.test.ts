import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { get } from 'node:http'
import { type AddressInfo, createServer, connect as dial, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { openaiClient } from '@modelgate/conformance/test-support'
import {
  createFakeProvider,
  type ListeningProvider,
  type ListeningRealtime,
  listen,
  listenRealtime,
} from '@modelgate/testing'
import { until } from '@modelgate/testing/test-support'
import { createTokens, redisStorage } from '@modelgate/tokens'
import {
  type Connection,
  connect,
  startRedis,
  type TestRedis,
  withoutRedisToKill,
} from '@modelgate/tokens/test-support'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type Running, startExample, stopExamples } from './start-example.ts'

const path = `${process.env.PATH}:/usr/sbin`
const nginx = spawnSync('nginx', ['-v'], { env: { PATH: path } })
const missing = nginx.status !== 0 ? 'there is no nginx: apt-get install nginx-light' : withoutRedisToKill
if (missing !== undefined) console.warn(`left out: examples/multi-process: ${missing}`)

/** Timeout: starting and stopping several processes takes seconds. */
const processMs = 30_000

const freePort = (): Promise<number> =>
  new Promise((resolve, reject) => {
    const server = createServer().once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0))
    })
  })

/** Serves a provider and its realtime sessions at one address, like real providers. */
async function inFrontOf(provider: number, sessions: number): Promise<Server> {
  const server = createServer((socket) => {
    socket.once('data', (first) => {
      const other = dial(first.includes('/realtime?') ? sessions : provider, '127.0.0.1')
      other.write(first)
      socket.pipe(other).pipe(socket)
      socket.on('error', () => other.destroy()).on('close', () => other.destroy())
      other.on('error', () => socket.destroy()).on('close', () => socket.destroy())
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return server
}

describe.skipIf(missing !== undefined)('examples/multi-process', () => {
  const folder = mkdtempSync(join(tmpdir(), 'modelgate-processes-'))
  const fake = createFakeProvider({ apiKey: 'upstream-key' })
  let provider: ListeningProvider
  let sessions: ListeningRealtime
  let front: Server
  let redis: TestRedis
  let connection: Connection
  let tokens: ReturnType<typeof createTokens>
  let example: Running
  let origin = ''

  beforeAll(async () => {
    redis = await startRedis()
    provider = await listen(fake)
    sessions = await listenRealtime({ apiKey: 'upstream-key' })
    front = await inFrontOf(provider.port, sessions.port)
    const { port } = front.address() as AddressInfo
    connection = await connect['node-redis'](redis.url)
    tokens = createTokens({ storage: redisStorage({ client: connection.client, timeoutMs: 2000 }) })
    // The unchanged file except for the ports, which may be in use here.
    let conf = readFileSync(fileURLToPath(new URL('./multi-process/nginx.conf', import.meta.url)), 'utf8')
    for (const port of ['8080', '8791', '8792', '8793']) {
      expect(conf).toContain(`127.0.0.1:${port};`)
      conf = conf.replace(`127.0.0.1:${port};`, `127.0.0.1:${await freePort()};`)
    }
    const file = join(folder, 'nginx.conf')
    writeFileSync(file, conf)
    example = startExample('./multi-process/start.js', {
      PATH: path,
      NGINX_CONF: file,
      REDIS_URL: redis.url,
      OPENAI_API_KEY: 'upstream-key',
      OPENAI_BASE_URL: `http://127.0.0.1:${port}/v1`,
      ANTHROPIC_API_KEY: 'upstream-key',
      ANTHROPIC_BASE_URL: provider.origin,
    })
    const [, output = ''] = await example.waitForOutput(/(http:\S+)\/v1 in front of 3 gateways/)
    origin = output
    await example.waitForOutput(/(?:gateway \d+ on port \d+[\s\S]*){3}/)
    const isServing = () =>
      fetch(origin).then(
        ({ status }) => status === 404,
        () => false,
      )
    await until(isServing, 'the front server to respond', processMs)
  })
  afterAll(async () => {
    stopExamples()
    await tokens.close()
    await connection.close()
    front.close()
    await sessions.close()
    await provider.close()
    await redis.close()
    for (const made of [folder, logFolder()]) if (made !== '') rmSync(made, { recursive: true })
  })
  beforeEach(() => fake.reset())

  const call = (secret: string, more = {}, init: RequestInit = {}) =>
    fetch(`${origin}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'gpt-5', messages: [{ role: 'user', content: 'hello' }], ...more }),
      ...init,
    })
  const log = () => readFileSync(join(logFolder(), 'access.log'), 'utf8').trim().split('\n')
  const logFolder = () => /logs in (\S+)/.exec(example.output())?.[1] ?? ''
  const processes = () => [...example.output().matchAll(/gateway (\d+) on port/g)].map(([, pid]) => Number(pid))

  it('enforces one limit in all processes', async () => {
    const { secret } = await tokens.issue({ limits: { requests: 6, window: 'day' } })
    const before = log().length
    const answers = await Promise.all(Array.from({ length: 15 }, () => call(secret)))
    const statuses = answers.map(({ status }) => status).sort()
    expect(statuses).toEqual([...Array(6).fill(200), ...Array(9).fill(429)])
    await Promise.all(answers.map((answer) => answer.text()))
    await until(() => log().length >= before + 15, '15 more lines of the log', processMs)
    const ports = new Set(
      log()
        .slice(before)
        .map((line) => line.split(':').at(-1)),
    )
    expect(ports.size).toBe(3)
  })

  it('forwards each event immediately, and aborts the upstream call when the client disconnects', async () => {
    const { secret } = await tokens.issue()
    // Three events, then silence: a buffering proxy would deliver nothing.
    fake.reply({ text: 'one two three four five', fault: { type: 'stall', after: 3 } })
    const leaving = new AbortController()
    const answer = await call(secret, { stream: true }, { signal: leaving.signal })
    let text = ''
    const decoder = new TextDecoder()
    const reader = answer.body?.getReader()
    while (reader !== undefined && !/"content":"[^"]/.test(text)) text += decoder.decode((await reader.read()).value)
    expect(text).toContain('chat.completion.chunk')
    expect(fake.stats).toMatchObject({ open: 1, aborted: 0 })
    leaving.abort()
    await until(() => fake.stats.aborted === 1, 'the abort of the upstream call', processMs)
    expect(fake.stats).toMatchObject({ started: 1, open: 0 })
  })

  it('finds a stored response in every process', async () => {
    const { secret } = await tokens.issue()
    const client = openaiClient({ origin, token: secret })
    // A model that cannot store responses: the gateways store them.
    const model = 'claude-opus-5'
    const { id } = await client.responses.create({ model, input: 'My name is Ada.' })
    const before = log().length
    const follow = () => client.responses.create({ model, input: 'Hello again.', previous_response_id: id })
    await Promise.all(Array.from({ length: 9 }, follow))
    await until(() => log().length >= before + 9, 'nine more lines of the log', processMs)
    expect(
      new Set(
        log()
          .slice(before)
          .map((line) => line.split(':').at(-1)),
      ).size,
    ).toBe(3)
    const bodies = fake.requests.map(({ bodyText }) => bodyText)
    expect(bodies).toHaveLength(10)
    expect(bodies.every((body) => body.includes('My name is Ada.'))).toBe(true)
  })

  it('shares the cooldown of a rate-limited upstream between all processes', async () => {
    const { secret } = await tokens.issue()
    fake.reply({ status: 429, headers: { 'retry-after': '600' } })
    expect((await call(secret, { model: 'gpt-limited' })).status).toBe(429)
    // The cooldown arrives through Redis.
    const isCoolingEverywhere = async () => {
      fake.reset()
      const answers = await Promise.all(Array.from({ length: 9 }, () => call(secret, { model: 'gpt-limited' })))
      return answers.every(({ status }) => status === 429) && fake.stats.started === 0
    }
    await until(isCoolingEverywhere, 'the cooldown in every process', processMs)
  })

  it('forwards responses with large loss headers, and large uploads', async () => {
    const { secret } = await tokens.issue()
    const fields = Object.fromEntries(Array.from({ length: 200 }, (_, at) => [`unheard_of_field_${at}`, at]))
    const answer = await call(secret, { model: 'claude-opus-5', ...fields })
    expect(answer.status).toBe(200)
    expect(answer.headers.get('modelgate-loss')?.length).toBeGreaterThan(2500)
    const form = new FormData()
    form.set('model', 'gpt-transcribe')
    form.set('file', new Blob([new Uint8Array(20_000_000)]), 'long.wav')
    const headers = { authorization: `Bearer ${secret}` }
    const upload = await fetch(`${origin}/v1/audio/transcriptions`, { method: 'POST', headers, body: form })
    expect(await upload.json()).toMatchObject({ text: expect.any(String) })
  })

  it('opens realtime sessions', async () => {
    const { secret } = await tokens.issue()
    const headers = {
      authorization: `Bearer ${secret}`,
      connection: 'Upgrade',
      upgrade: 'websocket',
      'sec-websocket-version': '13',
      'sec-websocket-key': Buffer.alloc(16).toString('base64'),
    }
    const output = await new Promise<string>((resolve, reject) => {
      const request = get(`${origin}/v1/realtime?model=gpt-realtime`, { headers })
      request.on('error', reject).on('response', ({ statusCode }) => reject(new Error(`answered ${statusCode}`)))
      request.on('upgrade', (_response, socket, head) => {
        let text = head.toString('latin1')
        const look = (): void => {
          if (!text.includes('session.created')) return
          socket.destroy()
          resolve(text)
        }
        look()
        socket.on('data', (chunk) => {
          text += chunk.toString('latin1')
          look()
        })
      })
    })
    expect(output).toContain('gpt-realtime')
  })

  it('never logs a token, wherever the client sends it', async () => {
    const { secret } = await tokens.issue()
    const contents = [{ parts: [{ text: 'hello' }] }]
    const answer = await fetch(`${origin}/v1beta/models/gpt-5:generateContent?key=${secret}`, {
      method: 'POST',
      body: JSON.stringify({ contents }),
      headers: { 'content-type': 'application/json' },
    })
    expect(answer.status).toBe(200)
    await until(
      () => log().some((line) => line.includes('POST /v1beta/models/gpt-5:generateContent 200')),
      'the call in the log',
      processMs,
    )
    expect(log().join()).not.toContain(secret)
  })

  it('continues when a process is killed, and restarts it', async () => {
    const { secret } = await tokens.issue()
    const [victim = 0] = processes()
    process.kill(victim, 'SIGKILL')
    // Its in-flight call is lost: it is unknown whether the model responded.
    await example.waitForOutput(/ended \(SIGKILL\)/)
    const answers = await Promise.all(Array.from({ length: 30 }, () => call(secret)))
    expect(answers.filter(({ status }) => status !== 200)).toEqual([])
    await until(() => processes().length === 4, 'the fourth process', processMs)
    expect((await call(secret)).status).toBe(200)
  })

  it('shuts down on a signal after in-flight calls', async () => {
    const { secret } = await tokens.issue()
    fake.reply({ text: 'still here', fault: { type: 'delay', ms: 300 } })
    const running = call(secret)
    await until(() => fake.stats.open === 1, 'the call to reach the upstream', processMs)
    example.signal('SIGTERM')
    expect((await running).status).toBe(200)
    expect(await example.ended).toBe(0)
  })
})
