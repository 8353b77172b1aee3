import { describe, expect, it } from 'vitest'
import type { FinishEvent, GatewayConfig } from './config.ts'
import { createGateway } from './gateway.ts'
import { anthropic } from './upstreams/anthropic.ts'
import { openai } from './upstreams/openai.ts'

const completion = {
  id: 'chatcmpl-1',
  object: 'chat.completion',
  created: 1,
  model: 'real',
  choices: [{ index: 0, message: { role: 'assistant', content: 'hello' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 3, completion_tokens: 1, total_tokens: 4 },
}
const message = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'claude',
  content: [{ type: 'text', text: 'hello' }],
  stop_reason: 'end_turn',
  stop_sequence: null,
  usage: { input_tokens: 3, output_tokens: 1 },
}
const chunk = (delta: object, finish: string | null = null) =>
  `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'real', choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`
const sse = [
  chunk({ role: 'assistant', content: '' }),
  chunk({ content: 'hel' }),
  chunk({ content: 'lo' }),
  chunk({}, 'stop'),
  'data: [DONE]\n\n',
]

interface Seen {
  url: string
  headers: Headers
  body: string
}
type Answer = (seen: Seen, signal: AbortSignal | undefined) => Response | Promise<Response>
const asJson =
  (body: unknown, init?: ResponseInit): Answer =>
  () =>
    new Response(JSON.stringify(body), { headers: { 'content-type': 'application/json' }, ...init })
const asStream =
  (parts: readonly string[], pauseMs = 0): Answer =>
  () => {
    const bytes = parts.map((part) => new TextEncoder().encode(part))
    const body = new ReadableStream<Uint8Array>({
      async pull(controller) {
        const next = bytes.shift()
        if (pauseMs > 0) await new Promise((resolve) => setTimeout(resolve, pauseMs))
        if (next === undefined) controller.close()
        else controller.enqueue(next)
      },
    })
    return new Response(body, { headers: { 'content-type': 'text/event-stream' } })
  }

/** A gateway over canned upstreams, told apart by host: `http://a`, `http://b` (chat) and `http://m` (messages). */
function setUp(answers: { [host: string]: Answer }, config: Partial<GatewayConfig> = {}) {
  const seen: Seen[] = []
  const finished: FinishEvent[] = []
  const logged: unknown[] = []
  const gateway = createGateway({
    auth: (token) => (token === 'good' ? { id: 'me' } : null),
    upstreams: {
      a: openai({ apiKey: 'sk-canary-aaaaaaaa', baseURL: 'http://a/v1' }),
      b: openai({ apiKey: 'sk-canary-bbbbbbbb', baseURL: 'http://b/v1' }),
      m: anthropic({ apiKey: 'sk-canary-mmmmmmmm', baseURL: 'http://m' }),
    },
    models: { real: 'a', alias: { upstream: 'a', model: 'real' }, both: ['a', 'b'], 'claude*': 'm', mixed: ['m', 'a'] },
    plugins: [{ name: 'test', onFinish: (event) => void finished.push(event) }],
    logger: { warn: (...all) => logged.push(all), error: (...all) => logged.push(all) },
    fetch: (async (input: string, init: RequestInit) => {
      const call: Seen = {
        url: input,
        headers: new Headers(init.headers),
        body: typeof init.body === 'string' ? init.body : new TextDecoder().decode(init.body as Uint8Array),
      }
      seen.push(call)
      const answer = answers[new URL(input).host]
      if (answer === undefined) throw new TypeError('fetch failed: getaddrinfo ENOTFOUND internal-host')
      return answer(call, init.signal ?? undefined)
    }) as typeof fetch,
    ...config,
  } as GatewayConfig)
  const post = (path: string, body: unknown, headers: Record<string, string> = {}, init: RequestInit = {}) =>
    gateway.fetch(
      new Request(`http://gw${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: 'Bearer good', ...headers },
        body: typeof body === 'string' ? body : JSON.stringify(body),
        ...init,
      }),
    )
  const chat = (extra: object = {}, headers = {}, init: RequestInit = {}) =>
    post(
      '/v1/chat/completions',
      { model: 'real', messages: [{ role: 'user', content: 'hi' }], ...extra },
      headers,
      init,
    )
  const messages = (extra: object = {}, headers = {}) =>
    post(
      '/v1/messages',
      { model: 'claude-x', max_tokens: 10, messages: [{ role: 'user', content: 'hi' }], ...extra },
      { 'anthropic-version': '2023-06-01', ...headers },
    )
  return { gateway, seen, finished, logged, post, chat, messages }
}

describe('the wire lane', () => {
  it('passes request and answer byte for byte', async () => {
    const odd = '{ "id":"x", "big":12345678901234567890, "choices":[], "usage":null }'
    const { post, seen } = setUp({ a: () => new Response(odd) })
    const body =
      '{\n "model": "real", "messages": [{"role":"user","content":"h\\u00ef"}], "invented": 12345678901234567890 }'
    const reply = await post('/v1/chat/completions', body)
    expect(await reply.text()).toBe(odd)
    expect(seen[0]?.body).toBe(body)
    expect(seen[0]?.url).toBe('http://a/v1/chat/completions')
  })

  it('changes the model’s name and nothing else', async () => {
    const { post, seen } = setUp({ a: asJson(completion) })
    const body = '{"messages":[{"role":"user","content":"\\"model\\": \\"alias\\""}], "model":\t"alias" }'
    await post('/v1/chat/completions', body)
    expect(seen[0]?.body).toBe(body.replace('\t"alias"', '\t"real"'))
  })

  it('never sends the client’s token upstream, nor the upstream’s key to the client', async () => {
    const { chat, seen } = setUp({ a: asJson(completion) })
    const reply = await chat({}, { 'x-api-key': 'good', cookie: 'c=1', 'openai-organization': 'o' })
    expect(JSON.stringify([...reply.headers])).not.toContain('canary')
    expect(Object.fromEntries(seen[0]?.headers ?? [])).toEqual({
      accept: 'application/json',
      authorization: 'Bearer sk-canary-aaaaaaaa',
      'content-type': 'application/json',
    })
  })

  it('asks for usage the client did not ask for, and withholds it', async () => {
    const usage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 }
    const noted = sse.slice(0, -1).map((event) => event.replace('}\n\n', ',"usage":null}\n\n'))
    const extra = `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'real', choices: [], usage })}\n\n`
    const { chat, seen, finished } = setUp({ a: asStream([...noted, extra, 'data: [DONE]\n\n']) })
    const reply = await chat({ stream: true })
    expect(await reply.text()).toBe(sse.join(''))
    expect(JSON.parse(seen[0]?.body ?? '')).toMatchObject({ stream_options: { include_usage: true } })
    expect(finished[0]).toMatchObject({
      lane: 'wire',
      outcome: 'finished',
      usage: { input: { total: 3 }, output: { total: 2 } },
    })
  })

  it('is left when the body holds another vendor’s seal', async () => {
    const { messages, seen, finished } = setUp({ m: asJson(message) })
    const thinking = { type: 'thinking', thinking: 'hm', signature: 'mgs1.chat.' }
    await messages({
      messages: [
        { role: 'user', content: 'a' },
        { role: 'assistant', content: [thinking, { type: 'text', text: 'b' }] },
        { role: 'user', content: 'c' },
      ],
    })
    expect(seen[0]?.body).not.toContain('mgs1.')
    expect(finished[0]).toMatchObject({ lane: 'translate', losses: [{ path: '/messages/1/content/0' }] })
  })
})

describe('targets', () => {
  const failures: [string, Answer | undefined][] = [
    ['no connection', undefined],
    ['429', asJson({ error: { message: 'slow' } }, { status: 429 })],
    ['500', asJson({ error: { message: 'oops' } }, { status: 500 })],
    ['401', asJson({ error: { message: 'bad key' } }, { status: 401 })],
    ['a redirect', () => new Response(null, { status: 302, headers: { location: 'http://evil' } })],
    ['HTML under 200', () => new Response('<html>', { headers: { 'content-type': 'text/html' } })],
    ['null under 200', asJson(null)],
    ['an empty body', () => new Response('')],
  ]
  it.each(failures)('%s: the next target answers', async (_, first) => {
    const { chat, seen, finished } = setUp({ ...(first === undefined ? {} : { a: first }), b: asJson(completion) })
    const reply = await chat({ model: 'both' })
    expect(reply.status).toBe(200)
    expect(seen.map(({ url }) => new URL(url).host)).toEqual(['a', 'b'])
    expect(finished).toHaveLength(1)
    expect(finished[0]).toMatchObject({
      upstream: 'b',
      status: 200,
      attempts: [{ upstream: 'a' }, { upstream: 'b', status: 200 }],
    })
  })

  it('a request at fault is not tried elsewhere', async () => {
    const { chat, seen } = setUp({
      a: asJson({ error: { message: 'bad', type: 'invalid_request_error', param: 'x', code: null } }, { status: 400 }),
      b: asJson(completion),
    })
    const reply = await chat({ model: 'both' })
    expect(reply.status).toBe(400)
    expect(await reply.json()).toEqual({
      error: { message: 'bad', type: 'invalid_request_error', param: 'x', code: null },
    })
    expect(seen).toHaveLength(1)
  })

  it('an error event before the first real event counts as a failure, and later ones do not', async () => {
    const { chat } = setUp({
      a: asStream(['data: {"error":{"message":"busy","code":"overloaded"}}\n\n']),
      b: asStream(sse),
    })
    expect(await (await chat({ model: 'both', stream: true, stream_options: { include_usage: true } })).text()).toBe(
      sse.join(''),
    )
    const late = setUp({
      a: asStream([...sse.slice(0, 2), 'data: {"error":{"message":"busy"}}\n\n'], 5),
      b: asStream(sse),
    })
    const text = await (await late.chat({ model: 'both', stream: true })).text()
    expect(text).toContain('"busy"')
    expect(text).not.toContain('[DONE]')
    expect(late.seen).toHaveLength(1)
    expect(late.finished).toMatchObject([{ outcome: 'failed' }])
  })

  it('the last failure is told, without hosts', async () => {
    const { chat } = setUp({})
    const reply = await chat({ model: 'both' })
    expect(reply.status).toBe(502)
    const text = await reply.text()
    expect(text).not.toMatch(/internal-host|ENOTFOUND|canary|http:/)
    expect(JSON.parse(text).error).toMatchObject({ message: expect.any(String), param: null })
  })

  it('an upstream that refuses our key is our fault: 502, logged, no retry', async () => {
    const { messages, logged } = setUp({
      m: asJson(
        { type: 'error', error: { type: 'authentication_error', message: 'invalid x-api-key' } },
        { status: 401 },
      ),
    })
    const reply = await messages()
    expect(reply.status).toBe(502)
    expect(reply.headers.get('x-should-retry')).toBe('false')
    expect(await reply.json()).toMatchObject({ type: 'error', error: { type: 'api_error' } })
    expect(JSON.stringify(logged)).toContain("'m'")
  })
})

describe('losses', () => {
  it('are told in a header and to onFinish', async () => {
    const { chat, finished } = setUp({ m: asJson(message) })
    const reply = await chat({ model: 'claude-x', seed: 7, max_tokens: 10 })
    expect(reply.headers.get('modelgate-loss')).toContain('"/seed";kind=unsupported;severity=warn')
    expect(finished[0]?.losses).toContainEqual(expect.objectContaining({ path: '/seed', severity: 'warn' }))
    expect(await reply.json()).toMatchObject({
      object: 'chat.completion',
      choices: [{ message: { content: 'hello' } }],
    })
  })

  it("onLoss 'reject' answers 400 and calls nobody, but takes a target that loses nothing", async () => {
    const { chat, seen } = setUp({ m: asJson(message), a: asJson(completion) }, { onLoss: 'reject' })
    const reply = await chat({ model: 'claude-x', seed: 7, max_tokens: 10 })
    expect(reply.status).toBe(400)
    expect(await reply.json()).toMatchObject({ error: { param: 'seed', code: 'unsupported_parameter' } })
    expect(seen).toHaveLength(0)
    expect((await chat({ model: 'mixed', seed: 7 })).status).toBe(200)
    expect(new URL(seen[0]?.url ?? '').host).toBe('a')
  })

  it("onLoss 'ignore' sends no header; onFinish still knows", async () => {
    const { chat, finished } = setUp({ m: asJson(message) }, { onLoss: 'ignore' })
    const reply = await chat({ model: 'claude-x', seed: 7, max_tokens: 10 })
    expect(reply.headers.get('modelgate-loss')).toBeNull()
    expect(finished[0]?.losses).toContainEqual(expect.objectContaining({ path: '/seed' }))
  })
})

describe('onFinish', () => {
  it('an observer that throws harms nobody', async () => {
    const bad = { name: 'bad', onFinish: () => Promise.reject(new Error('x')) }
    const worse = {
      name: 'worse',
      onFinish: () => {
        throw new Error('y')
      },
    }
    // Query builders return what is no promise, and starts when it is awaited.
    const lazy = {
      name: 'lazy',
      onFinish: () => {
        const started = (_: unknown, reject: (error: Error) => void): void => reject(new Error('z'))
        return Object.defineProperty({}, 'then', { value: started }) as Promise<void>
      },
    }
    const { chat, logged } = setUp({ a: asJson(completion) }, { plugins: [bad, worse, lazy] })
    expect((await chat()).status).toBe(200)
    await new Promise((resolve) => setTimeout(resolve))
    for (const { name } of [bad, worse, lazy]) expect(JSON.stringify(logged)).toContain(`'${name}'`)
  })

  it('is called once when the client leaves in the middle, and the upstream is aborted', async () => {
    let upstreamSignal: AbortSignal | undefined
    const { chat, finished } = setUp({
      a: (_, signal) => {
        upstreamSignal = signal
        return new Response(
          new ReadableStream({
            start: (controller) => controller.enqueue(new TextEncoder().encode(sse.slice(0, 2).join(''))),
          }),
          {
            headers: { 'content-type': 'text/event-stream' },
          },
        )
      },
    })
    const reply = await chat({ stream: true, stream_options: { include_usage: true } })
    const reader = reply.body?.getReader()
    await reader?.read()
    await reader?.cancel()
    expect(upstreamSignal?.aborted).toBe(true)
    expect(finished).toMatchObject([{ outcome: 'aborted', status: 200 }])
  })

  it('is called once when the client leaves before the answer', async () => {
    const controller = new AbortController()
    const { chat, finished } = setUp({
      a: (_, signal) =>
        new Promise((_resolve, reject) => signal?.addEventListener('abort', () => reject(signal.reason))),
    })
    const reply = chat({}, {}, { signal: controller.signal })
    await new Promise((resolve) => setTimeout(resolve, 10))
    controller.abort()
    expect((await reply).status).toBe(499)
    expect(finished).toMatchObject([{ outcome: 'aborted' }])
  })
})

describe('limits', () => {
  it.each<[string, string, number, RegExp]>([
    ['a body above the limit', JSON.stringify({ model: 'x'.repeat(5000) }), 413, /larger/],
    ['a deep body', `{"model":"real","messages":${'['.repeat(200)}${']'.repeat(200)}}`, 400, /nests deeper/],
    ['broken JSON', '{"model":', 400, /not valid JSON/],
    ['an empty body', '', 400, /no body/],
    ['an array', '[]', 400, /./],
  ])('%s', async (_, body, status, words) => {
    const { post, seen } = setUp({}, { limits: { bodyBytes: 4000 } })
    for (const [path, dialect] of [
      ['/v1/chat/completions', 'error.message'],
      ['/v1/messages', 'error.type'],
    ] as const) {
      const reply = await post(path, body, { 'anthropic-version': '2023-06-01' })
      expect(reply.status).toBe(status)
      const answer = (await reply.json()) as { error: { message: string } }
      expect(answer.error.message).toMatch(words)
      expect(answer).toHaveProperty(dialect)
    }
    expect(seen).toHaveLength(0)
  })

  it('an upstream that does not begin is given up', async () => {
    const { chat } = setUp(
      {
        a: (_, signal) =>
          new Promise((_resolve, reject) => signal?.addEventListener('abort', () => reject(signal.reason))),
      },
      { limits: { firstByteMs: 20 } },
    )
    const reply = await chat()
    expect(reply.status).toBe(504)
    expect(await reply.json()).toMatchObject({ error: { message: expect.stringContaining('0.02 s') } })
  })

  it('a silent stream is answered after the hold, with heartbeats', async () => {
    const { chat } = setUp(
      {
        a: () =>
          new Response(
            new ReadableStream({
              async start(controller) {
                await new Promise((resolve) => setTimeout(resolve, 150))
                controller.enqueue(new TextEncoder().encode(sse.join('')))
                controller.close()
              },
            }),
            { headers: { 'content-type': 'text/event-stream' } },
          ),
      },
      { limits: { holdMs: 20, heartbeatMs: 40 } },
    )
    const reply = await chat({ stream: true, stream_options: { include_usage: true } })
    expect(reply.headers.get('cache-control')).toBe('no-cache, no-transform')
    const text = await reply.text()
    expect(text.endsWith(sse.join(''))).toBe(true)
    expect(text.length).toBeGreaterThan(sse.join('').length)
  })
})

it('several targets share one hold', async () => {
  const silence = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))
  const { chat } = setUp(
    {
      a: async () => {
        await silence(60)
        return new Response('{}', { status: 500 })
      },
      b: async () => {
        await silence(400)
        return asStream(sse)({} as Seen, undefined)
      },
    },
    { limits: { holdMs: 120 } },
  )
  const startedAt = performance.now()
  const reply = await chat({ model: 'both', stream: true })
  // With a hold of its own, the second target would have let the client wait for 180 ms.
  expect(performance.now() - startedAt).toBeLessThan(175)
  expect(await reply.text()).toContain('[DONE]')
})

describe('close', () => {
  it('lets running calls finish, refuses new ones, then resolves', async () => {
    let answer: ((response: Response) => void) | undefined
    const { chat, gateway } = setUp({
      a: () =>
        new Promise((resolve) => {
          answer = resolve
        }),
    })
    const running = chat()
    await new Promise((resolve) => setTimeout(resolve, 10))
    let closed = false
    const closing = gateway.close().then(() => {
      closed = true
    })
    expect((await chat()).status).toBe(503)
    expect(closed).toBe(false)
    answer?.(new Response(JSON.stringify(completion)))
    expect((await running).status).toBe(200)
    await closing
  })

  it('after the grace, streams end with an error in their dialect', async () => {
    const { chat, gateway } = setUp({
      a: () =>
        new Response(
          new ReadableStream({ start: (controller) => controller.enqueue(new TextEncoder().encode(sse[1])) }),
          { headers: { 'content-type': 'text/event-stream' } },
        ),
    })
    const reply = await chat({ stream: true, stream_options: { include_usage: true } })
    const text = reply.text()
    await gateway.close({ graceMs: 20 })
    expect(await text).toMatch(/data: \{"error":.*shutting down/)
  })
})

describe('configuration', () => {
  const good = { auth: 'none', upstreams: { a: openai() }, models: { m: 'a' } } as const
  it.each<[object, RegExp]>([
    [{ auth: undefined }, /auth is required/],
    [{ upstreams: {} }, /upstreams is empty/],
    [{ upstreams: { a: {} } }, /upstreams\.a is no upstream/],
    [{ models: {} }, /models is empty/],
    [{ models: { m: 'b' } }, /names the upstream 'b'/],
    [{ models: { 'a*b': 'a' } }, /only stand at the end/],
    [{ models: { m: [] } }, /empty list/],
    [{ onLoss: 'shout' }, /onLoss is 'shout'/],
    [{ limits: { bodybytes: 1 } }, /limits\.bodybytes is unknown/],
    [{ limits: { bodyBytes: 0 } }, /greater than 0/],
    [{ basePath: 'ai/' }, /basePath/],
  ])('%o is refused with the fix', (change, words) => {
    expect(() => createGateway({ ...good, ...change } as GatewayConfig)).toThrow(words)
  })

  it('a misspelled upstream in models does not compile', () => {
    const upstreams = { openai: openai() }
    // @ts-expect-error 'opnai' is not among the upstreams
    expect(() => createGateway({ auth: 'none', upstreams, models: { m: 'opnai' } })).toThrow()
    // @ts-expect-error likewise in a list
    expect(() => createGateway({ auth: 'none', upstreams, models: { m: [{ upstream: 'opnai' }] } })).toThrow()
  })

  it('basePath is stripped before matching', async () => {
    const gateway = createGateway({ ...good, basePath: '/ai' })
    expect(gateway.match('POST', '/ai/v1/messages')?.route.format).toBe('messages')
    expect(gateway.match('POST', '/v1/messages')).toBeNull()
    expect(gateway.match('POST', '/aix/v1/messages')).toBeNull()
  })

  it('the gateway is frozen', () => expect(Object.isFrozen(createGateway(good))).toBe(true))
})

describe('upgrades', () => {
  it.each([
    ['/v1/responses', 426],
    ['/v1/v1/responses', 426],
    ['/v1/realtime', 501],
    ['/elsewhere', 404],
  ])('%s is answered %i', async (path, status) => {
    const { gateway } = setUp({})
    expect((await gateway.upgrade(new Request(`http://gw${path}`))).status).toBe(status)
  })
})
