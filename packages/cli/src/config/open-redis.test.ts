import { mkdirSync, symlinkSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createFakeProvider, listen } from '@modelgate/testing'
import { type DelayedRedis, delayRedis, startRedis, withoutRedisToKill } from '@modelgate/tokens/test-support'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { serve } from '../start/serve.ts'
import { createTestContext, type TestContext } from '../terminal/command-context.test-support.ts'
import { redisResponseStore } from './redis-responses.ts'

/** The package that users install in their own folder. */
const redisPackage = join(dirname(fileURLToPath(import.meta.url)), '../../../tokens/node_modules/redis')

const open: (() => Promise<unknown>)[] = []
let redis: DelayedRedis
beforeEach(async () => {
  if (withoutRedisToKill !== undefined) return
  const own = await startRedis()
  redis = await delayRedis(own.url)
  open.push(own.close, redis.close)
})
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close()
  vi.restoreAllMocks()
})

/** A folder with a configuration that shares Redis. */
async function sharingContext(settings: object = {}): Promise<TestContext> {
  const provider = await listen(createFakeProvider({ apiKey: 'k' }))
  open.push(provider.close)
  const context = createTestContext({
    'modelgate.config.json': JSON.stringify({
      upstreams: { one: { provider: 'openai', apiKey: 'k', baseURL: provider.url, formats: ['chat'] } },
      models: { m: 'one' },
      redis: { url: redis.url, ...settings },
    }),
  })
  mkdirSync(join(context.cwd, 'node_modules'))
  symlinkSync(redisPackage, join(context.cwd, 'node_modules/redis'), 'junction')
  return context
}

const secretFrom = async (context: TestContext): Promise<string> => {
  const before = context.stdout().length
  expect(await context.run('tokens', 'issue', '--requests-per-minute', '1000', '--json'), context.stderr()).toBe(0)
  return JSON.parse(context.stdout().slice(before)).secret
}

async function started(context: TestContext) {
  const serving = await serve(context, { port: '0' })
  open.push(serving.stop)
  return async (secret: string, body: object): Promise<{ status: number; json: Record<string, unknown> }> => {
    const response = await fetch(`http://127.0.0.1:${serving.port}/v1/responses`, {
      method: 'POST',
      headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'm', ...body }),
    })
    return { status: response.status, json: (await response.json()) as Record<string, unknown> }
  }
}

describe.skipIf(withoutRedisToKill !== undefined)('a configuration with Redis', () => {
  it('runs the token commands at a round trip of 45 ms', async () => {
    redis.roundTripMs(45)
    const context = await sharingContext()
    await secretFrom(context)
    expect(await context.run('tokens', 'list')).toBe(0)
    expect(context.stderr()).toBe('')
  })

  it('finds a response that another process of the command stored', async () => {
    const [first, second] = [await sharingContext(), await sharingContext()]
    const secret = await secretFrom(first)
    const [ask, askOther] = [await started(first), await started(second)]
    const begun = await ask(secret, { input: 'My name is Ada.' })
    expect(begun.status).toBe(200)
    const { status, json } = await askOther(secret, { input: 'Go on.', previous_response_id: begun.json.id })
    expect([status, json.error]).toEqual([200, null])
    const stranger = await secretFrom(first)
    const refused = await askOther(stranger, { input: 'Go on.', previous_response_id: begun.json.id })
    expect(refused.status).toBe(400)
  })

  it('gives the size of a deleted response back to its owner', async () => {
    const { createClient } = createRequire(import.meta.url)(redisPackage) as {
      createClient(options: { url: string }): {
        connect(): Promise<unknown>
        sendCommand(args: string[]): Promise<unknown>
        destroy(): void
      }
    }
    const client = createClient({ url: redis.url })
    await client.connect()
    open.push(async () => client.destroy())
    const store = redisResponseStore((args) => client.sendCommand(args), 'test:')
    // An owner has room for 8 of them.
    const value = 'x'.repeat(4 * 1024 * 1024)
    const add = (...names: string[]) => Promise.all(names.map((name) => store.set(name, value, 60_000, 'ada')))
    await add('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h')
    for (const name of ['e', 'f', 'g', 'h', 'h', 'never stored']) await store.delete(name, 'ada')
    expect(await store.get('e')).toBeUndefined()
    await add('i', 'j', 'k', 'l')
    for (const name of ['a', 'b', 'c', 'd', 'i', 'j', 'k', 'l'])
      expect(await store.get(name)).toHaveLength(value.length)
    await add('m')
    expect(await client.sendCommand(['HGET', 'test:response-sizes:ada', ''])).toBe(String(8 * value.length))
  })

  it.each([
    [{}, 200, 0, 300],
    // Far longer than Redis needs on a busy machine.
    [{ timeoutMs: 400, localMs: 0 }, 503, 1, 1600],
  ])('uses the timeouts of the file: %j', async (settings, status, warnings, pauseMs) => {
    const context = await sharingContext(settings)
    const secret = await secretFrom(context)
    const ask = await started(context)
    expect((await ask(secret, { input: 'hi', store: false })).status).toBe(200)
    redis.pause(pauseMs)
    expect((await ask(secret, { input: 'hi', store: false })).status).toBe(status)
    await vi.waitFor(() => expect(context.stdout().split('"msg":"Redis is unavailable').length - 1).toBe(warnings))
  })

  it('is not ready while Redis is unavailable, and ready again after that', async () => {
    const context = await sharingContext({ timeoutMs: 100 })
    const serving = await serve(context, { port: '0' })
    open.push(serving.stop)
    const readyz = async (): Promise<number> => (await fetch(`http://127.0.0.1:${serving.port}/readyz`)).status
    await vi.waitFor(async () => expect(await readyz()).toBe(200), 5000)
    redis.pause(3000)
    await vi.waitFor(async () => expect(await readyz()).toBe(503), 5000)
    await vi.waitFor(async () => expect(await readyz()).toBe(200), 10_000)
    // The storage logs the outage, and the check does not repeat it.
    const lines = context.stdout().split('\n')
    expect(lines.filter((line) => line.includes('Redis is unavailable'))).toHaveLength(1)
    expect(lines.filter((line) => line.includes('readiness check'))).toEqual([])
  })

  it.each([
    [{ timeoutMs: 0 }, 'redis.timeoutMs is 0: expected milliseconds, at least 1'],
    [{ staleMs: -1 }, 'redis.staleMs is -1: expected milliseconds, at least 0'],
    [{ timeoutMS: 5 }, "Unknown setting 'redis.timeoutMS'. Did you mean 'timeoutMs'?"],
    [{ url: '' }, 'redis.url is missing'],
  ])('rejects %j', async (settings, words) => {
    const context = await sharingContext(settings)
    expect(await context.run('tokens', 'list')).toBe(1)
    expect(context.stderr()).toContain(`modelgate: modelgate.config.json: ${words}`)
  })
})
