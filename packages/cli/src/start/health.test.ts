import { createFakeProvider, listen } from '@modelgate/testing'
import { afterEach, describe, expect, it } from 'vitest'
import { bearerOf, healthUrl } from '../config/health.ts'
import { createTestContext } from '../terminal/command-context.test-support.ts'
import type { Env } from '../terminal/command-context.ts'
import { serve } from './serve.ts'

const closing: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

async function started({
  settings = {},
  env = {},
  delayMs = 0,
}: {
  settings?: object
  env?: Env
  delayMs?: number
} = {}) {
  const fake = createFakeProvider({ apiKey: 'k' })
  if (delayMs > 0) fake.on({}, { text: 'Hello', fault: { type: 'delay', ms: delayMs } })
  const provider = await listen(fake)
  closing.push(provider.close)
  const context = createTestContext(
    {
      'modelgate.config.json': JSON.stringify({
        upstreams: { one: { provider: 'openai', apiKey: 'k', baseURL: provider.url, formats: ['chat'] } },
        models: { m: 'one' },
        token: 'client-token',
        ...settings,
      }),
    },
    env,
  )
  const serving = await serve(context, { port: '0' })
  closing.push(serving.stop)
  // A connection for each request, as probes use.
  const read = async (path: string, headers: Record<string, string> = {}, method = 'GET') => {
    const response = await fetch(`http://127.0.0.1:${serving.port}${path}`, {
      method,
      headers: { connection: 'close', ...headers },
    })
    const text = await response.text()
    return { status: response.status, body: text === '' ? null : JSON.parse(text) }
  }
  const call = async (): Promise<number> => {
    const response = await fetch(`http://127.0.0.1:${serving.port}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: 'Bearer client-token', 'content-type': 'application/json', connection: 'close' },
      body: JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'hi' }] }),
    })
    await response.text()
    return response.status
  }
  return { serving, provider, fake, read, call }
}

describe('the health endpoints of the server', () => {
  it('need no token, support HEAD and reveal only the status', async () => {
    const { read } = await started({ env: { MODELGATE_ADMIN_TOKEN: 'admin-token' } })
    expect(await read('/healthz')).toEqual({ status: 200, body: { status: 'ok' } })
    expect(await read('/readyz')).toEqual({ status: 200, body: { status: 'ready' } })
    expect(await read('/readyz', {}, 'HEAD')).toEqual({ status: 200, body: null })
    for (const authorization of [
      'Bearer client-token',
      'Bearer admin-toke',
      'Bearer',
      'admin-token',
      'Bearer admin-token x',
    ])
      expect((await read('/readyz', { authorization })).body, authorization).toEqual({ status: 'ready' })
  })

  it('show the states of upstreams with MODELGATE_ADMIN_TOKEN', async () => {
    const { read } = await started({ env: { MODELGATE_ADMIN_TOKEN: 'admin-token' } })
    expect((await read('/readyz', { authorization: 'Bearer admin-token' })).body).toEqual({
      status: 'ready',
      draining: false,
      activeCalls: 0,
      upstreams: [{ upstream: 'one', state: 'closed', available: true, targets: [] }],
      checks: [],
    })
  })

  it('show nobody the states if MODELGATE_ADMIN_TOKEN is not set', async () => {
    const { read } = await started({ env: { MODELGATE_ADMIN_TOKEN: '' } })
    for (const authorization of ['Bearer ', 'Bearer undefined', 'Bearer client-token'])
      expect((await read('/readyz', { authorization })).body).toEqual({ status: 'ready' })
  })

  it('exist at the root of the server and below the base path', async () => {
    const { read } = await started({ settings: { basePath: '/ai' } })
    for (const path of ['/healthz', '/ai/healthz', '/readyz', '/ai/readyz', '/readyz?verbose'])
      expect((await read(path)).status, path).toBe(200)
    expect((await read('/v1/models')).status).toBe(404)
  })

  it('report that the only upstream refuses connections', async () => {
    const { read, call, provider } = await started()
    expect((await read('/readyz')).status).toBe(200)
    await provider.close()
    for (let count = 0; count < 8; count++) await call()
    expect(await read('/readyz')).toEqual({ status: 503, body: { status: 'unavailable' } })
    expect((await read('/healthz')).status).toBe(200)
  })

  it('respond on new connections during a graceful shutdown, while the call in flight completes', async () => {
    const { serving, read, call, fake } = await started({ delayMs: 1500 })
    const inFlight = call()
    while (fake.requests.length === 0) await new Promise((resolve) => setTimeout(resolve, 10))
    const stopped = serving.stop()
    expect(await read('/readyz')).toEqual({ status: 503, body: { status: 'unavailable' } })
    expect(await read('/healthz')).toEqual({ status: 200, body: { status: 'ok' } })
    expect(await call()).toBe(503)
    expect(await inFlight).toBe(200)
    await stopped
    await expect(read('/healthz')).rejects.toThrow()
  })

  it('survive a reload', async () => {
    const { serving, read } = await started({ env: { MODELGATE_ADMIN_TOKEN: 'admin-token' } })
    await serving.reload()
    expect((await read('/readyz', { authorization: 'Bearer admin-token' })).body).toMatchObject({ draining: false })
  })
})

it.each([
  ['/readyz', '/ai/readyz'],
  ['/healthz?x', '/ai/healthz?x'],
  ['/readyz/', '/ai/readyz/'],
  ['/readyzed', '/readyzed'],
  ['/ai/readyz', '/ai/readyz'],
  ['/v1/models', '/v1/models'],
])('healthUrl maps %s to %s', (url, expected) => {
  expect(healthUrl(url, '/ai')).toBe(expected)
  expect(healthUrl(url, '')).toBe(url)
})

it('bearerOf accepts the scheme in any case', () => {
  const accepts = bearerOf('t')
  expect(accepts({ header: () => 'bearer t' })).toBe(true)
  expect(accepts({ header: () => undefined })).toBe(false)
})
