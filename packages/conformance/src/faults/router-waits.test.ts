import { gemini } from '@modelgate/core'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { advanceClock, type Behaviour, createWorld, printFigure, runClockUntil, stopClock } from './router-fixture.ts'
import { failWith, oneAfterAnother, refuseConnection, succeed } from './router-upstreams.ts'

beforeEach(stopClock)
afterEach(() => void vi.useRealTimers())

const inSeconds = (seconds: number): string => new Date(Date.now() + seconds * 1000).toUTCString()

describe('retry delay of an upstream', () => {
  const stated: readonly [string, () => Record<string, string>, number][] = [
    ['Retry-After in seconds', () => ({ 'retry-after': '2' }), 2000],
    ['Retry-After as a date', () => ({ 'retry-after': inSeconds(3) }), 3000],
    ['retry-after-ms', () => ({ 'retry-after-ms': '1250' }), 1250],
    ['retry-after-ms before Retry-After', () => ({ 'retry-after-ms': '400', 'retry-after': '1' }), 400],
    ['a date in the past', () => ({ 'retry-after': inSeconds(-60) }), 0],
  ]
  test.each(stated.flatMap(([name, headers, ms]) => [429, 503].map((status) => ({ name, headers, ms, status }))))(
    'waits for $name on $status',
    async ({ name, headers, ms, status }) => {
      const w = createWorld({ a: oneAfterAnother(failWith(status, headers()), succeed) })
      const answer = await runClockUntil(w.chat())
      expect(answer.status).toBe(200)
      const waited = (w.calls[1]?.at ?? 0) - (w.calls[0]?.at ?? 0)
      printFigure(21, `${name} of ${ms} ms on ${status}: waited ${waited} ms`)
      expect(Math.abs(waited - ms)).toBeLessThanOrEqual(50)
      expect(w.finished[0]?.attempts[1]?.reason).toBe('retry')
    },
  )

  test.each(['soon', '-5', 'NaN', '1e999', ''])('ignores Retry-After: %j and uses the back-off', async (value) => {
    const w = createWorld({ a: oneAfterAnother(failWith(429, { 'retry-after': value }), succeed) })
    expect((await runClockUntil(w.chat())).status).toBe(200)
    expect((w.calls[1]?.at ?? 0) - (w.calls[0]?.at ?? 0)).toBeLessThanOrEqual(501)
  })

  test('reports a delay of one hour instead of waiting, and opens the circuit', async () => {
    const w = createWorld({ a: failWith(429, { 'retry-after': '3600' }) })
    const started = Date.now()
    const answer = await runClockUntil(w.chat())
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([429, '3600'])
    expect(Date.now() - started).toBeLessThanOrEqual(50)
    printFigure(21, `Retry-After of 1 h: passed on after ${Date.now() - started} ms, ${w.calls.length} upstream call`)
    await advanceClock(60_000, 60_000)
    const later = await runClockUntil(w.chat())
    expect([later.status, later.headers.get('retry-after'), w.calls.length]).toEqual([429, '3540', 1])
  })

  test('waits no longer for a stream than for its first event', async () => {
    for (const [stream, status, calls] of [
      [true, 429, 1],
      [false, 200, 2],
    ] as const) {
      const w = createWorld(
        { a: oneAfterAnother(failWith(429, { 'retry-after': '8' }), succeed) },
        { limits: { holdMs: 5000 } },
      )
      const answer = await runClockUntil(w.chat({ stream }))
      expect([answer.status, w.calls.length]).toEqual([status, calls])
      if (status === 429) expect(answer.headers.get('retry-after')).toBe('8')
    }
  })

  test('limits waiting by configuration', async () => {
    const w = createWorld(
      { a: oneAfterAnother(failWith(429, { 'retry-after': '8' }), succeed) },
      { retry: { maxWaitMs: 7000 } },
    )
    expect((await runClockUntil(w.chat())).status).toBe(429)
    expect(w.calls).toHaveLength(1)
  })

  test('is made before another target is called, if it is no longer than stayMs', async () => {
    const stated = (seconds: string) =>
      createWorld(
        { a: oneAfterAnother(failWith(429, { 'retry-after': seconds }), succeed), b: succeed },
        { retry: { stayMs: 2000 } },
      )
    const short = stated('2')
    expect((await runClockUntil(short.chat())).status).toBe(200)
    expect(short.calls.map(({ upstream }) => upstream)).toEqual(['a', 'a'])
    expect((short.calls[1]?.at ?? 0) - (short.calls[0]?.at ?? 0)).toBe(2000)
    const long = stated('3')
    expect((await runClockUntil(long.chat())).status).toBe(200)
    expect(long.calls.map(({ upstream }) => upstream)).toEqual(['a', 'b'])
  })

  test('is skipped if there is another target', async () => {
    const w = createWorld({ a: failWith(429, { 'retry-after': '2' }), b: succeed })
    const started = Date.now()
    expect((await runClockUntil(w.chat())).status).toBe(200)
    expect(Date.now() - started).toBeLessThanOrEqual(50)
    expect(w.calls.map(({ upstream }) => upstream)).toEqual(['a', 'b'])
  })

  const google: Behaviour = () =>
    Response.json(
      {
        error: {
          code: 429,
          status: 'RESOURCE_EXHAUSTED',
          message: 'Quota exceeded for requests per minute.',
          details: [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '1.500s' }],
        },
      },
      { status: 429 },
    )
  const generated: Behaviour = () =>
    Response.json({
      candidates: [{ content: { role: 'model', parts: [{ text: 'hello' }] }, finishReason: 'STOP', index: 0 }],
      usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 1, totalTokenCount: 4 },
    })

  test('reads Google’s RetryInfo', async () => {
    const w = createWorld(
      { g: oneAfterAnother(google, generated) },
      { upstreams: { g: gemini({ apiKey: 'key-of-g', baseURL: 'http://g.test' }) } },
    )
    expect((await runClockUntil(w.chat())).status).toBe(200)
    const waited = (w.calls[1]?.at ?? 0) - (w.calls[0]?.at ?? 0)
    printFigure(21, `RetryInfo of 1500 ms: waited ${waited} ms`)
    expect(Math.abs(waited - 1500)).toBeLessThanOrEqual(50)
  })

  test('delays calls during the cooldown until its end plus jitter', async () => {
    const w = createWorld({ a: oneAfterAnother(failWith(429, { 'retry-after': '4' }), succeed) })
    const first = w.chat()
    await advanceClock(1000)
    const others = Array.from({ length: 20 }, () => w.chat())
    const all = await runClockUntil(Promise.all([first, ...others]))
    expect(all.map(({ status }) => status)).toEqual(all.map(() => 200))
    const since = w.calls.slice(1).map(({ at }) => at - (w.calls[0]?.at ?? 0))
    expect(Math.min(...since)).toBeGreaterThanOrEqual(4000)
    expect(Math.max(...since)).toBeLessThanOrEqual(4800)
    expect(new Set(since).size).toBeGreaterThan(10)
  })
})

describe('back-off', () => {
  test('spreads clients that failed together', async () => {
    const w = createWorld(
      { a: oneAfterAnother(...Array.from({ length: 20 }, () => failWith(503)), succeed) },
      { retry: { budgetFloor: 100, backoffMs: 500 }, breaker: false },
    )
    const all = await runClockUntil(Promise.all(Array.from({ length: 20 }, () => w.chat())))
    expect(all.every(({ status }) => status === 200)).toBe(true)
    const waits = w.finished.map(({ attempts }) => attempts[1]?.waitedMs ?? 0)
    const spread = (Math.max(...waits) - Math.min(...waits)) / 500
    printFigure(21, `20 clients' back-offs spread over ${Math.round(spread * 100)} % of the window`)
    expect(spread).toBeGreaterThanOrEqual(0.5)
    expect(Math.max(...waits)).toBeLessThanOrEqual(500)
  })

  test('applies to an upstream that refuses connections if there is no other', async () => {
    const w = createWorld({ a: refuseConnection })
    const started = Date.now()
    const answer = await runClockUntil(w.chat())
    printFigure(
      13,
      `a refused connection, with retries: ${answer.status} after ${Date.now() - started} ms of the stopped clock`,
    )
    expect(answer.status).toBe(502)
    const waited = (w.finished[0]?.attempts ?? []).reduce((sum, { waitedMs = 0 }) => sum + waitedMs, 0)
    expect(Math.abs(Date.now() - started - waited)).toBeLessThan(50)
    expect(waited).toBeLessThanOrEqual(1500)
  })

  test('doubles after each failure', async () => {
    const longest = [0, 0, 0]
    for (let i = 0; i < 60; i++) {
      const w = createWorld({ a: failWith(500) }, { retry: { attempts: 4, backoffMs: 100, maxBackoffMs: 300 } })
      await runClockUntil(w.chat())
      for (const [at, { waitedMs = 0 }] of (w.finished[0]?.attempts ?? []).slice(1).entries())
        longest[at] = Math.max(longest[at] ?? 0, waitedMs)
    }
    for (const [at, most] of [100, 200, 300].entries()) {
      expect(longest[at]).toBeLessThanOrEqual(most)
      expect(longest[at]).toBeGreaterThan(most * 0.75)
    }
  })
})

describe('retry budget', () => {
  test.each([
    ['with the breaker', undefined],
    ['without the breaker', false as const],
  ])('limits retries in a full outage %s', async (name, breaker) => {
    const calls = 200
    const w = createWorld({ a: failWith(503) }, breaker === undefined ? {} : { breaker })
    const answers: Promise<unknown>[] = []
    for (let i = 0; i < calls; i++) {
      answers.push(w.chat())
      await advanceClock(20)
    }
    await runClockUntil(Promise.all(answers))
    const retries = w.finished.reduce((sum, { attempts }) => sum + Math.max(0, attempts.length - 1), 0)
    printFigure(
      22,
      `full outage ${name}, ${calls} calls, ${w.calls.length} upstream calls, retries ${(retries / calls) * 100} %`,
    )
    expect(retries).toBeLessThanOrEqual(calls * 0.2)
    // The breaker leaves few calls to retry.
    if (breaker === false) expect(retries).toBeGreaterThanOrEqual(calls * 0.15)
  })

  test('allows three retries for a few calls, and leaves further retries to clients', async () => {
    const w = createWorld({ a: failWith(503) }, { breaker: false })
    const answers = await runClockUntil(Promise.all(Array.from({ length: 5 }, () => w.chat())))
    expect(w.calls).toHaveLength(8)
    for (const { headers } of answers) expect(headers.has('x-should-retry')).toBe(false)
  })

  test('recovers with time', async () => {
    const w = createWorld({ a: failWith(503) }, { breaker: false, retry: { budgetFloor: 1, budgetRatio: 0 } })
    for (const [seconds, expected] of [
      [0, 2],
      [1, 1],
      [11, 2],
    ] as const) {
      await advanceClock(seconds * 1000, 1000)
      const before = w.calls.length
      await runClockUntil(w.chat())
      expect(w.calls.length - before).toBe(expected)
    }
  })

  test('is separate for each upstream', async () => {
    const w = createWorld(
      { a: failWith(503), b: failWith(503) },
      { breaker: false, retry: { budgetFloor: 0, budgetRatio: 0 } },
    )
    await runClockUntil(w.chat())
    expect(w.calls.map(({ upstream }) => upstream)).toEqual(['a', 'b'])
  })
})
