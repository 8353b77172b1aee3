import { type Cooldown, type HealthState, memoryHealthState } from '@modelgate/core'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import {
  advanceClock,
  type Behaviour,
  type ClientResponse,
  createWorld,
  printFigure,
  runClockUntil,
  runPendingWork,
  seededRandom,
  stopClock,
  upstreamNamed,
} from './router-fixture.ts'
import { delayed, eventsOf, failWith, forever, refuseConnection, streaming, succeed } from './router-upstreams.ts'

beforeEach(stopClock)
afterEach(() => void vi.useRealTimers())

/** Returns the times between calls in milliseconds. */
const gaps = (calls: readonly { at: number }[]): number[] =>
  calls.slice(1).map(({ at }, index) => at - (calls[index]?.at ?? 0))

describe('circuit breaker', () => {
  const dead: readonly [string, Behaviour][] = [
    ['refuses connections', refuseConnection],
    ['returns 500', failWith(500)],
    ['returns 503', failWith(503)],
    ['returns a web page', () => new Response('<html></html>', { headers: { 'content-type': 'text/html' } })],
    ["rejects the gateway's key", failWith(401)],
  ]
  test.each(dead)('skips, probes and restores an upstream that %s', async (name, bad) => {
    const w = createWorld({ a: bad, b: succeed })
    const ask = async (): Promise<void> => {
      expect((await runClockUntil(w.chat())).status).toBe(200)
      await advanceClock(100, 50)
    }
    let before = 0
    while (w.finished.at(-1)?.attempts[0]?.upstream !== 'b') {
      await ask()
      before++
    }
    const opened = w.to('a').length
    for (let i = 0; i < 600; i++) await ask()
    const probes = gaps(w.to('a').slice(opened - 1))
    w.behave('a', succeed)
    const revived = Date.now()
    const seen = w.calls.length
    while (w.calls.slice(seen).every(({ upstream }) => upstream === 'b')) await ask()
    const back = Date.now() - revived
    for (let i = 0; i < 20; i++) await ask()
    expect(w.calls.slice(-20).every(({ upstream }) => upstream === 'a')).toBe(true)
    printFigure(
      23,
      `an upstream that ${name}: skipped after ${opened} calls (${before - 1} of clients), one probe per ${Math.min(...probes)} ms, back after ${back} ms`,
    )
    expect(opened).toBeLessThanOrEqual(20)
    expect(probes.length).toBeGreaterThan(3)
    expect(Math.min(...probes)).toBeGreaterThanOrEqual(5000)
    expect(back).toBeLessThanOrEqual(10_000)
  })

  test('opens for an upstream that fails every other call', async () => {
    const random = seededRandom(23)
    const w = createWorld(
      { a: (call) => (random() < 0.7 ? failWith(500) : succeed)(call), b: succeed },
      { retry: { attempts: 2 } },
    )
    let opened: number | undefined
    for (let i = 0; i < 60 && opened === undefined; i++) {
      expect((await runClockUntil(w.chat())).status).toBe(200)
      if (w.finished.at(-1)?.attempts[0]?.upstream === 'b') opened = w.to('a').length
    }
    printFigure(23, `an upstream that fails 70 % of calls: skipped after ${opened} calls`)
    expect(opened).toBeLessThanOrEqual(20)
  })

  test('admits one probe at a time while other calls wait', async () => {
    const w = createWorld({ a: failWith(500), b: succeed })
    await runClockUntil(Promise.all(Array.from({ length: 10 }, () => w.chat())))
    const opened = w.to('a').length
    w.behave('a', delayed(3000, failWith(500)))
    for (let round = 0; round < 4; round++) {
      await advanceClock(5100, 1700)
      const before = w.to('a').length
      const crowd = await runClockUntil(Promise.all(Array.from({ length: 50 }, () => w.chat())))
      expect(crowd.every(({ status }) => status === 200)).toBe(true)
      expect(w.to('a').length - before).toBe(1)
    }
    expect(w.to('a').length - opened).toBe(4)
  })

  test('stops waiting calls from reaching the upstream once it is open', async () => {
    const w = createWorld({ a: failWith(503, { 'retry-after': '3' }) }, { retry: { budgetFloor: 100 } })
    const pending: Promise<ClientResponse>[] = []
    for (let i = 0; i < 5; i++) {
      pending.push(w.chat())
      await runPendingWork()
    }
    expect(w.calls).toHaveLength(5)
    const answers = await runClockUntil(Promise.all(pending))
    expect(answers.map(({ status }) => status)).toEqual(Array(5).fill(503))
    expect(w.calls).toHaveLength(5)
  })

  test('reports a retry delay to the client if there is no other target', async () => {
    const w = createWorld({ a: failWith(500) })
    while (w.to('a').length < 5) await runClockUntil(w.chat())
    const before = w.calls.length
    const answer = await runClockUntil(w.chat())
    expect([answer.status, w.calls.length - before]).toEqual([503, 0])
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0)
    expect(Number(answer.headers.get('retry-after'))).toBeLessThanOrEqual(5)
  })

  test('does not open after client errors and disconnects', async () => {
    const w = createWorld({ a: failWith(400), b: succeed })
    for (let i = 0; i < 40; i++) await runClockUntil(w.chat())
    w.behave('a', streaming([...eventsOf(['one']).slice(0, 2), forever]))
    for (let i = 0; i < 40; i++) {
      const client = new AbortController()
      const answer = await w.gateway.fetch(w.request({ stream: true }, {}, client.signal))
      const reader = answer.body?.getReader()
      await reader?.read()
      client.abort()
      await reader?.cancel().catch(() => {})
    }
    expect(w.to('b')).toHaveLength(0)
    expect(w.to('a')).toHaveLength(80)
  })

  test('opens after streams that are cut off', async () => {
    const w = createWorld({ a: streaming([...eventsOf(['one']).slice(0, 2), 'reset']), b: succeed })
    for (let i = 0; i < 6; i++) await runClockUntil(w.chat({ stream: true }))
    expect(w.to('a')).toHaveLength(5)
    expect(w.finished.at(-1)?.attempts).toMatchObject([{ upstream: 'b', reason: 'first' }])
  })

  test('never opens when it is disabled', async () => {
    const w = createWorld({ a: failWith(500), b: succeed }, { breaker: false })
    for (let i = 0; i < 30; i++) await runClockUntil(w.chat())
    expect(w.to('a').length).toBeGreaterThanOrEqual(30)
  })
})

describe('three upstreams under load', () => {
  test.each([false, true])('survive the outage and return of one (streams: %s)', async (stream) => {
    const random = seededRandom(3)
    const alive: Behaviour = async (call) => delayed(20 + random() * 60, succeed)(call)
    const targets = (['a', 'b', 'c'] as const).map((upstream) => ({ upstream, weight: 1 }))
    const w = createWorld({ a: alive, b: alive, c: alive }, { models: { m: { targets } } })
    const answers: Promise<ClientResponse>[] = []
    const load = async (ms: number): Promise<void> => {
      for (let at = 0; at < ms; at += 20) {
        answers.push(w.chat({ stream }))
        await advanceClock(20)
      }
    }
    await load(3000)
    const share = w.to('a').length / w.calls.length
    const killed = Date.now()
    w.behave('a', refuseConnection)
    await load(20_000)
    const tries = w.to('a').filter(({ at }) => at >= killed)
    const skipped = tries.filter(({ at }) => at < killed + 4900).length
    w.behave('a', alive)
    const revived = Date.now()
    await load(10_000)
    const answersOfA = w.to('a').filter(({ at }) => at >= revived)
    const back = (answersOfA[1]?.at ?? Number.POSITIVE_INFINITY) - revived
    const reported = await runClockUntil(Promise.all(answers))
    const failed = reported.filter(({ status, text }) => status !== 200 || (stream && !text.includes('[DONE]'))).length
    printFigure(
      23,
      `three upstreams, ${reported.length} ${stream ? 'streams' : 'calls'}, one killed: ${failed} failed, skipped after ${skipped} calls, ${tries.length - skipped} probes in 15 s, back after ${back} ms`,
    )
    expect(share).toBeGreaterThan(0.2)
    expect(failed).toBe(0)
    expect(skipped).toBeLessThanOrEqual(20)
    expect(tries.length - skipped).toBeLessThanOrEqual(4)
    expect(back).toBeLessThanOrEqual(10_000)
    expect(answersOfA.length).toBeGreaterThan(50)
  })
})

describe('key pool', () => {
  type Key = string | { key: string; weight: number }
  const pooled = (keys: readonly Key[], behaviour: Behaviour, config: Parameters<typeof createWorld>[1] = {}) =>
    createWorld({ a: behaviour }, { upstreams: { a: upstreamNamed('a', keys) }, ...config })
  const keyOf = ({ headers }: { headers: Headers }): string => headers.get('authorization')?.slice(7) ?? ''
  const counted = (calls: readonly { headers: Headers }[]): Record<string, number> => {
    const counts: Record<string, number> = {}
    for (const call of calls) counts[keyOf(call)] = (counts[keyOf(call)] ?? 0) + 1
    return counts
  }
  const forKey =
    (key: string, bad: Behaviour): Behaviour =>
    (call) =>
      (keyOf(call) === key ? bad : succeed)(call)

  test('rotates its keys by weight', async () => {
    const w = pooled(['key-one', { key: 'key-two', weight: 3 }], succeed)
    for (let i = 0; i < 40; i++) await runClockUntil(w.chat())
    expect(counted(w.calls)).toEqual({ 'key-one': 10, 'key-two': 30 })
    // Interleaved: the heavier key is used at most three times between two uses of the other.
    expect(w.calls.map((call) => (keyOf(call) === 'key-one' ? '1' : '2')).join('')).not.toContain('22222')
    expect(new Set(w.finished.map(({ attempts }) => attempts[0]?.key))).toEqual(new Set([0, 1]))
  })

  test('cools down a rate-limited key until Retry-After, without effect on the client', async () => {
    const w = pooled(['key-one', 'key-two'], forKey('key-one', failWith(429, { 'retry-after': '7' })))
    for (let i = 0; i < 12; i++) {
      expect((await runClockUntil(w.chat())).status).toBe(200)
      await advanceClock(500, 500)
    }
    expect(counted(w.calls)).toEqual({ 'key-one': 1, 'key-two': 12 })
    expect(w.finished.find(({ attempts }) => attempts.length > 1)?.attempts).toMatchObject([
      { key: 0, reason: 'first', status: 429, error: 'rate_limited' },
      { key: 1, reason: 'other-key', status: 200 },
    ])
    w.behave('a', succeed)
    await advanceClock(1000, 500)
    for (let i = 0; i < 10; i++) await runClockUntil(w.chat())
    expect(counted(w.calls.slice(-10))).toEqual({ 'key-one': 5, 'key-two': 5 })
  })

  test.each([401, 403])('cools down a key rejected with %d, without effect on the client', async (status) => {
    const w = pooled(['key-one', 'key-two'], forKey('key-two', failWith(status)))
    const statuses = new Set<number>()
    for (let i = 0; i < 50; i++) {
      statuses.add((await runClockUntil(w.chat())).status)
      await advanceClock(500, 500)
    }
    expect([...statuses]).toEqual([200])
    expect(counted(w.calls)).toEqual({ 'key-one': 50, 'key-two': 1 })
    await advanceClock(40_000, 10_000)
    for (let i = 0; i < 4; i++) await runClockUntil(w.chat())
    expect(counted(w.calls)['key-two']).toBe(2)
  })

  test('returns 502 instead of 401 if every key is rejected, and reveals no key', async () => {
    const w = pooled(['key-one', 'key-two'], failWith(401, {}, { message: 'Incorrect API key provided: key-one' }))
    for (let i = 0; i < 5; i++) {
      const answer = await runClockUntil(w.chat())
      expect([502, 503]).toContain(answer.status)
      expect(answer.text).not.toMatch(/key-one|key-two/)
    }
  })

  test('distinguishes an exhausted quota from a rate limit', async () => {
    const quota = failWith(429, {}, { type: 'insufficient_quota', code: 'insufficient_quota' })
    for (const [bad, rests] of [
      [quota, 60_000],
      [failWith(429), 1000],
    ] as const) {
      const w = pooled(['key-one', 'key-two'], forKey('key-one', bad))
      await runClockUntil(w.chat())
      await runClockUntil(w.chat())
      const since = Date.now()
      while (counted(w.calls)['key-one'] === 1) {
        await advanceClock(500, 500)
        expect((await runClockUntil(w.chat())).status).toBe(200)
      }
      expect(Date.now() - since).toBeGreaterThanOrEqual(rests - 500)
      expect(Date.now() - since).toBeLessThanOrEqual(rests + 2000)
    }
    const dry = await runClockUntil(pooled(['key-one', 'key-two'], quota).chat())
    expect(dry.status).toBe(429)
    expect(dry.text).toContain('insufficient_quota')
    expect(dry.headers.get('x-should-retry')).toBe('false')
  })

  test('waits for a short cooldown and reports a long one if every key is rate-limited', async () => {
    for (const [seconds, status] of [
      [2, 200],
      [600, 429],
    ] as const) {
      const until = Date.now() + seconds * 1000
      const w = pooled(['key-one', 'key-two'], (call) =>
        (Date.now() < until ? failWith(429, { 'retry-after': String(seconds) }) : succeed)(call),
      )
      const answer = await runClockUntil(w.chat())
      expect(answer.status).toBe(status)
      if (status === 429) expect(answer.headers.get('retry-after')).toBe('600')
      expect(w.calls.length).toBe(status === 200 ? 3 : 2)
    }
  })
})

describe('shared health state', () => {
  test('shares open circuits between gateways', async () => {
    const rests = new Map<string, Cooldown>()
    const health: HealthState = {
      read: (id) => rests.get(id),
      write: (id, rest) => void (rest === undefined ? rests.delete(id) : rests.set(id, rest)),
    }
    for (const state of [health, memoryHealthState()]) {
      const one = createWorld({ a: failWith(500), b: succeed }, { health: state })
      const two = createWorld({ a: succeed, b: succeed }, { health: state })
      for (let i = 0; i < 5; i++) await runClockUntil(one.chat())
      await runClockUntil(two.chat())
      expect(two.calls.map(({ upstream }) => upstream)).toEqual(['b'])
      await advanceClock(5100, 1000)
      // One gateway's probe is enough for both.
      await runClockUntil(two.chat())
      expect(two.calls.map(({ upstream }) => upstream)).toEqual(['b', 'a'])
      one.behave('a', succeed)
      await runClockUntil(one.chat())
      expect(one.calls.at(-1)?.upstream).toBe('a')
    }
    expect(JSON.stringify([...rests])).not.toContain('key-of')
  })

  test('shares key cooldowns between gateways', async () => {
    const health = memoryHealthState()
    const upstreams = { a: upstreamNamed('a', ['key-one', 'key-two']) }
    const bad: Behaviour = (call) =>
      (call.headers.get('authorization') === 'Bearer key-one' ? failWith(429, { 'retry-after': '30' }) : succeed)(call)
    const one = createWorld({ a: bad }, { health, upstreams })
    const two = createWorld({ a: succeed }, { health, upstreams })
    for (let i = 0; i < 4; i++) await runClockUntil(one.chat())
    for (let i = 0; i < 4; i++) await runClockUntil(two.chat())
    expect(two.calls.map(({ headers }) => headers.get('authorization'))).toEqual(Array(4).fill('Bearer key-two'))
  })
})
