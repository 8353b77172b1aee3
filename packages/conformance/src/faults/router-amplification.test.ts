import Anthropic from '@anthropic-ai/sdk'
import { anthropic } from '@modelgate/core'
import OpenAI from 'openai'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { fetchOf } from '../base/gateways.ts'
import { type Behaviour, createWorld, printFigure, runClockUntil, stopClock } from './router-fixture.ts'
import { failWith, neverRespond, refuseConnection, respondWith } from './router-upstreams.ts'

beforeEach(stopClock)
afterEach(() => void vi.useRealTimers())

const outages: readonly [string, Behaviour][] = [
  ...[408, 409, 429, 500, 502, 503, 504, 529].map((status): [string, Behaviour] => [String(status), failWith(status)]),
  ['429 with Retry-After: 1', failWith(429, { 'retry-after': '1' })],
  ['429 with Retry-After: 30', failWith(429, { 'retry-after': '30' })],
  ['503 with Retry-After: 3600', failWith(503, { 'retry-after': '3600' })],
  ['429 for an exhausted quota', failWith(429, {}, { code: 'insufficient_quota', type: 'insufficient_quota' })],
  ['401', failWith(401)],
  ['a refused connection', refuseConnection],
  ['an empty body', respondWith('')],
  ['silence', neverRespond],
]

type Ask = (fetch: typeof globalThis.fetch) => Promise<unknown>
const messages = [{ role: 'user' as const, content: 'hi' }]
const baseURL = 'http://gateway.test'
const apiKey = 'client-token'
// The official clients with their default of two retries.
const clients: readonly [string, Ask][] = [
  [
    'openai, chat',
    (fetch) =>
      new OpenAI({ apiKey, baseURL: `${baseURL}/v1`, fetch }).chat.completions.create({ model: 'm', messages }),
  ],
  [
    'openai, chat stream',
    (fetch) =>
      new OpenAI({ apiKey, baseURL: `${baseURL}/v1`, fetch }).chat.completions.create({
        model: 'm',
        messages,
        stream: true,
      }),
  ],
  [
    'openai, responses',
    (fetch) => new OpenAI({ apiKey, baseURL: `${baseURL}/v1`, fetch }).responses.create({ model: 'm', input: 'hi' }),
  ],
  [
    'anthropic',
    (fetch) => new Anthropic({ apiKey, baseURL, fetch }).messages.create({ model: 'm', max_tokens: 10, messages }),
  ],
  [
    'anthropic stream',
    (fetch) =>
      new Anthropic({ apiKey, baseURL, fetch }).messages.create({ model: 'm', max_tokens: 10, messages, stream: true }),
  ],
]

describe.each(clients)('total outage with the default retries of %s', (name, ask) => {
  test.each([1, 2])('causes at most three upstream calls with %d target(s)', async (targets) => {
    let most = 0
    for (const [outage, behaviour] of outages) {
      const behaviours: Record<string, Behaviour> = targets === 1 ? { a: behaviour } : { a: behaviour, b: behaviour }
      const w = createWorld(behaviours, { limits: { firstByteMs: 3000 } })
      const error = await runClockUntil(
        ask(fetchOf(w.gateway)).then(
          () => undefined,
          (reason: unknown) => reason,
        ),
      )
      expect(error, outage).toBeInstanceOf(Error)
      expect(w.calls.length, outage).toBeGreaterThanOrEqual(1)
      expect(w.calls.length, outage).toBeLessThanOrEqual(3)
      most = Math.max(most, w.calls.length)
    }
    printFigure(
      20,
      `${name}, ${targets} target(s), ${outages.length} outages: at most ${most} upstream calls per user call`,
    )
  })

  test('causes at most three upstream calls with a Messages upstream', async () => {
    for (const [outage, behaviour] of outages) {
      const w = createWorld(
        { a: behaviour },
        {
          limits: { firstByteMs: 3000 },
          upstreams: { a: anthropic({ apiKey: 'key-of-a', baseURL: 'http://a.test' }) },
        },
      )
      await runClockUntil(ask(fetchOf(w.gateway)).catch(() => undefined))
      expect(w.calls.length, outage).toBeGreaterThanOrEqual(1)
      expect(w.calls.length, outage).toBeLessThanOrEqual(3)
    }
  })

  test('leaves the retries of an overload to the SDK when the retry budget is used up', async () => {
    for (const [status, calls] of [
      [503, 3],
      [500, 1],
    ] as const) {
      const w = createWorld({ a: failWith(status) }, { breaker: false, retry: { budgetFloor: 0, budgetRatio: 0 } })
      await runClockUntil(ask(fetchOf(w.gateway)).catch(() => undefined))
      expect(w.calls).toHaveLength(calls)
    }
  })
})
