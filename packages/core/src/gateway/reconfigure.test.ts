import { describe, expect, it, vi } from 'vitest'
import { createCanceller } from '../base/async.ts'
import type { GatewayConfig } from '../config/config.ts'
import type { RealtimeTransport } from '../config/realtime.ts'
import { toInbound } from '../http/web-request.ts'
import { memoryResponseStore } from '../operations/responses/store.ts'
import { anthropic } from '../upstreams/anthropic.ts'
import { openai } from '../upstreams/openai.ts'
import { adapterFunctions } from './adapter.ts'
import { asJson, chunk, completion, message, type Seen, sse } from './create-gateway.test-support.ts'
import { createGateway } from './create-gateway.ts'

type Answer = (url: URL, key: string | null, signal: AbortSignal) => Response | Promise<Response>

/** Creates a gateway and `named`, which builds its configurations: the host of upstream `a` and the token have the given name. */
function setUp(answer: Answer = () => asJson(completion)({} as Seen, undefined) as Response) {
  const called: { host: string; key: string | null }[] = []
  const fetching = (async (input: string, init: RequestInit) => {
    const url = new URL(input)
    const key = new Headers(init.headers).get('authorization')
    called.push({ host: url.host, key })
    return answer(url, key, init.signal as AbortSignal)
  }) as typeof fetch
  const named = (host: string, more: Partial<GatewayConfig> = {}): GatewayConfig => ({
    auth: (token) => (token === host ? { id: 'me' } : null),
    upstreams: {
      a: openai({ apiKey: 'sk-1', baseURL: `http://${host}/v1` }),
      m: anthropic({ apiKey: 'sk-m', baseURL: 'http://m' }),
    },
    models: { real: 'a', claude: 'm' },
    logger: false,
    retry: false,
    fetch: fetching,
    ...more,
  })
  const gateway = createGateway(named('one'))
  const post = (path: string, body: object, token: string) =>
    gateway.fetch(`http://gw${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
      body: JSON.stringify(body),
    })
  const chat = (token: string, more: object = {}) =>
    post('/v1/chat/completions', { model: 'real', messages: [{ role: 'user', content: 'hi' }], ...more }, token)
  return { gateway, named, post, chat, called }
}

const encoder = new TextEncoder()

describe('a new configuration', () => {
  it('applies to new calls, while running calls end under their own configuration', async () => {
    let goOn = (): void => {}
    const waiting = new Promise<void>((resolve) => {
      goOn = resolve
    })
    const { gateway, named, chat, called } = setUp((url) => {
      if (url.host !== 'one') return Response.json(completion)
      const parts = [...sse]
      return new Response(
        new ReadableStream({
          async pull(controller) {
            if (parts.length === 2) await waiting
            const part = parts.shift()
            if (part === undefined) controller.close()
            else controller.enqueue(encoder.encode(part))
          },
        }),
        { headers: { 'content-type': 'text/event-stream' } },
      )
    })
    const finished: string[] = []
    const meter = (name: string) => ({ name, onFinish: () => void finished.push(name) })
    gateway.reconfigure(named('one', { plugins: [meter('old')] }))
    const begun = await chat('one', { stream: true })
    gateway.reconfigure(named('two', { plugins: [meter('new')] }))
    expect((await chat('one')).status).toBe(401)
    expect((await chat('two')).status).toBe(200)
    goOn()
    expect(await begun.text()).toBe(sse.join(''))
    expect(called.map(({ host }) => host)).toEqual(['one', 'two'])
    expect(finished).toEqual(['new', 'old'])
  })

  it('applies to the next call even while the admission of the previous call is pending', async () => {
    const { gateway, named, chat, called } = setUp()
    let admit = (): void => {}
    const slow = new Promise<{ id: string }>((resolve) => {
      admit = () => resolve({ id: 'me' })
    })
    gateway.reconfigure(named('one', { auth: () => slow }))
    const begun = chat('one')
    gateway.reconfigure(named('two'))
    admit()
    expect((await begun).status).toBe(200)
    expect(called).toMatchObject([{ host: 'one' }])
  })

  it('applies to realtime sessions', async () => {
    const { gateway, named } = setUp()
    gateway.reconfigure(named('two'))
    const dialled: string[] = []
    const dial = (async ({ url }: { url: string }) => {
      dialled.push(url)
      return { ok: false, status: 500, headers: {}, body: new Uint8Array() }
    }) as unknown as RealtimeTransport<object>
    const handshake: Record<string, string> = {
      upgrade: 'websocket',
      'sec-websocket-version': '13',
      'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
    }
    const open = (token: string) =>
      adapterFunctions(gateway).realtime(
        {
          ...toInbound(new Request('http://gw/v1/realtime?model=real')),
          header: (name) => ({ ...handshake, authorization: `Bearer ${token}` })[name],
          signal: createCanceller(),
        },
        dial,
      )
    expect(await open('one')).toMatchObject({ ok: false, reply: { status: 401 } })
    await open('two')
    expect(dialled[0]).toContain('//two/v1/realtime')
  })

  it('applies to routes, match and explain', async () => {
    const { gateway, named } = setUp()
    const path = '/status'
    const plugin = {
      name: 'status',
      routes: [{ method: 'GET', path, handle: () => ({ status: 204, headers: {}, body: null }) }],
    }
    expect(adapterFunctions(gateway).match('GET', path)).toBeNull()
    gateway.reconfigure(named('two', { basePath: '/ai', plugins: [plugin] } as Partial<GatewayConfig>))
    expect(gateway.routes.some((route) => route.path === path)).toBe(true)
    expect(adapterFunctions(gateway).match('GET', `/ai${path}`)?.route.path).toBe(path)
    expect(adapterFunctions(gateway).match('POST', '/v1/chat/completions')).toBeNull()
    expect((await gateway.fetch(`http://gw/ai${path}`)).status).toBe(204)
    const { plan } = await gateway.explain('http://gw/ai/v1/chat/completions', {
      method: 'POST',
      headers: { authorization: 'Bearer two', 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'real', messages: [{ role: 'user', content: 'hi' }] }),
    })
    expect(JSON.stringify(plan)).toContain('"a"')
    gateway.reconfigure(named('two'))
    expect(adapterFunctions(gateway).match('GET', `/ai${path}`)).toBeNull()
  })

  it.each([
    ['auth is required', { auth: undefined }],
    ["names the unknown upstream 'b'", { models: { real: 'b' } }],
    ['limits.bodyBytes is 0', { limits: { bodyBytes: 0 } }],
    ['a `name`', { plugins: [{}] }],
  ])(
    'is rejected if invalid, with the error of createGateway, and the current one stays active: %s',
    async (words, wrong) => {
      const { gateway, named, chat } = setUp()
      const config = named('two', wrong as unknown as Partial<GatewayConfig>)
      let atStart: unknown
      try {
        createGateway(config)
      } catch (error) {
        atStart = error
      }
      expect(() => gateway.reconfigure(config)).toThrow(atStart as Error)
      expect(String(atStart)).toContain(words)
      expect((await chat('one')).status).toBe(200)
    },
  )

  it('starts only new plugins, and the current configuration stays active if one of them fails to start', async () => {
    const { gateway, named, chat } = setUp()
    const starts: string[] = []
    const plugin = { name: 'p', onStart: () => void starts.push('p') }
    const broken = {
      name: 'broken',
      onStart() {
        throw new Error('no disk')
      },
    }
    gateway.reconfigure(named('one', { plugins: [plugin] }))
    gateway.reconfigure(named('one'))
    gateway.reconfigure(named('one', { plugins: [plugin] }))
    expect(() => gateway.reconfigure(named('two', { plugins: [plugin, broken] }))).toThrow('no disk')
    expect(starts).toEqual(['p'])
    expect((await chat('one')).status).toBe(200)
  })

  it('is rejected after close', async () => {
    const { gateway, named } = setUp()
    await gateway.close()
    expect(() => gateway.reconfigure(named('two'))).toThrow('the gateway is closed')
  })
})

describe('state across configurations', () => {
  it('keeps stored responses if the new configuration has no store', async () => {
    const { gateway, named, post } = setUp(() => Response.json(message))
    const make = async (): Promise<string> => {
      const response = await post('/v1/responses', { model: 'claude', input: 'hi' }, 'one')
      return ((await response.json()) as { id: string }).id
    }
    const find = async (id: string) =>
      (await gateway.fetch(`http://gw/v1/responses/${id}`, { headers: { authorization: 'Bearer one' } })).status
    const first = await make()
    gateway.reconfigure(named('one'))
    expect(await find(first)).toBe(200)
    gateway.reconfigure(named('one', { responses: { store: memoryResponseStore() } }))
    expect(await find(first)).toBe(404)
    const second = await make()
    expect(await find(second)).toBe(200)
    gateway.reconfigure(named('one'))
    expect([await find(first), await find(second)]).toEqual([200, 404])
  })

  const down: Answer = () => new Response('down', { status: 500 })
  const openai2 = (apiKey: string, host: string) => ({ a: openai({ apiKey, baseURL: `http://${host}/v1` }) })

  it.each([
    ['keeps the failures of an unchanged upstream', {}, 0],
    ['keeps the failures of an upstream if the breaker settings change', { breaker: { failures: 3 } }, 0],
    [
      'resets the failures of an upstream with another key',
      { upstreams: openai2('sk-2', 'one'), models: { real: 'a' } },
      1,
    ],
    [
      'resets the failures of an upstream at another address',
      { upstreams: openai2('sk-1', 'other'), models: { real: 'a' } },
      1,
    ],
  ] as const)('%s', async (_, change, calls) => {
    const { gateway, named, chat, called } = setUp(down)
    for (let n = 0; n < 5; n++) await chat('one')
    expect((await chat('one')).status).toBe(503)
    expect(called).toHaveLength(5)
    gateway.reconfigure(named('one', change as Partial<GatewayConfig>))
    await chat('one')
    expect(called).toHaveLength(5 + calls)
  })

  it.each([
    ['keeps the failures of an upstream with the same authorize function', true, 0],
    ['resets the failures of an upstream with another authorize function, which may use another account', false, 1],
  ])('%s', async (_, same, calls) => {
    const { gateway, named, chat, called } = setUp(down)
    const base = openai({ baseURL: 'http://one/v1' })
    const asks = (token: string) => ({ ...base, authorize: () => ({ authorization: `Bearer ${token}` }) })
    const first = asks('of-one')
    const config = (a: typeof first) => named('one', { upstreams: { a }, models: { real: 'a' } } as object)
    gateway.reconfigure(config(first))
    for (let n = 0; n < 5; n++) await chat('one')
    expect((await chat('one')).status).toBe(503)
    gateway.reconfigure(config(same ? { ...first } : asks('of-another')))
    await chat('one')
    expect(called).toHaveLength(5 + calls)
  })

  it('shares the failures of an unchanged upstream between running and new calls', async () => {
    const { gateway, named, chat, called } = setUp(down)
    const begun = [1, 2, 3, 4, 5].map(() => chat('one'))
    gateway.reconfigure(named('one'))
    await Promise.all(begun)
    expect((await chat('one')).status).toBe(503)
    expect(called).toHaveLength(5)
  })

  it('does not count failures of a replaced upstream for its replacement', async () => {
    const { gateway, named, chat } = setUp((url) =>
      url.host === 'one' ? down(url, null, new AbortController().signal) : Response.json(completion),
    )
    const begun = [1, 2, 3, 4, 5, 6].map(() => chat('one'))
    gateway.reconfigure(named('two'))
    await Promise.all(begun)
    expect((await chat('two')).status).toBe(200)
  })
})

describe('reconfiguration under load', () => {
  it('fails no call under either configuration', async () => {
    const { gateway, named, chat } = setUp(async (url) => {
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 4))
      return url.pathname.endsWith('completions')
        ? Response.json(completion)
        : new Response(chunk({}), { headers: { 'content-type': 'text/event-stream' } })
    })
    const both = (host: string) => named(host, { auth: () => ({ id: 'me' }) })
    const statuses: number[] = []
    let over = false
    const worker = async (): Promise<void> => {
      while (!over) statuses.push((await chat('any')).status)
    }
    gateway.reconfigure(both('one'))
    const workers = Array.from({ length: 10 }, worker)
    for (let n = 0; n < 50; n++) {
      gateway.reconfigure(both(n % 2 === 0 ? 'two' : 'one'))
      await vi.waitFor(() => expect(statuses.length).toBeGreaterThan(n * 4))
    }
    over = true
    await Promise.all(workers)
    expect(statuses.length).toBeGreaterThan(200)
    expect(new Set(statuses)).toEqual(new Set([200]))
  })
})
