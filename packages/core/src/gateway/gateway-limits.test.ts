import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { GatewayConfig } from '../config/config.ts'
import { openai } from '../upstreams/openai.ts'
import { adapterFunctions } from './adapter.ts'
import { type Answer, asJson, asStream, completion, type Seen, setUp, sse } from './create-gateway.test-support.ts'
import { createGateway } from './create-gateway.ts'

describe('limits', () => {
  it.each<[string, string, number, RegExp]>([
    ['a body above the size limit', JSON.stringify({ model: 'x'.repeat(5000) }), 413, /larger/],
    ['a deeply nested body', `{"model":"real","messages":${'['.repeat(200)}${']'.repeat(200)}}`, 400, /nested deeper/],
    ['invalid JSON', '{"model":', 400, /not valid JSON/],
    ['an empty body', '', 400, /no body/],
    ['an array as the body', '[]', 400, /./],
  ])('rejects %s', async (_, body, status, words) => {
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

  it('rejects a short body with too many values', async () => {
    const { post, seen } = setUp({}, { limits: { values: 20 } })
    const body = `{"model":"real","messages":[${'{},'.repeat(20)}{}]}`
    const reply = await post('/v1/chat/completions', body)
    expect([reply.status, await reply.text()]).toEqual([400, expect.stringContaining('more than 20 values')])
    expect(seen).toHaveLength(0)
  })

  it('returns 504 when the upstream sends no first byte in time', async () => {
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

  it('starts the response of a silent stream after the hold and sends heartbeats', async () => {
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

describe('a response that the client does not read', () => {
  beforeEach(() => void vi.useFakeTimers())
  afterEach(() => void vi.useRealTimers())

  const endless = (type: string) => {
    let isClosed = false
    const answer: Answer = () =>
      new Response(
        new ReadableStream<Uint8Array>({
          pull: (controller) => controller.enqueue(new TextEncoder().encode(sse[0])),
          cancel() {
            isClosed = true
          },
        }),
        { headers: { 'content-type': type } },
      )
    return { answer, isClosed: () => isClosed }
  }
  const speech = { model: 'real', input: 'hi', voice: 'alloy' }

  it.each([
    ['clientStallMs', { clientStallMs: 5000 }, { outcome: 'aborted', error: { info: { code: 'client_stalled' } } }],
    ['totalMs', { totalMs: 5000 }, { outcome: 'failed', error: { info: { kind: 'upstream_total_timeout' } } }],
    ['clientStallMs of 300 s by default', {}, { outcome: 'aborted', error: { info: { code: 'client_stalled' } } }],
  ])('is ended by %s, both as a stream and as bytes', async (_, limits, ending) => {
    for (const isStream of [true, false]) {
      const { answer, isClosed } = endless(isStream ? 'text/event-stream' : 'audio/mpeg')
      const { chat, post, finished } = setUp({ a: answer }, { limits })
      const reply = isStream ? await chat({ stream: true }) : await post('/v1/audio/speech', speech)
      expect(reply.status).toBe(200)
      const limitMs = Object.values(limits)[0] ?? 300_000
      await vi.advanceTimersByTimeAsync(limitMs - 1000)
      expect([finished.length, isClosed()]).toEqual([0, false])
      await vi.advanceTimersByTimeAsync(1001)
      expect(finished).toMatchObject([ending])
      expect(isClosed()).toBe(true)
    }
  })

  it.each([true, false])('fails for a client that resumes reading (stream: %s)', async (isStream) => {
    const { answer } = endless(isStream ? 'text/event-stream' : 'audio/mpeg')
    const { chat, post } = setUp({ a: answer }, { limits: { clientStallMs: 5000 } })
    const reply = isStream ? await chat({ stream: true }) : await post('/v1/audio/speech', speech)
    const reader = (reply.body as ReadableStream<Uint8Array>).getReader()
    await reader.read()
    await vi.advanceTimersByTimeAsync(5001)
    await expect(reader.read()).rejects.toThrow('read no byte of its response for 5 s')
    expect(vi.getTimerCount()).toBe(0)
  })
})

it.each([
  ['an empty body', '', 'text/event-stream'],
  ['a stream of comments', ': one\n\n: two\n\n', 'text/event-stream'],
  ['an HTML page', '<html><h1>Bad Gateway</h1></html>', 'text/event-stream'],
  ['an HTML page without a content type', '<html><h1>Bad Gateway</h1></html>', ''],
])(
  '%s instead of a stream is reported as a bad upstream response in pass-through and translation',
  async (_, body, type) => {
    const answer: Answer = () =>
      new Response(new TextEncoder().encode(body), { headers: type === '' ? {} : { 'content-type': type } })
    const { post, chat, finished } = setUp({ a: answer, m: answer }, { retry: false, breaker: false })
    const translated = { model: 'claude-x', stream: true, messages: [{ role: 'user', content: 'hi' }] }
    for (const reply of [await chat({ stream: true }), await post('/v1/chat/completions', translated)]) {
      expect(reply.status).toBe(502)
      expect(await reply.json()).toMatchObject({ error: { code: 'upstream_bad_response' } })
    }
    expect(finished.map(({ outcome }) => outcome)).toEqual(['failed', 'failed'])
  },
)

it('shares one hold between several targets', async () => {
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
    { limits: { holdMs: 120 }, retry: { attempts: 2 } },
  )
  const startedAt = performance.now()
  const reply = await chat({ model: 'both', stream: true })
  // A separate hold for the second target would make the client wait for 180 ms.
  expect(performance.now() - startedAt).toBeLessThan(175)
  expect(await reply.text()).toContain('[DONE]')
})

describe('close', () => {
  it('completes running calls, rejects new ones and then resolves', async () => {
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

  it('ends streams with an error in their format after the grace period', async () => {
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

describe('configuration checks', () => {
  const good = { auth: 'none', upstreams: { a: openai() }, models: { m: 'a' } } as const
  it.each<[object, RegExp]>([
    [{ auth: undefined }, /auth is required/],
    [{ upstreams: {} }, /upstreams is empty/],
    [{ upstreams: { a: {} } }, /upstreams\.a is not an upstream/],
    [{ models: {} }, /models is empty/],
    [{ models: { m: 'b' } }, /names the unknown upstream 'b'/],
    [{ models: { 'a*b': { upstream: 'a', model: '*-*' } } }, /more '\*'/],
    [{ models: { m: [] } }, /empty list/],
    [{ onLoss: 'shout' }, /onLoss is 'shout'/],
    [{ limits: { bodybytes: 1 } }, /limits\.bodybytes is unknown/],
    [{ limits: { bodyBytes: 0 } }, /greater than 0/],
    [{ basePath: 'ai/' }, /basePath/],
  ])('rejects %o with a message that contains the fix', (change, words) => {
    expect(() => createGateway({ ...good, ...change } as GatewayConfig)).toThrow(words)
  })

  it('rejects a misspelled upstream in models at compile time', () => {
    const upstreams = { openai: openai() }
    // @ts-expect-error 'opnai' is not among the upstreams
    expect(() => createGateway({ auth: 'none', upstreams, models: { m: 'opnai' } })).toThrow()
    // @ts-expect-error likewise in a list
    expect(() => createGateway({ auth: 'none', upstreams, models: { m: [{ upstream: 'opnai' }] } })).toThrow()
  })

  it('strips basePath before matching routes', async () => {
    const gateway = createGateway({ ...good, basePath: '/ai' })
    expect(adapterFunctions(gateway).match('POST', '/ai/v1/messages')?.route.format).toBe('messages')
    expect(adapterFunctions(gateway).match('POST', '/v1/messages')).toBeNull()
    expect(adapterFunctions(gateway).match('POST', '/aix/v1/messages')).toBeNull()
  })

  it('returns a frozen gateway', () => expect(Object.isFrozen(createGateway(good))).toBe(true))
})

describe('WebSocket upgrades', () => {
  it.each([
    ['/v1/responses', 426],
    ['/v1/v1/responses', 426],
    ['/v1/realtime', 501],
    ['/elsewhere', 404],
  ])('to %s return status %i', async (path, status) => {
    const { gateway } = setUp({})
    expect((await gateway.upgrade(new Request(`http://gw${path}`))).status).toBe(status)
  })
})

describe('upstream errors with status 200', () => {
  const quota = {
    error: {
      message: 'no money at http://a/v1 for sk-canary-aaaaaaaa',
      code: 'insufficient_quota',
      type: 'x',
      param: null,
    },
  }

  it.each([false, true])('are returned with the status of the error (stream: %s)', async (stream) => {
    const { chat, finished } = setUp({ a: asJson(quota) })
    const reply = await chat({ stream })
    expect(reply.status).toBe(429)
    expect(reply.headers.get('x-should-retry')).toBe('false')
    const text = await reply.text()
    expect(text).toContain('insufficient_quota')
    expect(text).not.toMatch(/canary|http:/)
    expect(finished).toMatchObject([{ outcome: 'failed', status: 429 }])
  })

  it('fall back to the next target', async () => {
    const { chat } = setUp({ a: asJson(quota), b: asJson(completion) })
    expect((await chat({ model: 'both' })).status).toBe(200)
  })

  it('set x-should-retry to false after several targets were tried', async () => {
    const { chat, seen } = setUp(
      { a: asJson({}, { status: 503 }), b: asJson({}, { status: 500 }) },
      { retry: { attempts: 2 } },
    )
    const reply = await chat({ model: 'both' })
    expect(seen).toHaveLength(2)
    expect(reply.headers.get('x-should-retry')).toBe('false')
  })
})

describe('an upstream that stalls', () => {
  const stalling =
    (start: string, init?: ResponseInit): Answer =>
    (_, signal) => {
      const body = new ReadableStream({
        start(controller) {
          controller.enqueue(new TextEncoder().encode(start))
          signal?.addEventListener('abort', () => controller.error(signal.reason))
        },
      })
      return new Response(body, { headers: { 'content-type': 'application/json' }, ...init })
    }

  it('causes a 502 after idleMs in the middle of a JSON response', async () => {
    const { chat } = setUp({ a: stalling('{"id":') }, { limits: { idleMs: 30 } })
    const reply = await chat()
    expect(reply.status).toBe(502)
    expect(await reply.json()).toMatchObject({ error: { message: expect.stringContaining('stopped sending data') } })
  })

  it('is limited by firstByteMs before the headers of a stream, even after the hold', async () => {
    const never: Answer = (_, signal) =>
      new Promise((_resolve, reject) => signal?.addEventListener('abort', () => reject(signal.reason)))
    const { chat } = setUp({ a: never }, { limits: { holdMs: 10, idleMs: 20, heartbeatMs: 20, firstByteMs: 150 } })
    const text = await (await chat({ stream: true, stream_options: { include_usage: true } })).text()
    expect(text).toContain('did not start its response within 0.15 s')
    expect(text).not.toContain('[DONE]')
  })
})

describe('a model name that occurs twice', () => {
  it.each([
    ['{"model":"real","MODEL":"other"', 'MODEL'],
    ['{"mod\\u0065l":"other","model":"real"', 'model'],
    ['{"model":"real","model":"real"', 'model'],
    ['{"model":"real","models":["a"],"models":["b"]', 'models'],
    ['{"model":"real","modelſ":["a"]', 'modelſ'],
  ])('is rejected with 400 without an upstream call: %s…', async (start, param) => {
    const { post, seen } = setUp({ a: asJson(completion) })
    for (const filler of ['', 'x'.repeat(100_000)]) {
      const answer = await post(
        '/v1/chat/completions',
        `${start},"messages":[{"role":"user","content":"hi ${filler}"}]}`,
      )
      expect([answer.status, (await answer.json()).error.param]).toEqual([400, param])
    }
    expect(seen).toEqual([])
  })
})
