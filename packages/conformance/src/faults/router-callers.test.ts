import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { advanceClock, type Behaviour, createWorld, runClockUntil, stopClock, upstreamNamed } from './router-fixture.ts'
import { delayed, failWith, forever, refuseConnection, succeed } from './router-upstreams.ts'

beforeEach(stopClock)
afterEach(() => void vi.useRealTimers())

/** Creates an upstream that fails the requests of one caller, depending on the prompt, and succeeds for the others. */
const failingOn =
  (word: string, bad: Behaviour): Behaviour =>
  (call) =>
    (call.text.includes(word) ? bad : succeed)(call)

const poison = { messages: [{ role: 'user', content: 'poison' }] }
const as = (name: string): Record<string, string> => ({ authorization: `Bearer ${name}` })

/** Creates a gateway whose tokens are the names of its callers. */
const shared: typeof createWorld = (behaviours, config = {}) =>
  createWorld(behaviours, { auth: (token) => ({ id: token }), ...config })

const html: Behaviour = () => new Response('<html></html>', { headers: { 'content-type': 'text/html' } })
const reset: Behaviour = () => {
  throw Object.assign(new TypeError('fetch failed'), {
    cause: Object.assign(new Error('reset'), { code: 'ECONNRESET' }),
  })
}

describe('caller whose requests make the upstream fail', () => {
  test.each<[string, Behaviour]>([
    ['500', failWith(500)],
    ['503', failWith(503)],
    ['504', failWith(504)],
    ['403', failWith(403)],
    ['401', failWith(401)],
    ['a web page', html],
    ['a reset', reset],
  ])('does not block the target for other callers: %s', async (_, bad) => {
    const w = shared({ a: failingOn('poison', bad) })
    expect((await runClockUntil(w.chat({}, as('ben')))).status).toBe(200)
    for (let round = 0; round < 30; round++) {
      for (let call = 0; call < 5; call++) await runClockUntil(w.chat(poison, as('mallory')))
      expect((await runClockUntil(w.chat({}, as('ben')))).status, `round ${round}`).toBe(200)
      await advanceClock(1000, 500)
    }
    expect((await runClockUntil(w.chat({}, as('newcomer')))).status).toBe(200)
  })

  test('is itself blocked from the target', async () => {
    const w = shared({ a: failingOn('poison', failWith(500)) })
    for (let call = 0; call < 20; call++) await runClockUntil(w.chat(poison, as('mallory')))
    expect(w.to('a').length).toBeLessThan(10)
    const answer = await runClockUntil(w.chat(poison, as('mallory')))
    expect([answer.status, Number(answer.headers.get('retry-after')) > 0]).toEqual([503, true])
  })

  test('does not block the keys of a pool for other callers', async () => {
    for (const status of [401, 403, 402, 429]) {
      const upstreams = { a: upstreamNamed('a', ['key-one', 'key-two']) }
      const w = shared(
        { a: failingOn('poison', failWith(status)), b: succeed },
        { upstreams: { ...upstreams, b: upstreamNamed('b') } },
      )
      for (let call = 0; call < 10; call++) await runClockUntil(w.chat(poison, as('mallory')))
      const before = w.calls.length
      for (let call = 0; call < 4; call++) expect((await runClockUntil(w.chat({}, as('ben')))).status).toBe(200)
      const used = w.calls.slice(before).map(({ headers }) => headers.get('authorization'))
      expect(new Set(used), `status ${status}`).toEqual(new Set(['Bearer key-one', 'Bearer key-two']))
    }
  })

  test('does not keep an open breaker open, by failing or aborting its probes', async () => {
    for (const leaves of [false, true]) {
      const w = shared({ a: refuseConnection })
      for (let call = 0; call < 5; call++) await runClockUntil(w.chat({}, as('ben')))
      expect((await runClockUntil(w.chat({}, as('ben')))).status).toBe(503)
      w.behave('a', failingOn('poison', leaves ? delayed(forever, succeed) : failWith(500)))
      await advanceClock(5000, 1000)
      const client = new AbortController()
      const probe = w.chat(poison, as('mallory'), client.signal)
      if (leaves) {
        await advanceClock(100)
        client.abort()
      }
      await runClockUntil(probe.catch(() => undefined))
      expect((await runClockUntil(w.chat({}, as('ben')))).status).toBe(200)
    }
  })
})

describe('circuit breaker of a failing upstream', () => {
  const names = ['ann', 'ben', 'cay', 'dan', 'eve', 'fay']

  test('opens for all callers after failures of five callers', async () => {
    const w = shared({ a: failWith(500) }, { retry: false })
    for (const name of names) await runClockUntil(w.chat({}, as(name)))
    expect(w.to('a')).toHaveLength(5)
  })

  test('opens for all callers if connections fail', async () => {
    const w = shared({ a: refuseConnection }, { retry: false })
    for (let call = 0; call < 5; call++) await runClockUntil(w.chat({}, as('ann')))
    await runClockUntil(w.chat({}, as('ben')))
    expect(w.to('a')).toHaveLength(5)
  })

  test('opens for all callers if no response starts in time', async () => {
    const w = shared({ a: delayed(forever, succeed) }, { retry: false, limits: { firstByteMs: 1000 } })
    for (let call = 0; call < 5; call++) await runClockUntil(w.chat({}, as('ann')))
    await runClockUntil(w.chat({}, as('ben')))
    expect(w.to('a')).toHaveLength(5)
  })

  test('opens for each of two callers after five failures of their own', async () => {
    const w = shared({ a: failWith(500) }, { retry: false })
    for (let call = 0; call < 20; call++) for (const name of ['ann', 'ben']) await runClockUntil(w.chat({}, as(name)))
    expect(w.to('a')).toHaveLength(10)
  })
})

test('leaves retries for other callers when one caller uses many', async () => {
  const w = shared({ a: failingOn('poison', failWith(500)) }, { breaker: false })
  await runClockUntil(w.chat({}, as('ben')))
  for (let call = 0; call < 5; call++) await runClockUntil(w.chat(poison, as('mallory')))
  let tries = 0
  w.behave('a', (call) => (++tries === 1 ? failWith(500) : succeed)(call))
  expect((await runClockUntil(w.chat({}, as('ben')))).status).toBe(200)
  expect(tries).toBe(2)
})
