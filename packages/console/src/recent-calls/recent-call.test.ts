import { expect, it } from 'vitest'
import { recentCallOf } from './recent-call.ts'

const long = 'x'.repeat(10_000)

it('bounds every text and list of a call', () => {
  const many = <T>(item: T): T[] => Array.from({ length: 200 }, () => item)
  const call = recentCallOf({
    requestId: long,
    identity: { id: long, name: long, content: long },
    operation: 'generate',
    format: 'chat',
    model: long,
    upstream: long,
    upstreamModel: long,
    stream: true,
    status: 200,
    outcome: 'finished',
    finish: long,
    cost: { amount: 1, currency: long },
    losses: many({ path: long, kind: 'unsupported', severity: 'warn', detail: long }),
    skipped: many({ upstream: long, model: long, reason: long, param: long }),
    attempts: many({
      upstream: long,
      model: long,
      reason: 'first',
      startedMs: 0,
      upstreamRequestId: long,
      cause: { code: long, address: long },
    }),
    startedAt: 0,
    durationMs: 1,
    error: new Error(long),
  })
  expect(JSON.stringify(call).length).toBeLessThan(40_000)
  expect([call.attemptCount, call.lossCount]).toEqual([200, 200])
  expect(call.attempts[0]?.upstream).toBe(`${'x'.repeat(127)}…`)
})
