import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { type Behaviour, clocked, pass, stopClock, upstreamNamed, world } from './router-fixture.ts'
import { after, failing, forever, refused, well } from './router-upstreams.ts'

beforeEach(stopClock)
afterEach(() => void vi.useRealTimers())

/** Creates an upstream that fails the requests of one caller, depending on the prompt, and succeeds for the others. */
const failingOn =
  (word: string, bad: Behaviour): Behaviour =>
  (call) =>
    (call.text.includes(word) ? bad : well)(call)

const poison = { messages: [{ role: 'user', content: 'poison' }] }
const as = (name: string): Record<string, string> => ({ authorization: `Bearer ${name}` })

/** Creates a gateway whose tokens are the names of its callers. */
const shared: typeof world = (behaviours, config = {}) =>
  world(behaviours, { auth: (token) => ({ id: token }), ...config })

const html: Behaviour = () => new Response('<html></html>', { headers: { 'content-type': 'text/html' } })
const reset: Behaviour = () => {
  throw Object.assign(new TypeError('fetch failed'), {
    cause: Object.assign(new Error('reset'), { code: 'ECONNRESET' }),
  })
}

describe('caller whose requests make the upstream fail', () => {
  test.each<[string, Behaviour]>([
    ['500', failing(500)],
    ['503', failing(503)],
    ['504', failing(504)],
    ['403', failing(403)],
    ['401', failing(401)],
    ['a web page', html],
    ['a reset', reset],
  ])('does not block the target for other callers: %s', async (_, bad) => {
    const w = shared({ a: failingOn('poison', bad) })
    expect((await clocked(w.chat({}, as('ben')))).status).toBe(200)
    for (let round = 0; round < 30; round++) {
      for (let call = 0; call < 5; call++) await clocked(w.chat(poison, as('mallory')))
      expect((await clocked(w.chat({}, as('ben')))).status, `round ${round}`).toBe(200)
      await pass(1000, 500)
    }
    expect((await clocked(w.chat({}, as('newcomer')))).status).toBe(200)
  })

  test('is itself blocked from the target', async () => {
    const w = shared({ a: failingOn('poison', failing(500)) })
    for (let call = 0; call < 20; call++) await clocked(w.chat(poison, as('mallory')))
    expect(w.to('a').length).toBeLessThan(10)
    const answer = await clocked(w.chat(poison, as('mallory')))
    expect([answer.status, Number(answer.headers.get('retry-after')) > 0]).toEqual([503, true])
  })

  test('does not block the keys of a pool for other callers', async () => {
    for (const status of [401, 403, 402, 429]) {
      const upstreams = { a: upstreamNamed('a', ['key-one', 'key-two']) }
      const w = shared(
        { a: failingOn('poison', failing(status)), b: well },
        { upstreams: { ...upstreams, b: upstreamNamed('b') } },
      )
      for (let call = 0; call < 10; call++) await clocked(w.chat(poison, as('mallory')))
      const before = w.calls.length
      for (let call = 0; call < 4; call++) expect((await clocked(w.chat({}, as('ben')))).status).toBe(200)
      const used = w.calls.slice(before).map(({ headers }) => headers.get('authorization'))
      expect(new Set(used), `status ${status}`).toEqual(new Set(['Bearer key-one', 'Bearer key-two']))
    }
  })

  test('does not keep an open breaker open, by failing or aborting its probes', async () => {
    for (const leaves of [false, true]) {
      const w = shared({ a: refused })
      for (let call = 0; call < 5; call++) await clocked(w.chat({}, as('ben')))
      expect((await clocked(w.chat({}, as('ben')))).status).toBe(503)
      w.behave('a', failingOn('poison', leaves ? after(forever, well) : failing(500)))
      await pass(5000, 1000)
      const client = new AbortController()
      const probe = w.chat(poison, as('mallory'), client.signal)
      if (leaves) {
        await pass(100)
        client.abort()
      }
      await clocked(probe.catch(() => undefined))
      expect((await clocked(w.chat({}, as('ben')))).status).toBe(200)
    }
  })
})

describe('circuit breaker of a failing upstream', () => {
  const names = ['ann', 'ben', 'cay', 'dan', 'eve', 'fay']

  test('opens for all callers after failures of five callers', async () => {
    const w = shared({ a: failing(500) }, { retry: false })
    for (const name of names) await clocked(w.chat({}, as(name)))
    expect(w.to('a')).toHaveLength(5)
  })

  test('opens for all callers if connections fail', async () => {
    const w = shared({ a: refused }, { retry: false })
    for (let call = 0; call < 5; call++) await clocked(w.chat({}, as('ann')))
    await clocked(w.chat({}, as('ben')))
    expect(w.to('a')).toHaveLength(5)
  })

  test('opens for all callers if no response starts in time', async () => {
    const w = shared({ a: after(forever, well) }, { retry: false, limits: { firstByteMs: 1000 } })
    for (let call = 0; call < 5; call++) await clocked(w.chat({}, as('ann')))
    await clocked(w.chat({}, as('ben')))
    expect(w.to('a')).toHaveLength(5)
  })

  test('opens for each of two callers after five failures of their own', async () => {
    const w = shared({ a: failing(500) }, { retry: false })
    for (let call = 0; call < 20; call++) for (const name of ['ann', 'ben']) await clocked(w.chat({}, as(name)))
    expect(w.to('a')).toHaveLength(10)
  })
})

test('leaves retries for other callers when one caller uses many', async () => {
  const w = shared({ a: failingOn('poison', failing(500)) }, { breaker: false })
  await clocked(w.chat({}, as('ben')))
  for (let call = 0; call < 5; call++) await clocked(w.chat(poison, as('mallory')))
  let tries = 0
  w.behave('a', (call) => (++tries === 1 ? failing(500) : well)(call))
  expect((await clocked(w.chat({}, as('ben')))).status).toBe(200)
  expect(tries).toBe(2)
})
