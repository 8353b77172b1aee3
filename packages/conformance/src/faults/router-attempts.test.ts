import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { simpleRequest } from '../base/client-formats.ts'
import { requestTo, upstreamOf } from '../base/gateways.ts'
import { type Format, formats } from '../base/recorded-traffic.ts'
import {
  type Behaviour,
  createWorld,
  printFigure,
  readResponse,
  runClockUntil,
  runPendingWork,
  seededRandom,
  stopClock,
} from './router-fixture.ts'
import {
  eventsOf,
  failWith,
  oneAfterAnother,
  refuseConnection,
  respondWith,
  streaming,
  succeed,
} from './router-upstreams.ts'

beforeEach(stopClock)
afterEach(() => void vi.useRealTimers())

const unbudgeted = { budgetRatio: 10, budgetFloor: 1e6 }

describe('transient failure', () => {
  const passing: readonly [string, Behaviour, number | undefined, string][] = [
    ['408', failWith(408), 408, 'upstream_timeout'],
    ['409', failWith(409), 409, 'conflict'],
    ['429', failWith(429), 429, 'rate_limited'],
    ['500', failWith(500), 500, 'upstream_error'],
    ['502', failWith(502), 502, 'upstream_error'],
    ['503', failWith(503), 503, 'overloaded'],
    ['504', failWith(504), 504, 'upstream_timeout'],
    ['529', failWith(529), 529, 'overloaded'],
    ['a refused connection', refuseConnection, undefined, 'upstream_unreachable'],
    ['broken JSON', respondWith('{"choices": ['), 200, 'upstream_bad_response'],
    ['an empty body', respondWith(''), 200, 'upstream_bad_response'],
    ['null', respondWith('null'), 200, 'upstream_bad_response'],
    ['a web page', respondWith('<html>hi</html>', { 'content-type': 'text/html' }), 200, 'upstream_bad_response'],
  ]

  test.each(passing)('retries the same target once, then the next target: %s', async (_name, bad, status, kind) => {
    const w = createWorld({ a: bad, b: succeed })
    const answer = await runClockUntil(w.chat())
    expect(answer.status).toBe(200)
    const [event] = w.finished
    expect(event?.attempts).toMatchObject([
      { upstream: 'a', model: 'm', reason: 'first', error: kind, ...(status === undefined ? {} : { status }) },
      { upstream: 'a', model: 'm', reason: 'retry', error: kind },
      { upstream: 'b', model: 'm', reason: 'fallback', status: 200 },
    ])
    const [first, again, fallback] = event?.attempts ?? []
    expect(first).not.toHaveProperty('waitedMs')
    expect(again?.waitedMs ?? 0).toBeLessThanOrEqual(500)
    expect((w.calls[1]?.at ?? 0) - (w.calls[0]?.at ?? 0)).toBeCloseTo(again?.waitedMs ?? 0, -1)
    expect(fallback).not.toHaveProperty('error')
    expect(answer.headers.get('modelgate-attempts')).toBe('3')
    expect(answer.headers.get('modelgate-upstream')).toBe('b')
    expect(event).toMatchObject({ upstream: 'b', outcome: 'finished', status: 200 })
  })

  test.each(passing)('succeeds after one retry: %s', async (_name, bad) => {
    const w = createWorld({ a: oneAfterAnother(bad, succeed) })
    expect((await runClockUntil(w.chat())).status).toBe(200)
    expect(w.finished[0]?.attempts.map(({ reason }) => reason)).toEqual(['first', 'retry'])
  })

  test.each(passing)('retries the same target once, then the next target, for a stream: %s', async (_name, bad) => {
    const w = createWorld({ a: oneAfterAnother(bad, succeed) })
    const answer = await runClockUntil(w.chat({ stream: true }))
    expect([answer.status, answer.text.includes('[DONE]')]).toEqual([200, true])
    expect(w.calls).toHaveLength(2)
  })

  test.each(passing)(
    'ends a permanent failure after at most three calls with an error in the dialect, and only overloads ask SDKs to retry: %s',
    async (_name, bad, _status, kind) => {
      const w = createWorld({ a: bad })
      const answer = await runClockUntil(w.chat())
      // A target that refuses two connections in a row is not retried again.
      expect(w.calls).toHaveLength(bad === refuseConnection ? 2 : 3)
      const isOverload = kind === 'rate_limited' || kind === 'overloaded'
      expect(answer.headers.get('x-should-retry')).toBe(isOverload ? null : 'false')
      expect(answer.json).toMatchObject({ error: { message: expect.any(String) } })
      expect(answer.text).not.toMatch(/10\.1\.2\.3|a\.test|key-of-a/)
      expect(w.finished).toHaveLength(1)
    },
  )
})

describe('failure caused by the request', () => {
  test.each([400, 404, 422])('is not retried after status %d', async (status) => {
    const w = createWorld({ a: failWith(status), b: succeed })
    const answer = await runClockUntil(w.chat())
    expect(answer.status).toBeGreaterThanOrEqual(400)
    expect(answer.status).toBeLessThan(500)
    expect(w.calls).toHaveLength(1)
  })

  const tooLong = { code: 'context_length_exceeded', message: 'This model has a context window of 8192 tokens.' }
  test.each([
    ['a body', 413, {}],
    ['a conversation', 400, tooLong],
  ])('is not retried but sent to another target if %s is too large for one', async (_, status, error) => {
    for (const stream of [false, true]) {
      const w = createWorld({ a: failWith(status, {}, error), b: succeed })
      expect((await runClockUntil(w.chat({ stream }))).status).toBe(200)
      expect(w.calls.map(({ upstream }) => upstream)).toEqual(['a', 'b'])
    }
    const alone = createWorld({ a: failWith(status, {}, error) })
    expect((await runClockUntil(alone.chat())).status).toBe(status)
    expect(alone.calls).toHaveLength(1)
  })
})

describe('status table', () => {
  const table: readonly [number, number][] = [
    [400, 400],
    [401, 502],
    [403, 502],
    [404, 404],
    [408, 504],
    [409, 409],
    [413, 413],
    [422, 400],
    [429, 429],
    [500, 502],
    [502, 502],
    [503, 503],
    [504, 504],
    [529, 503],
  ]
  test.each(table)('maps an upstream %d to %d for the client', async (status, expected) => {
    const w = createWorld({ a: failWith(status) })
    const answer = await runClockUntil(w.chat())
    expect(answer.status).toBe(expected)
    if (status === 401 || status === 403) expect(answer.text).toContain('Your token is not the cause')
    if ([429, 503].includes(expected)) expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0)
  })

  test('applies to every upstream status', () =>
    printFigure(15, `${table.length} upstream statuses, each as in the table; 401 and 403 become 502`))

  test.each(['{"choices": [', '', 'null', '[]', '"text"', '<html></html>'])(
    'maps 200 with the body %j to 502 upstream_bad_response',
    async (body) => {
      const w = createWorld({ a: respondWith(body) }, { retry: false })
      const answer = await runClockUntil(w.chat())
      expect(answer.status).toBe(502)
      expect(answer.text).toContain('upstream_bad_response')
      printFigure(14, `200 with ${JSON.stringify(body)}: ${answer.status} upstream_bad_response`)
    },
  )
})

describe('error headers that the SDKs read', () => {
  const upstreams = { a: upstreamOf('chat', 'http://a.test') }
  const simpleRequestTo = (format: Format): Request => requestTo(format, JSON.stringify(simpleRequest(format, false)))
  const of = (behaviour: Behaviour) => createWorld({ a: behaviour }, { upstreams, models: { '*': 'a' } })

  test.each(formats.flatMap((format) => [429, 503, 529].map((status) => ({ format, status }))))(
    'pass a small Retry-After and the call ids for an upstream $status to a $format client',
    async ({ format, status }) => {
      const w = of(failWith(status))
      const answer = await runClockUntil(w.gateway.fetch(simpleRequestTo(format)).then(readResponse))
      expect(answer.status).toBe(status === 429 ? 429 : format === 'messages' ? 529 : 503)
      const seconds = Number(answer.headers.get('retry-after'))
      expect(seconds).toBeGreaterThan(0)
      expect(seconds).toBeLessThanOrEqual(10)
      expect(answer.headers.has('x-should-retry')).toBe(false)
      for (const name of ['x-request-id', 'request-id', 'modelgate-request-id'])
        expect(answer.headers.get(name)).toBe(w.finished[0]?.requestId)
      if (format === 'gemini') expect(answer.text).toContain(`"retryDelay":"${seconds}s"`)
    },
  )

  test.each(formats)('never report rejected upstream credentials to a %s client as its own', async (format) => {
    for (const status of [401, 403]) {
      const answer = await runClockUntil(of(failWith(status)).gateway.fetch(simpleRequestTo(format)).then(readResponse))
      expect(answer.status).toBeGreaterThanOrEqual(500)
      expect(answer.headers.get('x-should-retry')).toBe('false')
      expect(answer.text).not.toMatch(
        /invalid_api_key|authentication_error|UNAUTHENTICATED|API_KEY_INVALID|permission/i,
      )
    }
  })
})

describe('number of attempts', () => {
  test.each([
    [{ retry: false as const }, 1],
    [{ retry: { attempts: 1 } }, 1],
    [{ retry: { attempts: 2 } }, 2],
    [{ retry: { attempts: 5, budgetFloor: 10 }, breaker: false as const }, 5],
    [{ retry: { attempts: 5 }, models: { m: { targets: ['a' as const], retry: { attempts: 2 } } } }, 2],
    [{ retry: false as const, models: { m: { targets: ['a' as const], retry: { attempts: 2 } } } }, 2],
  ])('for %j is %d', async (config, expected) => {
    const w = createWorld({ a: failWith(500) }, config)
    await runClockUntil(w.chat())
    expect(w.calls).toHaveLength(expected)
  })

  test('excludes retries that the upstream declares hopeless, but not other targets', async () => {
    const w = createWorld({ a: failWith(503, { 'x-should-retry': 'false' }), b: succeed })
    expect((await runClockUntil(w.chat())).status).toBe(200)
    expect(w.calls.map(({ upstream }) => upstream)).toEqual(['a', 'b'])
  })

  test('gives every target one attempt before a second one', async () => {
    const w = createWorld({ a: failWith(500), b: failWith(500), c: failWith(500) })
    await runClockUntil(w.chat())
    expect(w.calls.map(({ upstream }) => upstream)).toEqual(['a', 'b', 'c'])
  })
})

describe('first byte', () => {
  test('ends retries, wherever the stream is cut', async () => {
    const random = seededRandom(19)
    const total = 1000
    let delayed = 0
    let mixed = 0
    let begun = 0
    for (let i = 0; i < total; i++) {
      const texts: string[] = []
      const cut: Behaviour = (call) => {
        const words = Array.from({ length: 6 }, (_, at) => `${call.upstream}${w.calls.length}-${at} `)
        texts.push(words.join(''))
        const bytes = new TextEncoder().encode(eventsOf(words).slice(0, -1).join(''))
        const at = Math.floor(random() * bytes.length)
        const middle = Math.floor(random() * at)
        return streaming([
          bytes.subarray(0, middle),
          bytes.subarray(middle, at),
          ...(random() < 0.5 ? ['reset' as const] : []),
        ])(call)
      }
      const w = createWorld({ a: cut, b: cut }, { retry: { ...unbudgeted, backoffMs: 1 }, breaker: false })
      const outcome = (async () => {
        const response = await w.gateway.fetch(w.request({ stream: true }))
        if (response.status !== 200) return ''
        const atFirst = w.calls.length
        const { text } = await readResponse(response)
        begun++
        if (w.calls.length !== atFirst) delayed++
        return [...text.matchAll(/"content":"([^"]*)"/g)].map(([, word]) => word).join('')
      })()
      const text = await runClockUntil(outcome)
      if (!(texts.at(-1) ?? '').startsWith(text)) mixed++
    }
    printFigure(
      19,
      `${total} streams cut at random (${begun} after the first byte): ${delayed} retried after the first byte, ${mixed} with text of two attempts`,
    )
    expect(begun).toBeGreaterThan(total / 2)
    expect([delayed, mixed]).toEqual([0, 0])
  })
})

describe('client that disconnects', () => {
  test('during the back-off causes no further upstream calls', async () => {
    const total = 1000
    const random = seededRandom(24)
    const w = createWorld(
      {
        a: (call) => failWith(random() < 0.5 ? 503 : 429, random() < 0.5 ? { 'retry-after': '1' } : {})(call),
        b: failWith(503, { 'retry-after': '2' }),
      },
      { retry: unbudgeted, breaker: false },
    )
    let called = 0
    for (let batch = 0; batch < total; batch += 50) {
      const leaving = Array.from({ length: 50 }, () => new AbortController())
      const before = w.calls.length
      const answers = leaving.map(({ signal }) => w.chat({}, {}, signal).catch(() => undefined))
      await runPendingWork(30)
      const asleep = w.calls.length
      expect(asleep - before).toBeGreaterThanOrEqual(50)
      for (const one of leaving) one.abort()
      await runPendingWork()
      await vi.advanceTimersByTimeAsync(30_000)
      await Promise.all(answers)
      called += w.calls.length - asleep
    }
    printFigure(24, `${total} clients disconnected during a back-off: ${called} further upstream calls`)
    expect(called).toBe(0)
    expect(w.finished).toHaveLength(total)
    expect(w.finished.filter(({ outcome, status }) => outcome === 'aborted' && status === 499)).toHaveLength(total)
    expect(vi.getTimerCount()).toBe(0)
  })

  test('while waiting for a rate-limited upstream causes no further upstream calls', async () => {
    const w = createWorld({ a: failWith(429, { 'retry-after': '5' }) }, { retry: { attempts: 1 } })
    await runClockUntil(w.chat())
    const client = new AbortController()
    const answer = w.chat({}, {}, client.signal).catch(() => undefined)
    await runPendingWork()
    expect(vi.getTimerCount()).toBe(1)
    client.abort()
    await answer
    await vi.advanceTimersByTimeAsync(30_000)
    expect(w.calls).toHaveLength(1)
    expect(w.finished.at(-1)).toMatchObject({ outcome: 'aborted', attempts: [] })
  })
})
