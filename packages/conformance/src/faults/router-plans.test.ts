import { anthropic, type RequestTraits, type RoutePlan } from '@modelgate/core'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import {
  advanceClock,
  type Behaviour,
  createWorld,
  type RouterWorld,
  runClockUntil,
  stopClock,
  upstreamNamed,
} from './router-fixture.ts'
import { delayed, failWith, refuseConnection, succeed } from './router-upstreams.ts'

beforeEach(stopClock)
afterEach(() => void vi.useRealTimers())

type Three = 'a' | 'b' | 'c'
const three = { a: succeed, b: succeed, c: succeed }
const planned = (plan: RoutePlan<Three>, behaviours: Record<Three, Behaviour> = three) =>
  createWorld(behaviours, { models: { m: plan } })
const counts = (w: RouterWorld<Three>): Record<string, number> => ({
  a: w.to('a').length,
  b: w.to('b').length,
  c: w.to('c').length,
})
const names = (w: RouterWorld<Three>): string[] => w.calls.map(({ upstream }) => upstream)

describe('routing strategies', () => {
  test('use the first target while it succeeds (order)', async () => {
    const w = planned({ targets: ['b', 'a', 'c'] })
    for (let i = 0; i < 20; i++) await runClockUntil(w.chat())
    expect(counts(w)).toEqual({ a: 0, b: 20, c: 0 })
  })

  test('distribute calls by weight (weighted)', async () => {
    const w = planned({
      targets: [
        { upstream: 'a', weight: 6 },
        { upstream: 'b', weight: 3 },
        { upstream: 'c', weight: 1 },
      ],
    })
    await runClockUntil(Promise.all(Array.from({ length: 2000 }, () => w.chat())))
    const { a = 0, b = 0, c = 0 } = counts(w)
    expect(a + b + c).toBe(2000)
    for (const [got, share] of [
      [a, 0.6],
      [b, 0.3],
      [c, 0.1],
    ] as const)
      expect(Math.abs(got / 2000 - share)).toBeLessThan(0.05)
  })

  test.each([false, true])(
    'use the target with the shortest time to the first event, also after a change (fastest, stream: %s)',
    async (stream) => {
      const w = planned(
        { targets: ['a', 'b', 'c'], strategy: 'fastest' },
        { a: delayed(300, succeed), b: delayed(50, succeed), c: delayed(200, succeed) },
      )
      const ask = async (times: number): Promise<string[]> => {
        const before = w.calls.length
        for (let i = 0; i < times; i++) await runClockUntil(w.chat({ stream }))
        return names(w).slice(before)
      }
      // Every target is measured once.
      expect(new Set(await ask(3))).toEqual(new Set(['a', 'b', 'c']))
      expect(new Set(await ask(20))).toEqual(new Set(['b']))
      w.behave('b', delayed(900, succeed))
      const changed = await ask(30)
      expect(changed.at(-1)).toBe('c')
      expect(changed.indexOf('c')).toBeLessThan(10)
      // A slow target is measured again later.
      w.behave('a', delayed(10, succeed))
      await advanceClock(61_000, 61_000)
      await ask(6)
      expect(new Set(await ask(10))).toEqual(new Set(['a']))
    },
  )

  const sticky = (keys: string[]) =>
    createWorld(three, {
      upstreams: { a: upstreamNamed('a', keys), b: upstreamNamed('b', keys), c: upstreamNamed('c', keys) },
      models: { m: { targets: ['a', 'b', 'c'], strategy: 'sticky' } },
    })
  const place = ({ upstream, headers }: { upstream: string; headers: Headers }): string =>
    `${upstream} ${headers.get('authorization')}`

  test.each<[string, (session: number) => [object, Record<string, string>]]>([
    ['cache key', (session) => [{ prompt_cache_key: `session ${session}` }, {}]],
    ['session header', (session) => [{}, { 'x-session-id': `session ${session}` }]],
    [
      'beginning of the prompt',
      (session) => [
        {
          messages: [
            { role: 'system', content: `You are assistant ${session}.` },
            { role: 'user', content: 'hi' },
            { role: 'assistant', content: 'hello' },
            { role: 'user', content: String(Math.random()) },
          ],
        },
        {},
      ],
    ],
  ])(
    'route calls with the same %s to the same target and key, and distribute different ones (sticky)',
    async (_name, of) => {
      const w = sticky(['key-one', 'key-two'])
      const places = new Map<number, Set<string>>()
      for (let i = 0; i < 240; i++) {
        const session = i % 60
        await runClockUntil(w.chat(...of(session)))
        const seen = places.get(session) ?? new Set()
        places.set(session, seen.add(place(w.calls.at(-1) as RouterWorld<Three>['calls'][number])))
      }
      for (const seen of places.values()) expect(seen.size).toBe(1)
      expect(new Set([...places.values()].map(([only]) => only)).size).toBe(6)
    },
  )

  test('use another target or key only during a cooldown (sticky)', async () => {
    const w = sticky(['key-one', 'key-two'])
    const ask = async (): Promise<string> => {
      const { status } = await runClockUntil(w.chat({ prompt_cache_key: 'mine' }))
      expect(status).toBe(200)
      return place(w.calls.at(-1) as RouterWorld<Three>['calls'][number])
    }
    const own = await ask()
    const upstream = own.split(' ')[0] as Three
    const auth = own.slice(upstream.length + 1)
    w.behave(upstream, (call) =>
      (call.headers.get('authorization') === auth ? failWith(429, { 'retry-after': '20' }) : succeed)(call),
    )
    const otherKey = await ask()
    expect(otherKey).toMatch(new RegExp(`^${upstream} `))
    expect(otherKey).not.toBe(own)
    expect([await ask(), await ask()]).toEqual([otherKey, otherKey])
    w.behave(upstream, refuseConnection)
    let elsewhere = await ask()
    for (let i = 0; i < 6; i++) elsewhere = await ask()
    expect(elsewhere.split(' ')[0]).not.toBe(upstream)
    expect(await ask()).toBe(elsewhere)
    w.behave(upstream, succeed)
    await advanceClock(30_000, 5000)
    expect(await ask()).toBe(own)
    expect(await ask()).toBe(own)
  })
})

describe('route plans', () => {
  test('prefer lower priority numbers and fall back to the others', async () => {
    const w = planned({ targets: [{ upstream: 'a', priority: 2 }, { upstream: 'b' }, { upstream: 'c', priority: 1 }] })
    await runClockUntil(w.chat())
    w.behave('b', failWith(400 + 3))
    w.behave('c', failWith(401))
    await runClockUntil(w.chat())
    expect(names(w)).toEqual(['b', 'b', 'c', 'a'])
  })

  const image = [
    {
      role: 'user',
      content: [
        { type: 'text', text: 'what is it' },
        { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } },
      ],
    },
  ]
  const tools = [{ type: 'function', function: { name: 'f', parameters: { type: 'object', properties: {} } } }]
  test.each<[string, object, string]>([
    ['plain text', {}, 'c'],
    ['an image', { messages: image }, 'a'],
    ['tools', { tools }, 'b'],
    ['an image and tools', { messages: image, tools }, 'a'],
  ])('select targets by their when condition for %s', async (_name, extra, expected) => {
    const w = planned({ targets: [{ upstream: 'a', when: 'images' }, { upstream: 'b', when: ['tools', 'json'] }, 'c'] })
    await runClockUntil(w.chat(extra))
    expect(names(w)).toEqual([expected])
  })

  test('select targets by a predicate on the request', async () => {
    const seenTraits: RequestTraits[] = []
    const long = (request: RequestTraits): boolean => {
      seenTraits.push(request)
      return request.bodyChars > 1000 || request.header('x-tier') === 'gold'
    }
    const w = planned({ targets: [{ upstream: 'a', when: long }, 'b'] })
    await runClockUntil(w.chat())
    await runClockUntil(w.chat({}, { 'x-tier': 'gold' }))
    await runClockUntil(w.chat({ messages: [{ role: 'user', content: 'long '.repeat(500) }] }))
    expect(names(w)).toEqual(['b', 'a', 'a'])
    expect(seenTraits[0]).toMatchObject({
      model: 'm',
      operation: 'generate',
      format: 'chat',
      stream: false,
      body: { model: 'm' },
    })
  })

  test('return 400 without an upstream call if no when condition matches', async () => {
    const w = planned({ targets: [{ upstream: 'a', when: 'audio' }] })
    const answer = await runClockUntil(w.chat())
    expect([answer.status, w.calls.length, w.finished.length]).toEqual([400, 0, 1])
  })

  test('apply defaults and overrides, report overrides, and remove fields set to null', async () => {
    const w = planned({
      targets: [
        {
          upstream: 'a',
          model: 'real',
          defaults: { temperature: 0.2, max_tokens: 100, metadata: { team: 'x', tier: 'y' } },
          overrides: { service_tier: 'flex', user: null, top_p: 0.5 },
        },
      ],
    })
    await runClockUntil(
      w.chat({ temperature: 0.9, top_p: 1, user: 'me', metadata: { team: 'mine' }, future_field: { a: 1 } }),
    )
    expect(w.calls[0]?.body).toMatchObject({
      model: 'real',
      temperature: 0.9,
      max_tokens: 100,
      top_p: 0.5,
      service_tier: 'flex',
      metadata: { team: 'mine', tier: 'y' },
      future_field: { a: 1 },
      messages: [{ role: 'user', content: 'hi' }],
    })
    expect(w.calls[0]?.body).not.toHaveProperty('user')
    const replaced = w.finished[0]?.losses.map(({ path, severity }) => `${path} ${severity}`) ?? []
    expect(replaced).toContain('/top_p note')
    expect(replaced).toContain('/user note')
    expect(replaced.some((path) => path.startsWith('/temperature'))).toBe(false)
  })

  test('prefer lossless targets within one priority', async () => {
    const message: Behaviour = () =>
      Response.json({
        id: 'msg_1',
        type: 'message',
        role: 'assistant',
        model: 'm',
        content: [{ type: 'text', text: 'hello' }],
        stop_reason: 'end_turn',
        stop_sequence: null,
        usage: { input_tokens: 3, output_tokens: 1 },
      })
    const upstreams = { a: anthropic({ apiKey: 'key-of-a', baseURL: 'http://a.test' }), b: upstreamNamed('b') }
    const lossy = { logit_bias: { '50256': -100 }, max_tokens: 10 }
    const ask = async (plan: RoutePlan<'a' | 'b'>, extra: object): Promise<string | undefined> => {
      const w = createWorld({ a: message, b: succeed }, { upstreams, models: { m: plan } })
      expect((await runClockUntil(w.chat(extra))).status).toBe(200)
      return w.calls[0]?.upstream
    }
    expect(await ask({ targets: ['a', 'b'] }, { max_tokens: 10 })).toBe('a')
    expect(await ask({ targets: ['a', 'b'] }, lossy)).toBe('b')
    expect(await ask({ targets: ['a', 'b'], preferLossless: false }, lossy)).toBe('a')
    expect(await ask({ targets: ['a', { upstream: 'b', priority: 1 }] }, lossy)).toBe('a')
  })

  test.each([
    ['exact', 'a exact'],
    ['exactly', 'b exactly'],
    ['org/x/y', 'c their-x/y'],
    ['x-large', 'a big-x'],
    ['anything.at.all', 'b anything.at.all'],
    [`${'*'.repeat(200)}`, `b ${'*'.repeat(200)}`],
  ])('match the model %s by exact name or wildcard', async (model, expected) => {
    const w = createWorld(three, {
      models: {
        exact: 'a',
        '*': 'b',
        'org/*': { upstream: 'c', model: 'their-*' },
        '*-large': { upstream: 'a', model: 'big-*' },
      },
    })
    expect((await runClockUntil(w.chat({ model }))).status).toBe(200)
    expect(`${w.calls[0]?.upstream} ${w.calls[0]?.body.model}`).toBe(expected)
  })
})

describe('routing information in responses', () => {
  test.each([
    ['a response', {}, succeed, 200],
    ['a stream', { stream: true }, succeed, 200],
    ['an error', {}, failWith(400), 400],
    ['an error after all attempts', {}, failWith(500), 502],
  ] as const)('names the target of %s', async (_name, extra, behaviour, status) => {
    const w = createWorld({ a: behaviour }, { models: { m: { upstream: 'a', model: 'real' } } })
    const { headers, ...answer } = await runClockUntil(w.chat(extra))
    expect(answer.status).toBe(status)
    const id = headers.get('modelgate-request-id')
    expect(id).toMatch(/^req_/)
    expect(id).toBe(w.finished[0]?.requestId)
    expect([headers.get('x-request-id'), headers.get('request-id')]).toEqual([id, id])
    expect(headers.get('modelgate-upstream')).toBe('a')
    expect(headers.get('modelgate-model')).toBe('real')
    expect(headers.get('modelgate-attempts')).toBe(String(w.calls.length))
    expect(w.finished[0]?.attempts).toHaveLength(w.calls.length)
  })

  test('passes trace context to every attempt, but no tracestate without its traceparent', async () => {
    const w = createWorld({ a: failWith(500), b: succeed })
    const trace = { traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01', tracestate: 'a=1,b=2' }
    await runClockUntil(w.chat({}, trace))
    expect(w.calls).toHaveLength(3)
    for (const { headers } of w.calls)
      expect({ traceparent: headers.get('traceparent'), tracestate: headers.get('tracestate') }).toEqual(trace)
    await runClockUntil(w.chat({}, { tracestate: 'a=1' }))
    expect(w.calls.at(-1)?.headers.get('tracestate')).toBeNull()
  })
})
