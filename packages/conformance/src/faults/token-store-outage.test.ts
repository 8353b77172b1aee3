import { createGateway } from '@modelgate/core'
import { createFakeProvider } from '@modelgate/testing'
import { createTokens, redisStorage } from '@modelgate/tokens'
import { startRedis, type TestRedis, withoutRedisToKill } from '@modelgate/tokens/test-support'
import { createClient } from 'redis'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { upstreamKey, upstreamOf } from '../base/gateways.ts'
import { type Running, type ServerKind, servers } from '../base/servers.ts'
import { printFigure } from './router-fixture.ts'

if (withoutRedisToKill !== undefined) console.warn(`skipped: tests with a Redis outage: ${withoutRedisToKill}`)

describe.skipIf(withoutRedisToKill !== undefined)('Redis outage', () => {
  let redis: TestRedis
  let client: ReturnType<typeof createClient>
  const started: { running: Running; close(): Promise<void> }[] = []
  beforeAll(async () => {
    redis = await startRedis()
    client = createClient({ url: redis.url })
    client.on('error', () => {})
    await client.connect()
  })
  afterAll(async () => {
    redis.thaw()
    for (const { running, close } of started) {
      await running.close()
      await close()
    }
    client.destroy()
    await redis.close()
  })

  async function gatewayWith(options: { staleMs?: number; localMs?: number }) {
    const { localMs, ...rest } = options
    const storage = redisStorage({ client, ...(localMs === undefined ? {} : { away: { localMs } }) })
    const tokens = createTokens({ storage, cacheMs: 50, logger: false, ...rest })
    const running = await (servers[0] as ServerKind).start(
      createGateway({
        auth: tokens.authenticate,
        upstreams: { up: upstreamOf('chat') },
        models: { '*': 'up' },
        fetch: createFakeProvider({ apiKey: upstreamKey }).fetch,
        logger: false,
      }),
    )
    started.push({ running, close: tokens.close })
    const call = async (secret: string) => {
      const begun = performance.now()
      const response = await fetch(`${running.origin}/v1/chat/completions`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${secret}` },
        body: JSON.stringify({ model: 'any', messages: [{ role: 'user', content: 'hello' }] }),
      })
      const body = (await response.json()) as { error?: { message: string } }
      return { status: response.status, headers: response.headers, body, ms: performance.now() - begun }
    }
    return { tokens, call }
  }
  const back = (call: (secret: string) => Promise<{ status: number }>, secret: string) =>
    vi.waitFor(async () => expect((await call(secret)).status).toBe(200), { timeout: 5000, interval: 50 })
  const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

  it('causes immediate rejections with a retry delay, and the gateway recovers automatically', async () => {
    const { tokens, call } = await gatewayWith({})
    const { secret } = await tokens.issue({ limits: { requests: 1000 } })
    expect((await call(secret)).status).toBe(200)
    redis.freeze()
    await pause(60)
    const first = await call(secret)
    const others = []
    for (let n = 0; n < 20; n++) others.push(await call(secret))
    redis.thaw()
    const thawed = performance.now()
    await back(call, secret)
    const backMs = performance.now() - thawed
    for (const { status, headers, body } of [first, ...others]) {
      expect(status).toBe(503)
      expect(headers.get('retry-after')).toBe('1')
      expect(body.error?.message).toContain('Try again')
    }
    const sorted = others.map(({ ms }) => ms).sort((a, b) => a - b)
    printFigure(
      41,
      `Redis stopped: the first call refused after ${first.ms.toFixed(0)} ms, the others after ${sorted[10]?.toFixed(1)} ms (median), ${sorted.at(-1)?.toFixed(1)} ms (longest); back ${backMs.toFixed(0)} ms after Redis`,
    )
    // The first call waits for the admission limit of 500 ms.
    expect(first.ms).toBeLessThan(1500)
    expect(sorted[10]).toBeLessThan(20)
  })

  it('allows cached authentication if configured, with limits in this process, and then causes rejections', async () => {
    const { tokens, call } = await gatewayWith({ staleMs: 60_000, localMs: 600 })
    const { id, secret } = await tokens.issue({ limits: { requests: 5, window: 'hour' } })
    expect((await call(secret)).status).toBe(200)
    redis.freeze()
    await pause(60)
    const statuses: number[] = []
    for (let n = 0; n < 12; n++) statuses.push((await call(secret)).status)
    await pause(700)
    const delayed = await call(secret)
    redis.thaw()
    // Another token, because this one is over its limit.
    const other = await vi.waitFor(() => tokens.issue({}), { timeout: 5000, interval: 50 })
    await back(call, other.secret)
    const letIn = statuses.filter((status) => status === 200).length
    expect(letIn).toBeGreaterThan(0)
    // At most one limit in total beyond the count in Redis.
    expect(letIn).toBeLessThanOrEqual(5)
    expect(new Set(statuses)).toEqual(new Set([200, 429]))
    expect(delayed.status).toBe(503)
    await vi.waitFor(async () => expect((await tokens.usage(id)).limits[0]?.used).toBe(1 + letIn), { timeout: 5000 })
    printFigure(
      41,
      `limits in this process: ${letIn} of 5 accepted during the Redis outage, 503 after that; all counted in Redis after recovery`,
    )
  })
})
