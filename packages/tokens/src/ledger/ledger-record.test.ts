import { type FinishEvent, GatewayError } from '@modelgate/core'
import { expect, it } from 'vitest'
import { memoryLedger, recordOf } from './ledger-record.ts'

const least: FinishEvent = {
  requestId: 'req_1',
  identity: null,
  operation: 'generate',
  format: 'chat',
  model: 'fast',
  stream: false,
  status: 200,
  outcome: 'finished',
  losses: [],
  attempts: [],
  startedAt: Date.UTC(2026, 10, 21, 10),
  durationMs: 12.5,
}

/** A call with a value in every field. Fields that may quote the secret contain it. */
const secret = 'SECRET'
const full: Required<FinishEvent> = {
  ...least,
  identity: { id: 'tok_1', owner: 'ann', metadata: { note: secret }, credential: secret },
  upstream: 'claude',
  upstreamModel: 'claude-opus-5',
  upstreamFormat: 'messages',
  lane: 'translate',
  finish: 'end_turn',
  usage: {
    input: { total: 100, cacheRead: 60, cacheWrite: 30, cacheWrite1h: 10, audio: 1, image: 2, tool: 3 },
    output: { total: 20, reasoning: 5, audio: 1, image: 1 },
    raw: { format: 'messages', value: { quoted: secret } },
  },
  basis: 'reported',
  abandoned: true,
  uncounted: true,
  units: { images: 1, seconds: 2.5, characters: 3, searches: 4, fetches: 5, executions: 6 },
  cost: { amount: 0.1 + 0.2, currency: 'EUR' },
  losses: [{ path: '/seed', kind: 'unsupported', severity: 'warn', detail: `The seed is ${secret}.` }],
  attempts: [
    { upstream: 'claude', model: 'claude-opus-5', key: 1, reason: 'first', startedMs: 1, status: 200, latencyMs: 9 },
  ],
  estimate: 'characters',
  firstEventMs: 9.5,
  error: new GatewayError('rate_limited', `Said: ${secret}`, { cause: new Error(secret) }),
} as Required<FinishEvent>

it('describes a call without its content', () => {
  expect(recordOf(full)).toEqual({
    id: 'req_1',
    time: '2026-11-21T10:00:00.000Z',
    token: 'tok_1',
    owner: 'ann',
    operation: 'generate',
    format: 'chat',
    model: 'fast',
    upstream: 'claude',
    upstreamModel: 'claude-opus-5',
    attempts: full.attempts,
    status: 200,
    outcome: 'finished',
    error: 'rate_limited',
    basis: 'reported',
    abandoned: true,
    uncounted: true,
    usage: { input: 100, cacheRead: 60, cacheWrite: 30, output: 20, reasoning: 5 },
    units: { images: 1, seconds: 2.5, characters: 3, searches: 4, fetches: 5, executions: 6 },
    cost: 0.3,
    currency: 'EUR',
    losses: [{ path: '/seed', kind: 'unsupported', severity: 'warn' }],
    durationMs: 12.5,
    firstEventMs: 9.5,
    stream: false,
  })
  expect(JSON.stringify(recordOf(full))).not.toContain(secret)
})

it('omits unknown fields', () =>
  expect(Object.keys(recordOf(least)).sort()).toEqual(
    [
      'attempts',
      'durationMs',
      'format',
      'id',
      'losses',
      'model',
      'operation',
      'outcome',
      'status',
      'stream',
      'time',
      'token',
    ].sort(),
  ))

it('has a null token for a call without one, and an owner only if it is a string', () => {
  expect(recordOf(least).token).toBeNull()
  expect(recordOf({ ...least, identity: { id: 'x', owner: { name: secret } } })).not.toHaveProperty('owner')
})

it.each([
  ['a GatewayError', new GatewayError('overloaded', secret), 'overloaded'],
  [
    'an error of another copy of the class',
    Object.assign(new Error(secret), { name: 'GatewayError', info: { kind: 'timeout' } }),
    'timeout',
  ],
  ['a TypeError of the host', new TypeError(secret), 'internal'],
  [
    'an error that resembles a GatewayError',
    Object.assign(new Error(secret), { name: 'GatewayError', info: secret }),
    'internal',
  ],
  ['a value that is not an error', secret, 'internal'],
  ['undefined', undefined, undefined],
])('stores only the kind of %s', (_, error, kind) =>
  expect(recordOf({ ...least, ...(error === undefined ? {} : { error }) }).error).toBe(kind),
)

it.each([
  [0.1 + 0.2, 0.3],
  [1e-9, 1e-9],
  [4e-10, 0],
  [123.456789012345, 123.456789012],
  [Number.NaN, undefined],
])('writes a cost of %d as %d', (amount, cost) => {
  const record = recordOf({ ...least, cost: { amount, currency: 'USD' } })
  expect(record.cost).toBe(cost)
  expect(record.currency).toBe(cost === undefined ? undefined : 'USD')
})

it('has a bounded size, whatever a client sends', () => {
  const long = 'x'.repeat(1_000_000)
  const losses = Array.from(
    { length: 5000 },
    () => ({ path: `/${long}`, kind: 'unknown', severity: 'warn', detail: '' }) as const,
  )
  const attempts = [{ upstream: 'u', model: long, reason: 'first', startedMs: 0 }] as const
  const record = recordOf({ ...least, model: long, upstreamModel: long, losses, attempts })
  expect(JSON.stringify(record).length).toBeLessThan(100_000)
  expect(record.model).toBe(`${'x'.repeat(512)}…`)
  expect(record.losses).toHaveLength(100)
})

it('does not change when the event changes later', () => {
  const attempts = [{ upstream: 'u', model: 'm', reason: 'first' as const, startedMs: 0, status: 200 }]
  const record = recordOf({ ...least, attempts })
  attempts[0] = { ...attempts[0], status: 500 } as (typeof attempts)[0]
  attempts.length = 0
  expect(record.attempts).toMatchObject([{ status: 200 }])
})

it('can be collected in memory', async () => {
  const ledger = memoryLedger()
  await ledger.append(recordOf(least))
  await ledger.append(recordOf(full))
  expect(ledger.records).toEqual([recordOf(least), recordOf(full)])
})
