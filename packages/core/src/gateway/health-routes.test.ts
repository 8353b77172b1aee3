import { describe, expect, it } from 'vitest'
import { GatewayError } from '../base/errors.ts'
import type { GatewayConfig } from '../config/config.ts'
import { openai } from '../upstreams/openai.ts'
import { completion } from './create-gateway.test-support.ts'
import { createGateway } from './create-gateway.ts'
import type { Gateway } from './gateway.ts'
import { type HealthOptions, healthRoutes } from './health-routes.ts'

type Reply = () => Response | Promise<Response>
const works: Reply = () => Response.json(completion)
const fails: Reply = () => new Response('{}', { status: 503 })
const admin = { authorization: 'Bearer admin-5d1f' }
const authorize: HealthOptions['authorize'] = ({ header }) => header('Authorization') === admin.authorization

/** Creates a gateway whose upstreams, and models of the same names, reply as given. Its caller is not distinguished from others. */
function gatewayWith(replies: Record<string, Reply>, options: HealthOptions = {}, config: Partial<GatewayConfig> = {}) {
  const logged: string[] = []
  const log = (message: string): void => void logged.push(message)
  const logger = { warn: log, error: log }
  const sent: string[] = []
  const gateway = createGateway({
    auth: 'none',
    upstreams: Object.fromEntries(
      Object.keys(replies).map((name) => [name, openai({ apiKey: 'k', baseURL: `https://${name}.test/v1` })]),
    ),
    models: Object.fromEntries(Object.keys(replies).map((name) => [`${name}/*`, { upstream: name, model: '*' }])),
    plugins: [healthRoutes({ logger, ...options })],
    fetch: async (url) => {
      const { hostname } = new URL(String(url))
      sent.push(hostname)
      return (replies[hostname.replace('.test', '')] as Reply)()
    },
    retry: false,
    logger,
    ...config,
  } as GatewayConfig)
  const call = async (model: string): Promise<number> => {
    const response = await gateway.fetch('http://gateway/v1/chat/completions', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model, messages: [{ role: 'user', content: 'hi' }] }),
    })
    await response.text()
    return response.status
  }
  return { gateway, logged, sent, call }
}

async function read(gateway: Gateway, path: string, headers: Record<string, string> = {}, method = 'GET') {
  const response = await gateway.fetch(`http://gateway${path}`, { method, headers })
  const text = await response.text()
  return { status: response.status, body: text === '' ? null : JSON.parse(text), headers: response.headers }
}

const ready = { status: 200, body: { status: 'ready' } }
const unavailable = { status: 503, body: { status: 'unavailable' } }

/** Opens the circuit breaker of a model. */
async function fail(call: (model: string) => Promise<number>, model: string): Promise<void> {
  for (let count = 0; count < 5; count++) await call(model)
}

describe('GET /healthz', () => {
  it('returns 200 without a token while the process responds, also while an upstream fails and after close', async () => {
    const { gateway, call } = gatewayWith({ one: fails })
    await fail(call, 'one/a')
    await gateway.close()
    expect(await read(gateway, '/healthz')).toMatchObject({ status: 200, body: { status: 'ok' } })
  })
})

describe('GET /readyz', () => {
  it('returns 200 without a token, calls no upstream, and forbids caches to store the response', async () => {
    const { gateway, sent } = gatewayWith({ one: works })
    const response = await read(gateway, '/readyz')
    expect(response).toMatchObject(ready)
    expect(response.headers.get('cache-control')).toBe('no-store')
    expect(sent).toEqual([])
  })

  it.each(['/healthz', '/readyz'])('HEAD %s returns the status without a body', async (path) => {
    const { gateway } = gatewayWith({ one: works })
    expect(await read(gateway, path, {}, 'HEAD')).toMatchObject({ status: 200, body: null })
  })

  it('is served below the base path', async () => {
    const { gateway } = gatewayWith({ one: works }, {}, { basePath: '/ai' })
    expect(await read(gateway, '/ai/readyz')).toMatchObject(ready)
  })

  it('returns 503 while the circuit breakers of all upstreams are open', async () => {
    const { gateway, call } = gatewayWith({ one: fails, two: fails })
    await fail(call, 'one/a')
    expect(await read(gateway, '/readyz')).toMatchObject(ready)
    await fail(call, 'two/a')
    expect(await read(gateway, '/readyz')).toMatchObject(unavailable)
  })

  it('returns 200 again as soon as a trial call is allowed', async () => {
    const { gateway, call } = gatewayWith({ one: fails }, {}, { breaker: { restMs: 1 } })
    await fail(call, 'one/a')
    await new Promise((resolve) => setTimeout(resolve, 5))
    expect(await read(gateway, '/readyz')).toMatchObject(ready)
  })

  it('returns 200 while one model of an upstream fails and another one works', async () => {
    let reply = fails
    const { gateway, call } = gatewayWith({ one: () => reply() })
    await fail(call, 'one/a')
    expect(await read(gateway, '/readyz')).toMatchObject(unavailable)
    reply = works
    expect(await call('one/b')).toBe(200)
    expect(await read(gateway, '/readyz')).toMatchObject(ready)
    reply = fails
    await fail(call, 'one/b')
    expect(await read(gateway, '/readyz')).toMatchObject(unavailable)
  })

  it('returns 503 while a check fails, and names it to authorized callers only', async () => {
    const { gateway } = gatewayWith(
      { one: works },
      { authorize, checks: { redis: () => Promise.reject(new Error('redis://:secret-5d1f@cache')), disk: () => true } },
    )
    expect(await read(gateway, '/readyz')).toMatchObject(unavailable)
    const { status, body } = await read(gateway, '/readyz', admin)
    expect({ status, body }).toEqual({
      status: 503,
      body: {
        status: 'unavailable',
        draining: false,
        activeCalls: 0,
        upstreams: [{ upstream: 'one', state: 'closed', available: true, targets: [] }],
        checks: [
          { name: 'redis', ok: false, durationMs: expect.any(Number) },
          { name: 'disk', ok: true, durationMs: expect.any(Number) },
        ],
      },
    })
  })

  it('shows the states of upstreams and the remaining times to authorized callers', async () => {
    const { gateway, call } = gatewayWith({ one: fails, two: works }, { authorize })
    await fail(call, 'one/a')
    expect((await read(gateway, '/readyz', admin)).body).toMatchObject({
      status: 'ready',
      upstreams: [
        {
          upstream: 'one',
          state: 'open',
          available: false,
          targets: [{ model: 'a', state: 'open', forMs: expect.any(Number) }],
        },
        { upstream: 'two', state: 'closed', available: true, targets: [] },
      ],
    })
  })

  it('returns 503 during a graceful shutdown, while calls in flight complete and new ones are rejected', async () => {
    let respond: (response: Response) => void = () => {}
    const { gateway, call } = gatewayWith(
      { one: () => new Promise<Response>((resolve) => (respond = resolve)) },
      { authorize, checks: { disk: () => true } },
    )
    const inFlight = call('one/a')
    await new Promise((resolve) => setTimeout(resolve, 20))
    const closed = gateway.close()
    expect(await read(gateway, '/readyz')).toMatchObject(unavailable)
    expect((await read(gateway, '/readyz', admin)).body).toMatchObject({ draining: true, activeCalls: 1 })
    expect(await read(gateway, '/healthz')).toMatchObject({ status: 200 })
    expect(await call('one/a')).toBe(503)
    respond(await works())
    expect(await inFlight).toBe(200)
    await closed
    expect(await read(gateway, '/readyz')).toMatchObject(unavailable)
  })

  it('does not end a graceful shutdown before the calls in flight', async () => {
    let respond: (response: Response) => void = () => {}
    const { gateway, call } = gatewayWith({ one: () => new Promise<Response>((resolve) => (respond = resolve)) })
    const inFlight = call('one/a')
    await new Promise((resolve) => setTimeout(resolve, 20))
    let isClosed = false
    const closed = gateway.close().then(() => {
      isClosed = true
    })
    for (let count = 0; count < 5; count++) await read(gateway, '/readyz')
    expect(isClosed).toBe(false)
    respond(await works())
    await Promise.all([inFlight, closed])
  })

  it.each<[string, HealthOptions['authorize'], number]>([
    ['is missing', undefined, 0],
    ['returns false', () => false, 0],
    ['returns a truthy value', (() => 'yes') as unknown as HealthOptions['authorize'], 1],
    ['rejects', () => Promise.reject(new Error('no session store')), 1],
    [
      'throws an error for the client',
      () => {
        throw new GatewayError('permission', 'No.')
      },
      0,
    ],
    ['never settles', () => new Promise(() => {}), 1],
  ])('shows only the status if authorize %s', async (_, given, lines) => {
    const { gateway, logged } = gatewayWith(
      { one: works },
      { ...(given === undefined ? {} : { authorize: given }), timeoutMs: 20 },
    )
    expect(await read(gateway, '/readyz', admin)).toMatchObject(ready)
    expect(logged).toHaveLength(lines)
  })
})

describe('healthRoutes', () => {
  it.each<[string, unknown, string]>([
    ['an authorize that is no function', { authorize: 'x' }, 'authorize must be a function'],
    ['a check that is no function', { checks: { redis: Promise.resolve() } }, "the check 'redis' must be a function"],
    ['an invalid time limit', { timeoutMs: 0 }, 'timeoutMs is 0'],
  ])('throws for %s', (_, options, message) => {
    expect(() => healthRoutes(options as HealthOptions)).toThrow(message)
  })

  it('reads the state of the gateway after a new configuration', async () => {
    const plugin = healthRoutes()
    const config = (name: string) =>
      ({
        auth: 'none',
        upstreams: { [name]: openai({ apiKey: 'k' }) },
        models: { m: name },
        plugins: [plugin],
      }) satisfies GatewayConfig
    const gateway = createGateway(config('one'))
    gateway.reconfigure(config('two'))
    expect(await read(gateway, '/readyz')).toMatchObject(ready)
  })
})
