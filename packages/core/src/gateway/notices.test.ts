import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createCanceller } from '../base/async.ts'
import { GatewayError } from '../base/errors.ts'
import type { GatewayConfig } from '../config/config.ts'
import type { FinishEvent } from '../config/finish-event.ts'
import type { GatewayNotice } from '../config/notices.ts'
import type { Plugin } from '../config/plugin.ts'
import type { Inbound } from '../http/inbound.ts'
import { anthropic } from '../upstreams/anthropic.ts'
import { openai } from '../upstreams/openai.ts'
import { adapterFunctions } from './adapter.ts'
import { type Answer, asJson, asStream, completion, setUp, sse } from './create-gateway.test-support.ts'

const canary = 'canary-3f9a'

/** Creates a gateway whose plugin records notices and settlements, with callers `good` (id `me`) and `other`. */
function watched(answers: { [host: string]: Answer }, config: Partial<GatewayConfig> = {}) {
  const notices: GatewayNotice[] = []
  const finished: FinishEvent[] = []
  const plugin: Plugin = {
    name: 'watch',
    onNotice: (notice) => void notices.push(notice),
    onFinish: (event) => void finished.push(event),
  }
  const auth = (token: string) => ({ good: { id: 'me' }, other: { id: 'you' } })[token] ?? null
  const all = setUp(answers, { auth, retry: { attempts: 1 }, plugins: [plugin], ...config })
  return { ...all, notices, finished, plugin, auth }
}

const failing = (status: number, headers: Record<string, string> = {}): Answer =>
  asJson({ error: { message: 'broken' } }, { status, headers: { 'content-type': 'application/json', ...headers } })

/** Answers with the next of several answers; the last one stays. */
function inTurn(...answers: readonly Answer[]): Answer {
  let at = 0
  return (seen, signal) => (answers[Math.min(at++, answers.length - 1)] as Answer)(seen, signal)
}

const refused: Answer = () => {
  const system = Object.assign(new Error('connect ECONNREFUSED 10.0.0.1:443'), {
    code: 'ECONNREFUSED',
    address: '10.0.0.1',
    port: 443,
  })
  throw new TypeError('fetch failed', { cause: system })
}

const kinds = (notices: readonly GatewayNotice[]): readonly string[] => notices.map(({ kind }) => kind)

describe('call-rejected', () => {
  const bodyOf = (text: string): RequestInit => ({
    method: 'POST',
    body: text,
    headers: { 'content-type': 'application/json', authorization: 'Bearer good' },
  })
  const chat = '/v1/chat/completions'
  const cases: readonly [
    name: string,
    path: string,
    init: RequestInit,
    expected: Partial<Extract<GatewayNotice, { kind: 'call-rejected' }>>,
  ][] = [
    ['an unknown route', `/v1/foo?key=${canary}`, {}, { status: 404, error: 'not_found', path: '/v1/foo' }],
    [
      'a method that the path does not have',
      `${chat}?key=${canary}`,
      {},
      { status: 405, error: 'method_not_allowed', method: 'GET', path: chat },
    ],
    [
      'a method that models do not have',
      '/v1beta/models/gemini-x:foo',
      { method: 'POST' },
      { status: 404, error: 'not_found' },
    ],
    [
      'a call without a token',
      chat,
      { method: 'POST', body: `{"model":"${canary}"}`, headers: { 'content-type': 'application/json' } },
      { status: 401, error: 'authentication', operation: 'generate' },
    ],
    [
      'a call with an unknown token',
      '/v1/messages',
      { method: 'POST', body: '{}', headers: { 'x-api-key': canary } },
      { status: 401, error: 'authentication', operation: 'generate' },
    ],
    [
      'a body that is too large',
      chat,
      bodyOf(`{"model":"real","messages":"${canary.repeat(200)}"}`),
      { status: 413, error: 'request_too_large', identity: { id: 'me' } },
    ],
    [
      'a body that is not JSON',
      chat,
      bodyOf(`{"${canary}`),
      { status: 400, error: 'invalid_request', identity: { id: 'me' } },
    ],
    [
      'a body with a wrong type',
      chat,
      bodyOf(`{"model":"real","messages":"${canary}"}`),
      { status: 400, error: 'invalid_request', identity: { id: 'me' } },
    ],
    [
      'an upload that is not multipart',
      '/v1/audio/transcriptions',
      bodyOf(`{"${canary}":1}`),
      { error: 'unsupported_media_type', operation: 'transcriptions', identity: { id: 'me' } },
    ],
    [
      'a model that does not exist',
      '/v1/models/none',
      { headers: { authorization: 'Bearer good' } },
      { status: 404, operation: 'get-model', identity: { id: 'me' } },
    ],
  ]

  it.each(cases)('reports %s once, without a credential or content', async (_, path, init, expected) => {
    const { gateway, notices, finished } = watched({}, { limits: { bodyBytes: 1000 } })
    const response = await gateway.fetch(`http://gw${path}`, init)
    expect(notices).toHaveLength(1)
    const [notice] = notices
    expect(notice).toMatchObject({ kind: 'call-rejected', method: init.method ?? 'GET', identity: null, ...expected })
    expect(notice).toMatchObject({
      status: response.status,
      requestId: response.headers.get('modelgate-request-id'),
      path: path.split('?')[0],
      durationMs: expect.any(Number),
      message: expect.stringMatching(/./),
    })
    expect('operation' in (notice as object)).toBe(expected.operation !== undefined || init.body !== undefined)
    expect(JSON.stringify(notices)).not.toContain(canary)
    expect(finished).toEqual([])
  })

  const quoting: readonly [path: string, body: object][] = [
    [chat, { model: 'real', messages: [{ role: canary, content: canary }] }],
    [chat, { model: 'real', messages: [{ role: 'user', content: { [canary]: canary } }], n: canary }],
    ['/v1/completions', { model: 'real', prompt: { text: canary } }],
    ['/v1/embeddings', { model: 'real', input: { text: canary } }],
    ['/v1/embeddings', { model: 'real', input: 'x', encoding_format: canary }],
    ['/v1/moderations', { model: 'real', input: { text: canary } }],
    ['/v1/images/generations', { model: 'real', prompt: [canary], size: { a: canary } }],
    ['/v1/audio/speech', { model: 'real', input: [canary], voice: { a: canary } }],
    ['/v1/rerank', { model: 'real', query: [canary], documents: canary }],
    ['/v1/responses', { model: 'real', input: { text: canary }, stream: canary }],
    ['/v1/messages', { model: 'claude-x', max_tokens: canary, messages: canary }],
    ['/v1beta/models/gemini-x:generateContent', { contents: null, other: canary }],
    ['/v1beta/models/gemini-x:embedContent', { content: { parts: [{ text: 'x' }] }, taskType: { a: canary } }],
    ['/v1beta/models/gemini-x:predict', { instances: [{ prompt: [canary], content: [canary], task_type: [canary] }] }],
  ]

  it.each(quoting)('%s: quotes no value of the request %j', async (path, body) => {
    const { gateway, notices } = watched({})
    await gateway.fetch(`http://gw${path}`, {
      ...bodyOf(JSON.stringify(body)),
      headers: { ...bodyOf('').headers, 'anthropic-version': '2023-06-01' },
    })
    expect(JSON.stringify(notices)).not.toContain(canary)
  })

  it('does not report calls to a model, model lists and successful explanations', async () => {
    const { gateway, chat, notices, finished } = watched({ a: asJson(completion) }, { explain: true })
    const headers = { authorization: 'Bearer good' }
    await chat()
    await chat({ model: 'unknown' })
    await (await chat({ stream: true }, {}, {})).text()
    await (await gateway.fetch('http://gw/v1/models', { headers })).text()
    await (await chat({}, { prefer: 'modelgate=explain' })).text()
    expect(notices).toEqual([])
    expect(finished.map(({ status }) => status)).toContain(404)
  })

  it('reports a client that disconnects while its body is read', async () => {
    const { gateway, notices } = watched({})
    const client = createCanceller()
    const inbound: Inbound = {
      method: 'POST',
      path: chat,
      query: '',
      header: (name) => ({ authorization: 'Bearer good' })[name],
      read: async () => {
        client.abort()
        throw new GatewayError('cancelled', 'The client disconnected.')
      },
      signal: client,
    }
    await adapterFunctions(gateway).handle(inbound)
    expect(notices).toEqual([expect.objectContaining({ kind: 'call-rejected', status: 499, error: 'cancelled' })])
  })

  it('reports errors of plugins’ endpoints, and bounds the path', async () => {
    const pages: Plugin = {
      name: 'pages',
      routes: [
        {
          method: 'GET',
          path: '/admin/{name}',
          handle: () => {
            throw new GatewayError('authentication', 'Send the admin token.')
          },
        },
      ],
    }
    const notices: GatewayNotice[] = []
    const { gateway } = setUp({}, { plugins: [pages, { name: 'watch', onNotice: (one) => void notices.push(one) }] })
    await gateway.fetch(`http://gw/admin/${'x'.repeat(5000)}`)
    expect(notices).toEqual([expect.objectContaining({ status: 401, operation: 'plugin', identity: null })])
    expect(JSON.stringify(notices).length).toBeLessThan(1000)
  })

  it('reports calls during a shutdown, and upgrades that the host cannot serve', async () => {
    const { gateway, chat, notices } = watched({})
    await gateway.upgrade(new Request(`http://gw/v1/responses?key=${canary}`))
    await gateway.upgrade(new Request('http://gw/nothing'))
    await gateway.close()
    await chat()
    expect(notices).toMatchObject([
      { kind: 'call-rejected', path: '/v1/responses', status: 426, identity: null },
      { kind: 'call-rejected', path: '/nothing', status: 404, error: 'not_found' },
      { kind: 'drain-started', activeCalls: 0 },
      { kind: 'call-rejected', status: 503, error: 'overloaded', operation: 'generate' },
    ])
    expect(JSON.stringify(notices)).not.toContain(canary)
  })
})

describe('realtime', () => {
  const upgrade: Readonly<Record<string, string>> = {
    upgrade: 'websocket',
    'sec-websocket-version': '13',
    'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
  }
  const open = (gateway: object, path: string, query: string, token: string | undefined) => {
    const inbound: Inbound = {
      method: 'GET',
      path,
      query,
      header: (name) => (name === 'authorization' && token !== undefined ? `Bearer ${token}` : upgrade[name]),
      read: async () => new Uint8Array(),
      signal: createCanceller(),
    }
    return adapterFunctions(gateway as never).realtime(inbound, async () => ({ socket: 'socket' }))
  }

  it('reports refused sessions once, and open ones by onFinish', async () => {
    const { gateway, notices, finished } = watched({})
    await open(gateway, '/v1/realtime', 'model=real', undefined)
    await open(gateway, '/v1/realtime', `api_key=${canary}`, canary)
    await open(gateway, '/v1/other', 'model=real', 'good')
    await open(gateway, '/v1/realtime', '', 'good')
    const opening = await open(gateway, '/v1/realtime', 'model=real', 'good')
    expect(notices).toMatchObject([
      { status: 401, operation: 'realtime', identity: null, path: '/v1/realtime' },
      { status: 401, operation: 'realtime', identity: null },
      { status: 404, path: '/v1/other' },
      { status: 400, operation: 'realtime', identity: { id: 'me' } },
    ])
    expect(gateway.status().activeCalls).toBe(1)
    if (opening.ok) opening.session?.settle({ outcome: 'finished' })
    expect(finished).toHaveLength(1)
    expect(notices).toHaveLength(4)
    expect(gateway.status().activeCalls).toBe(0)
    await gateway.close()
    await open(gateway, '/v1/realtime', 'model=real', 'good')
    expect(notices.slice(4)).toMatchObject([{ kind: 'drain-started' }, { kind: 'call-rejected', status: 503 }])
    expect(JSON.stringify(notices)).not.toContain(canary)
  })
})

describe('circuit breakers', () => {
  const breaker = { failures: 2, restMs: 60_000 }
  /** Both clocks are ahead by this, so that no test depends on its own speed. */
  let ahead = 0
  const rest = () => {
    ahead += 61_000
  }
  beforeEach(() => {
    for (const clock of [performance, Date]) {
      const now = clock.now.bind(clock)
      vi.spyOn(clock, 'now').mockImplementation(() => now() + ahead)
    }
  })
  afterEach(() => {
    vi.restoreAllMocks()
  })

  it('reports one notice for each change for all callers', async () => {
    const { gateway, chat, notices } = watched(
      { a: inTurn(refused, refused, refused, refused, asJson(completion)) },
      { breaker },
    )
    const state = () => gateway.status().upstreams.find(({ upstream }) => upstream === 'a')
    expect(state()).toMatchObject({ upstream: 'a', state: 'closed', targets: [] })
    // Both calls fail, and those that follow are not sent.
    await Promise.all([chat(), chat()])
    await chat()
    const target = { upstream: 'a', model: 'real' }
    expect(notices).toEqual([{ kind: 'circuit-opened', ...target, forMs: 60_000 }])
    expect(state()).toMatchObject({
      upstream: 'a',
      state: 'open',
      targets: [{ model: 'real', state: 'open', forMs: expect.any(Number) }],
    })
    rest()
    expect(state()).toMatchObject({
      upstream: 'a',
      state: 'half-open',
      targets: [{ model: 'real', state: 'half-open' }],
    })
    // The trial call fails.
    await chat()
    expect(kinds(notices)).toEqual(['circuit-opened', 'circuit-half-open', 'circuit-opened'])
    rest()
    await chat()
    rest()
    await chat()
    await chat()
    expect(kinds(notices)).toEqual([
      'circuit-opened',
      'circuit-half-open',
      'circuit-opened',
      'circuit-half-open',
      'circuit-opened',
      'circuit-half-open',
      'circuit-closed',
    ])
    expect(notices.at(-1)).toEqual({ kind: 'circuit-closed', ...target })
    expect(state()).toMatchObject({ upstream: 'a', state: 'closed', targets: [] })
  })

  it('reports the breaker of one caller without its name, and the target stays closed for others', async () => {
    const { gateway, chat, notices } = watched(
      { a: inTurn(failing(500), failing(500), asJson(completion)) },
      { breaker },
    )
    await chat()
    await chat()
    await chat()
    const target = { upstream: 'a', model: 'real', oneCaller: true }
    expect(notices).toEqual([{ kind: 'circuit-opened', ...target, forMs: 60_000 }])
    expect(gateway.status().upstreams[0]).toMatchObject({ upstream: 'a', state: 'closed', targets: [] })
    rest()
    await chat()
    await chat()
    expect(notices.slice(1)).toEqual([
      { kind: 'circuit-half-open', ...target },
      { kind: 'circuit-closed', ...target },
    ])
    expect(JSON.stringify(notices)).not.toContain('me"')
  })

  it('reports the breaker for all callers once several are affected', async () => {
    const { chat, notices } = watched({ a: failing(500) }, { breaker })
    await chat()
    await chat({}, { authorization: 'Bearer other' })
    await chat()
    expect(notices).toEqual([{ kind: 'circuit-opened', upstream: 'a', model: 'real', forMs: 60_000 }])
  })

  it('reports nothing without a breaker', async () => {
    const { gateway, chat, notices } = watched({ a: refused }, { breaker: false })
    for (let call = 0; call < 10; call++) await chat()
    expect(notices).toEqual([])
    expect(gateway.status().upstreams.every(({ state }) => state === 'closed')).toBe(true)
  })
})

describe('cooldowns', () => {
  it('reports a limit that the upstream states once while it lasts', async () => {
    const { gateway, chat, notices } = watched({ a: failing(429, { 'retry-after': '30' }) })
    await Promise.all([chat(), chat()])
    await chat()
    expect(notices).toEqual([
      { kind: 'cooldown-started', upstream: 'a', model: 'real', forMs: 30_000, error: 'rate_limited' },
    ])
    expect(gateway.status().upstreams[0]).toMatchObject({
      upstream: 'a',
      state: 'cooldown',
      targets: [{ model: 'real', state: 'cooldown', forMs: expect.any(Number) }],
    })
  })

  it.each([
    [429, { 'retry-after': '30' }, 30_000],
    [429, {}, undefined],
    [500, {}, undefined],
  ] as const)('is recorded with the attempt that caused it: %i %j', async (status, headers, cooldownMs) => {
    const { chat, finished } = watched({ a: failing(status, headers) })
    await chat()
    expect(finished[0]?.attempts.map((attempt) => attempt.cooldownMs)).toEqual([cooldownMs])
  })

  it('reports each key by its index, never by its value', async () => {
    const upstreams = { a: openai({ apiKey: [`${canary}-0`, `${canary}-1`], baseURL: 'http://a/v1' }) }
    const models = { real: 'a' }
    const { chat, notices, finished } = watched({ a: failing(401) }, {
      upstreams,
      models,
      retry: { attempts: 3 },
      logger: false,
    } as Partial<GatewayConfig>)
    await chat()
    expect(notices).toMatchObject([
      { kind: 'cooldown-started', upstream: 'a', key: 0, error: 'upstream_auth', oneCaller: true },
      { kind: 'cooldown-started', upstream: 'a', key: 1, error: 'upstream_auth', oneCaller: true },
    ])
    expect(notices.every((notice) => !('model' in notice))).toBe(true)
    expect(finished[0]?.attempts.map(({ cooldownMs }) => cooldownMs)).toEqual([60_000, 60_000])
    expect(JSON.stringify(notices)).not.toContain(canary)
  })
})

describe('configuration and shutdown', () => {
  it('reports a new configuration to its own plugins, and changes of kept upstreams to them too', async () => {
    const { gateway, chat, notices } = watched({ a: refused }, { breaker: { failures: 2, restMs: 60_000 } })
    await chat()
    const later: GatewayNotice[] = []
    const upstreams = {
      a: openai({ apiKey: 'sk-canary-aaaaaaaa', baseURL: 'http://a/v1' }),
      z: anthropic({ apiKey: 'k' }),
    }
    const next = {
      auth: () => ({ id: 'me' }),
      upstreams,
      models: { real: 'a' } as const,
      breaker: { failures: 2, restMs: 60_000 },
      retry: { attempts: 1 },
      logger: false,
      plugins: [{ name: 'later', onNotice: (notice: GatewayNotice) => void later.push(notice) }],
      fetch: (() => {
        throw Object.assign(new Error('connect'), { code: 'ECONNREFUSED' })
      }) as typeof fetch,
    } as const
    gateway.reconfigure(next)
    await chat()
    expect(notices).toEqual([])
    expect(later).toEqual([
      { kind: 'reconfigured', upstreams: ['a', 'z'] },
      { kind: 'circuit-opened', upstream: 'a', model: 'real', forMs: 60_000 },
    ])
    expect(gateway.status().upstreams).toMatchObject([
      { upstream: 'a', state: 'open' },
      { upstream: 'z', state: 'closed' },
    ])
    // A refused configuration changes nothing.
    expect(() => gateway.reconfigure({ ...next, models: {} })).toThrow('models')
    expect(later).toHaveLength(2)
    // The state of a model that matches a pattern is known although the new router has not seen it.
    gateway.reconfigure({ ...next, models: { 're*': 'a' } })
    expect(gateway.status().upstreams).toMatchObject([{ upstream: 'a', state: 'open' }, {}])
  })

  it('reports the start of a shutdown once, with the number of active calls', async () => {
    const { gateway, chat, notices } = watched({ a: asStream(sse, 1) })
    expect(gateway.status()).toMatchObject({ draining: false, activeCalls: 0 })
    const responses = await Promise.all([chat({ stream: true }), chat({ stream: true })])
    expect(gateway.status().activeCalls).toBe(2)
    const closed = [gateway.close(), gateway.close()]
    expect(gateway.status()).toMatchObject({ draining: true, activeCalls: 2 })
    await Promise.all(responses.map((response) => response.text()))
    await Promise.all(closed)
    expect(notices).toEqual([{ kind: 'drain-started', activeCalls: 2 }])
    expect(gateway.status()).toMatchObject({ draining: true, activeCalls: 0 })
  })

  it('does not count a plugin’s own endpoint as an active call', async () => {
    let seen: number | undefined
    let status = (): number => -1
    const health: Plugin = {
      name: 'health',
      onStart: (host) => {
        status = () => host.status().activeCalls
      },
      routes: [
        {
          method: 'GET',
          path: '/readyz',
          handle: () => {
            seen = status()
            return { status: 200, headers: {}, body: '' }
          },
        },
      ],
    }
    const { gateway } = setUp({}, { plugins: [health] })
    await gateway.fetch('http://gw/readyz')
    expect(seen).toBe(0)
  })
})

it('logs a failure of onNotice once, and the other plugins are notified', async () => {
  const notices: GatewayNotice[] = []
  const failingPlugins: Plugin[] = [
    {
      name: 'throws',
      onNotice: () => {
        throw new Error('no')
      },
    },
    { name: 'rejects', onNotice: async () => Promise.reject(new Error('no')) },
    { name: 'works', onNotice: (notice) => void notices.push(notice) },
  ]
  const { gateway, logged } = setUp({}, { plugins: failingPlugins })
  const response = await gateway.fetch('http://gw/v1/none')
  await Promise.resolve()
  expect(response.status).toBe(404)
  expect(notices).toHaveLength(1)
  expect(logged).toEqual([
    ["modelgate: onNotice of plugin 'throws' failed", new Error('no')],
    ["modelgate: onNotice of plugin 'rejects' failed", new Error('no')],
  ])
})

it('names the connection failure of each attempt', async () => {
  const { chat, finished } = watched({ a: refused, b: asJson(completion) }, { retry: {} })
  await chat({ model: 'both' })
  const attempts = finished[0]?.attempts ?? []
  expect(attempts[0]).toMatchObject({
    upstream: 'a',
    error: 'upstream_unreachable',
    cause: { code: 'ECONNREFUSED', address: '10.0.0.1:443' },
  })
  expect(attempts.at(-1)).toMatchObject({ upstream: 'b', status: 200 })
  expect(attempts.at(-1)).not.toHaveProperty('cause')
})
