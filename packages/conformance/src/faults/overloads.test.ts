import Anthropic from '@anthropic-ai/sdk'
import { type Authenticate, anthropic, createGateway } from '@modelgate/core'
import OpenAI from 'openai'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { simpleRequest } from '../base/client-formats.ts'
import { fetchOf, requestTo } from '../base/gateways.ts'
import { formats } from '../base/recorded-traffic.ts'
import {
  advanceClock,
  type Behaviour,
  createWorld,
  type RouterWorld,
  readResponse,
  runClockUntil,
  stopClock,
  upstreamNamed,
} from './router-fixture.ts'
import { failWith, oneAfterAnother, succeed } from './router-upstreams.ts'

beforeEach(stopClock)
afterEach(() => void vi.useRealTimers())

const messages = [{ role: 'user' as const, content: 'hi' }]
const baseURL = 'http://gateway.test'
const apiKey = 'client-token'
type Fetch = typeof globalThis.fetch
type Ask = (fetch: Fetch, maxRetries?: number) => Promise<unknown>

const openaiChat: Ask = (fetch, maxRetries) =>
  new OpenAI({ apiKey, baseURL: `${baseURL}/v1`, fetch, maxRetries }).chat.completions.create({ model: 'm', messages })
const anthropicMessages: Ask = (fetch, maxRetries) =>
  new Anthropic({ apiKey, baseURL, fetch, maxRetries }).messages.create({ model: 'm', max_tokens: 10, messages })
const sdks: readonly [string, Ask][] = [
  ['openai', openaiChat],
  ['anthropic', anthropicMessages],
]

const times = (count: number, behaviour: Behaviour): Behaviour[] => Array.from({ length: count }, () => behaviour)
/** No limit on retries. */
const unlimited = { breaker: false, retry: { budgetFloor: 1e6 } } as const
const auth: Authenticate = (token) => ({ id: token })
const keyed = { auth }

/** Returns the text of an SDK's response, or the status of its error. */
const outcome = (call: Promise<unknown>): Promise<unknown> =>
  runClockUntil(
    call.then(
      () => 'answered',
      (error: { status?: number }) => error.status,
    ),
  )

/** Records the gateway's responses. */
function recordingFetch(w: RouterWorld<string>): { readonly fetch: Fetch; readonly responses: Response[] } {
  const responses: Response[] = []
  const fetch: Fetch = async (...request) => {
    const response = await fetchOf(w.gateway)(...request)
    responses.push(response)
    return response
  }
  return { fetch, responses }
}

describe.each(sdks)('%s SDK with its default retries', (_name, ask) => {
  test.each([429, 503, 529])('completes six calls that each receive one %i, as without a gateway', async (status) => {
    const answers = Array.from({ length: 6 }, () => [failWith(status), succeed]).flat()
    const w = createWorld({ a: oneAfterAnother(...answers) })
    const outcomes: unknown[] = []
    for (let call = 0; call < 6; call++) outcomes.push(await outcome(ask(fetchOf(w.gateway))))
    expect(outcomes).toEqual(Array(6).fill('answered'))
    expect(w.calls).toHaveLength(12)
  })

  test('completes six concurrent calls that each receive one 503', async () => {
    const w = createWorld({ a: oneAfterAnother(...times(6, failWith(503)), succeed) }, { breaker: false })
    const outcomes = await Promise.all(Array.from({ length: 6 }, () => outcome(ask(fetchOf(w.gateway)))))
    expect(outcomes).toEqual(Array(6).fill('answered'))
  })

  test.each([429, 503, 529])('recovers from two %i, as without a gateway', async (status) => {
    for (const retry of [undefined, { budgetFloor: 0, budgetRatio: 0 }, false as const]) {
      const w = createWorld(
        { a: oneAfterAnother(...times(2, failWith(status)), succeed) },
        retry === undefined ? {} : { retry },
      )
      expect(await outcome(ask(fetchOf(w.gateway)))).toBe('answered')
      expect(w.calls).toHaveLength(3)
    }
  })

  test.each([1, 2, 3, 4])('causes at most three upstream calls if %i target(s) stay overloaded', async (targets) => {
    for (const status of [429, 503, 529])
      for (const auth of ['none', keyed.auth] as const) {
        const names = ['a', 'b', 'c', 'd'].slice(0, targets)
        const w = createWorld(Object.fromEntries(names.map((name) => [name, failWith(status)])), { ...unlimited, auth })
        const { fetch, responses } = recordingFetch(w)
        expect(await outcome(ask(fetch))).toBe(responses.at(-1)?.status)
        expect(w.calls).toHaveLength(3)
        // Includes the gateway's own responses after earlier calls used up the attempts.
        for (const { headers } of responses) {
          expect(headers.has('x-should-retry')).toBe(false)
          expect(Number(headers.get('retry-after'))).toBeGreaterThan(0)
        }
      }
  })

  test('causes one upstream call per retry if configured for more retries', async () => {
    const w = createWorld({ a: oneAfterAnother(...times(5, failWith(503)), succeed) }, unlimited)
    expect(await outcome(ask(fetchOf(w.gateway), 5))).toBe('answered')
    expect(w.calls).toHaveLength(6)
  })

  test('receives the retries of the gateway if its own are disabled', async () => {
    const w = createWorld({ a: oneAfterAnother(failWith(503), succeed) })
    expect(await outcome(ask(fetchOf(w.gateway), 0))).toBe('answered')
    expect(w.calls).toHaveLength(2)
  })
})

describe("client that repeats a call without the SDK's retry count header", () => {
  test.each([
    ['the Anthropic SDK without retries, as in Claude Code', anthropicMessages],
    ['the OpenAI SDK without retries', openaiChat],
  ] as const)('recovers from five 529s: %s', async (_name, ask) => {
    const w = createWorld({ a: oneAfterAnother(...times(5, failWith(529)), succeed) }, keyed)
    let tries = 0
    let last: unknown
    while (last !== 'answered' && tries++ < 10) {
      const { fetch, responses } = recordingFetch(w)
      last = await outcome(ask(fetch, 0))
      const [response] = responses
      expect(response?.headers.has('x-should-retry')).toBe(false)
      await advanceClock(Number(response?.headers.get('retry-after') ?? 0) * 1000, 100)
    }
    expect(last).toBe('answered')
    expect(w.calls).toHaveLength(6)
    expect(tries).toBeLessThanOrEqual(6)
  })

  test('causes one upstream call per request after an overload, until it succeeds or 30 seconds have passed', async () => {
    const w = createWorld({ a: failWith(503) }, { ...unlimited, ...keyed })
    const callsOf = async (token: string, model = 'm'): Promise<number> => {
      const before = w.calls.length
      await runClockUntil(w.chat({ model }, { authorization: `Bearer ${token}` }))
      return w.calls.length - before
    }
    expect(await callsOf('ann')).toBe(3)
    expect(await callsOf('ann')).toBe(1)
    expect(await callsOf('ben')).toBe(3)
    await advanceClock(31_000, 1000)
    expect(await callsOf('ann')).toBe(3)
    expect(await callsOf('ann')).toBe(1)
    w.behave('a', succeed)
    expect(await callsOf('ann')).toBe(1)
    w.behave('a', failWith(503))
    expect(await callsOf('ann')).toBe(3)
  })

  test('does not use up the upstream calls of an SDK with the same identity', async () => {
    const w = createWorld({ a: failWith(503) }, { ...unlimited, ...keyed })
    const authorization = 'Bearer ann'
    expect((await runClockUntil(w.chat({}, { authorization }))).status).toBe(503)
    expect(w.calls).toHaveLength(3)
    w.behave('a', succeed)
    const retried = await runClockUntil(w.chat({}, { authorization, 'x-stainless-retry-count': '1' }))
    expect([retried.status, w.calls.length]).toEqual([200, 4])
  })

  test('still falls back to other targets after an overload', async () => {
    const w = createWorld({ a: failWith(503), b: failWith(503) }, { ...unlimited, ...keyed })
    const ask = () => runClockUntil(w.chat({}, { authorization: 'Bearer ann' }))
    expect((await ask()).status).toBe(503)
    w.behave('b', succeed)
    const { status, headers } = await ask()
    expect([status, headers.get('modelgate-upstream'), headers.get('modelgate-attempts')]).toEqual([200, 'b', '2'])
  })

  test('keeps its state across a configuration reload', async () => {
    let calls = 0
    const fetch: Fetch = async () => {
      calls++
      return Response.json({ error: { message: 'Busy.' } }, { status: 503 })
    }
    const config = {
      ...unlimited,
      auth: () => ({ id: 'ann' }),
      fetch,
      models: { m: 'a' as const },
      logger: false as const,
    }
    const gateway = createGateway({ ...config, upstreams: { a: upstreamNamed('a') } })
    const body = JSON.stringify({ model: 'm', messages })
    const headers = { 'content-type': 'application/json', authorization: 'Bearer ann' }
    const ask = () => runClockUntil(gateway.fetch(`${baseURL}/v1/chat/completions`, { method: 'POST', headers, body }))
    await ask()
    expect(calls).toBe(3)
    gateway.reconfigure({ ...config, upstreams: { a: upstreamNamed('a', 'another-key') } })
    await ask()
    expect(calls).toBe(4)
  })
})

describe('response to an overload', () => {
  const cases = formats.flatMap((format) => [429, 503, 529].map((status) => ({ format, status })))
  test.each(cases)('asks a $format client to retry an upstream $status', async ({ format, status }) => {
    for (const stream of [false, true])
      for (const headers of [{}, { 'x-should-retry': 'false' }, { 'retry-after': '7' }] as Record<string, string>[]) {
        const w = createWorld({ a: failWith(status, headers) }, { ...unlimited, models: { '*': 'a' as const } })
        const request = requestTo(format, JSON.stringify(simpleRequest(format, stream)), {}, { stream })
        const answer = await runClockUntil(w.gateway.fetch(request).then(readResponse))
        expect(answer.headers.has('x-should-retry')).toBe(false)
        expect(answer.headers.get('retry-after')).toBe('retry-after' in headers ? '7' : '2')
      }
  })

  test.each([408, 409, 500, 502, 504])(
    'asks SDKs not to retry an upstream %i that the gateway has retried',
    async (status) => {
      const w = createWorld({ a: failWith(status) }, unlimited)
      const answer = await runClockUntil(w.chat())
      expect(w.calls).toHaveLength(3)
      expect(answer.headers.get('x-should-retry')).toBe('false')
    },
  )

  test('also applies to an upstream of the Messages format', async () => {
    const w = createWorld(
      { a: oneAfterAnother(failWith(529), failWith(529), succeed) },
      { ...unlimited, upstreams: { a: anthropic({ apiKey: 'key-of-a', baseURL: 'http://a.test' }) } },
    )
    const { fetch, responses } = recordingFetch(w)
    await outcome(anthropicMessages(fetch))
    expect(responses[0]?.status).toBe(529)
    expect(responses[0]?.headers.has('x-should-retry')).toBe(false)
  })
})
