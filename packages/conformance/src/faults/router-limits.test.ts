import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import {
  type Behaviour,
  createWorld,
  printFigure,
  readResponse,
  runClockUntil,
  runPendingWork,
  stopClock,
} from './router-fixture.ts'
import {
  bodyOf,
  completion,
  delayed,
  eventsOf,
  failWith,
  forever,
  neverRespond,
  type Step,
  streaming,
  succeed,
} from './router-upstreams.ts'

beforeEach(stopClock)
afterEach(() => void vi.useRealTimers())

/** An unstreamed response in these steps. */
const json =
  (...steps: readonly Step[]): Behaviour =>
  ({ signal }) =>
    new Response(bodyOf(steps, signal), { headers: { 'content-type': 'application/json' } })
const half = completion().slice(0, 40)
const rest = completion().slice(40)
const events = eventsOf(['one ', 'two ', 'three'])

describe('time limit', () => {
  const cases: readonly {
    name: string
    line: number
    behaviour: Behaviour
    limits: object
    stream: boolean
    status: number
    code: string
    ms: number
  }[] = [
    {
      name: 'no response',
      line: 11,
      behaviour: neverRespond,
      limits: { firstByteMs: 2000 },
      stream: false,
      status: 504,
      code: 'upstream_timeout',
      ms: 2000,
    },
    {
      name: 'no response to a streaming request',
      line: 11,
      behaviour: neverRespond,
      limits: { firstByteMs: 2000 },
      stream: true,
      status: 504,
      code: 'upstream_timeout',
      ms: 2000,
    },
    {
      name: 'headers but no first event',
      line: 11,
      behaviour: streaming([forever]),
      limits: { firstByteMs: 2000 },
      stream: true,
      status: 504,
      code: 'upstream_timeout',
      ms: 2000,
    },
    {
      name: 'only comments and no first event',
      line: 11,
      behaviour: streaming(Array.from({ length: 100 }, (): Step[] => [': ping\n\n', 100]).flat()),
      limits: { firstByteMs: 2000 },
      stream: true,
      status: 504,
      code: 'upstream_timeout',
      ms: 2000,
    },
    {
      name: 'a stall in JSON',
      line: 12,
      behaviour: json(half, forever),
      limits: { idleMs: 1500 },
      stream: false,
      status: 502,
      code: 'upstream_idle_timeout',
      ms: 1500,
    },
    {
      name: 'a stall in mid-stream',
      line: 12,
      behaviour: streaming([...events.slice(0, 3), forever]),
      limits: { idleMs: 1500 },
      stream: true,
      status: 200,
      code: 'upstream_idle_timeout',
      ms: 1500,
    },
    {
      name: 'a stream that does not end',
      line: 12,
      behaviour: streaming([
        events[0] ?? '',
        ...Array.from({ length: 100 }, (): Step[] => [events[1] ?? '', 100]).flat(),
      ]),
      limits: { totalMs: 2500 },
      stream: true,
      status: 200,
      code: 'upstream_total_timeout',
      ms: 2500,
    },
    {
      name: 'an unstreamed response that takes too long',
      line: 12,
      behaviour: delayed(9000, succeed),
      limits: { totalMs: 2500 },
      stream: false,
      status: 504,
      code: 'upstream_total_timeout',
      ms: 2500,
    },
  ]

  test.each(cases)(
    'reports $name at the limit with its own code',
    async ({ name, line, behaviour, limits, stream, status, code, ms }) => {
      // A target's own limit takes precedence over the gateway's.
      for (const config of [
        { limits },
        {
          limits: { firstByteMs: 60_000, idleMs: 60_000, totalMs: 60_000 },
          models: { m: { upstream: 'a' as const, limits } },
        },
      ]) {
        const w = createWorld({ a: behaviour }, config)
        const started = Date.now()
        const answer = await runClockUntil(w.chat({ stream }))
        const took = Date.now() - started
        printFigure(line, `${name}: ${answer.status} ${code} after ${took} ms of ${ms} ms`)
        expect(answer.status).toBe(status)
        expect(answer.text).toContain(code)
        expect(answer.text).not.toContain('[DONE]')
        expect(Math.abs(took - ms)).toBeLessThanOrEqual(100)
        expect(w.calls).toHaveLength(1)
        expect(w.calls[0]?.signal.aborted).toBe(true)
        expect(w.finished).toHaveLength(1)
        expect(w.finished[0]).toMatchObject({ outcome: 'failed', status })
        await runPendingWork()
        expect(vi.getTimerCount()).toBe(0)
      }
    },
  )

  test('reports a slow connection with its own code', async () => {
    const delayed: Behaviour = () => {
      throw new TypeError('fetch failed', {
        cause: Object.assign(new Error('late'), { code: 'UND_ERR_CONNECT_TIMEOUT' }),
      })
    }
    const answer = await runClockUntil(createWorld({ a: delayed }, { retry: false }).chat())
    expect(answer.status).toBe(504)
    expect(answer.text).toContain('upstream_connect_timeout')
  })

  test('does not treat an upstream that keeps sending as idle, in events and in JSON', async () => {
    const limits = { idleMs: 500 }
    const slow = (parts: readonly string[]): Step[] => parts.flatMap((part): Step[] => [300, part])
    const streamed = createWorld({ a: streaming(slow(events)) }, { limits })
    expect((await runClockUntil(streamed.chat({ stream: true }))).text).toContain('[DONE]')
    const whole = createWorld({ a: json(...slow([half, '', ' ', ' ', ' ', rest])) }, { limits })
    expect((await runClockUntil(whole.chat())).status).toBe(200)
  })

  test('is not restarted for the same target, but applies to the next one', async () => {
    const w = createWorld({ a: neverRespond, b: succeed }, { limits: { firstByteMs: 1000 } })
    const answer = await runClockUntil(w.chat())
    expect(answer.status).toBe(200)
    expect(w.finished[0]?.attempts).toMatchObject([
      { upstream: 'a', reason: 'first', error: 'upstream_timeout', latencyMs: 1000 },
      { upstream: 'b', reason: 'fallback', status: 200 },
    ])
  })
})

describe('hedging', () => {
  const hedgedM = (hedgeMs: number) => ({ models: { m: { targets: ['a' as const, 'b' as const], hedgeMs } } })

  test.each([false, true])('aborts the first attempt if the second wins (stream: %s)', async (stream) => {
    const w = createWorld({ a: delayed(5000, succeed), b: delayed(50, succeed) }, hedgedM(200))
    const started = Date.now()
    const answer = await runClockUntil(w.chat({ stream }))
    expect(Date.now() - started).toBe(250)
    expect(answer.status).toBe(200)
    expect(w.to('a')[0]?.signal.aborted).toBe(true)
    expect(w.to('b')[0]?.signal.aborted).toBe(false)
    expect(w.finished).toHaveLength(1)
    expect(w.finished[0]?.attempts).toMatchObject([
      { upstream: 'a', reason: 'first', error: 'cancelled' },
      { upstream: 'b', reason: 'hedge', status: 200 },
    ])
    expect(w.finished[0]).toMatchObject({ upstream: 'b', outcome: 'finished' })
    expect(answer.headers.get('modelgate-upstream')).toBe('b')
    await runPendingWork()
    expect(vi.getTimerCount()).toBe(0)
  })

  test.each([false, true])('aborts the second attempt if the first wins (stream: %s)', async (stream) => {
    const w = createWorld({ a: delayed(300, succeed), b: delayed(5000, succeed) }, hedgedM(200))
    const started = Date.now()
    const answer = await runClockUntil(w.chat({ stream }))
    expect([answer.status, Date.now() - started]).toEqual([200, 300])
    expect(w.to('b')[0]?.signal.aborted).toBe(true)
    expect(w.to('a')[0]?.signal.aborted).toBe(false)
    expect(w.finished[0]?.attempts).toMatchObject([
      { upstream: 'a', reason: 'first', status: 200 },
      { upstream: 'b', reason: 'hedge', error: 'cancelled' },
    ])
    expect(answer.headers.get('modelgate-upstream')).toBe('a')
  })

  test('sends no second attempt if the first is fast enough', async () => {
    const w = createWorld({ a: delayed(100, succeed), b: succeed }, hedgedM(200))
    await runClockUntil(w.chat())
    expect(w.calls.map(({ upstream }) => upstream)).toEqual(['a'])
  })

  test('continues with the other attempt if one fails', async () => {
    const w = createWorld({ a: delayed(300, failWith(500)), b: delayed(400, succeed) }, hedgedM(200))
    expect((await runClockUntil(w.chat())).status).toBe(200)
    expect(w.finished[0]?.attempts).toMatchObject([
      { upstream: 'a', error: 'upstream_error' },
      { upstream: 'b', reason: 'hedge', status: 200 },
    ])
  })

  test('ends both attempts on a client error', async () => {
    const w = createWorld({ a: delayed(300, failWith(400)), b: delayed(400, succeed) }, hedgedM(200))
    expect((await runClockUntil(w.chat())).status).toBe(400)
    expect(w.to('b')[0]?.signal.aborted).toBe(true)
  })

  test('ignores a client error that only the second target reports', async () => {
    const w = createWorld({ a: delayed(600, succeed), b: failWith(400) }, hedgedM(200))
    expect((await runClockUntil(w.chat())).status).toBe(200)
    expect(w.finished).toMatchObject([{ upstream: 'a', attempts: [{ status: 200 }, { reason: 'hedge', status: 400 }] }])
  })

  test('aborts both attempts if the client disconnects', async () => {
    const w = createWorld({ a: neverRespond, b: neverRespond }, hedgedM(200))
    const client = new AbortController()
    const answer = w.chat({}, {}, client.signal).catch(() => undefined)
    await runPendingWork()
    await vi.advanceTimersByTimeAsync(300)
    await runPendingWork()
    expect(w.calls).toHaveLength(2)
    client.abort()
    await runClockUntil(answer)
    expect(w.calls.map(({ signal }) => signal.aborted)).toEqual([true, true])
    expect(w.finished).toMatchObject([{ outcome: 'aborted', status: 499 }])
    expect(vi.getTimerCount()).toBe(0)
  })

  test('uses the retry budget', async () => {
    const w = createWorld(
      { a: delayed(1000, succeed), b: delayed(2000, succeed) },
      { ...hedgedM(200), retry: { budgetFloor: 2, budgetRatio: 0 } },
    )
    await runClockUntil(Promise.all(Array.from({ length: 10 }, () => w.chat())))
    expect(w.to('a')).toHaveLength(10)
    expect(w.to('b')).toHaveLength(2)
  })

  test('ends 500 races with one winner each and aborts every superfluous attempt', async () => {
    let at = 0
    const racing: Behaviour = (call) =>
      delayed(((at++ * 37) % 100) * 10 + (call.upstream === 'a' ? 1 : 2), succeed)(call)
    const w = createWorld({ a: racing, b: racing }, { ...hedgedM(100), retry: { budgetFloor: 1e6 } })
    const answers = await runClockUntil(
      Promise.all(Array.from({ length: 500 }, async () => readResponse(await w.gateway.fetch(w.request())))),
    )
    expect(answers.every(({ status }) => status === 200)).toBe(true)
    const attempts = w.finished.flatMap((event) => event.attempts)
    expect(w.finished).toHaveLength(500)
    expect(attempts.filter(({ error }) => error === undefined)).toHaveLength(500)
    expect(w.calls.filter(({ signal }) => signal.aborted)).toHaveLength(attempts.length - 500)
    expect(attempts.length).toBeGreaterThan(600)
  })
})
