import { describe, expect, it } from 'vitest'
import { type ErrorKind, errorKinds } from '../base/error-kinds.ts'
import { GatewayError } from '../base/errors.ts'
import { backoffMs, defaultRetry, resolveRetry, retryScope } from './retry-policy.ts'

describe('retryOf', () => {
  const odd = { maxWaitMs: undefined } as unknown as { maxWaitMs: number }
  it.each([
    ['nothing', [undefined, undefined], {}],
    ['an empty wish', [{}, {}], {}],
    ['the gateway’s', [{ attempts: 5, backoffMs: 9 }, undefined], { attempts: 5, backoffMs: 9 }],
    [
      'the model’s before the gateway’s',
      [{ attempts: 5, backoffMs: 9 }, { attempts: 2 }],
      { attempts: 2, backoffMs: 9 },
    ],
    ['false: one attempt', [false, undefined], { attempts: 1 }],
    ['false, and a model that has its own', [false, { attempts: 4 }], { attempts: 4 }],
    ['false, and a model that says something else', [false, { maxWaitMs: 0 }], { attempts: 1, maxWaitMs: 0 }],
    ['an undefined setting is none', [{ maxWaitMs: 5 }, odd], { maxWaitMs: 5 }],
  ] as const)('%s', (_, settings, meant) => expect(resolveRetry(...settings)).toEqual({ ...defaultRetry, ...meant }))

  it('leaves the defaults alone', () => {
    resolveRetry({ attempts: 9 })
    expect(defaultRetry.attempts).toBe(3)
  })
})

describe('the wait before a retry', () => {
  it.each([
    [1, 500],
    [2, 1000],
    [3, 2000],
    [4, 4000],
    [5, 8000],
    [6, 8000],
    [2000, 8000],
  ])('%i is any part of %i ms', (retry, longest) => {
    expect([0, 0.5, 1].map((part) => backoffMs(retry, defaultRetry, () => part))).toEqual([0, longest / 2, longest])
  })

  it('is spread over the whole time', () => {
    const waits = Array.from({ length: 2000 }, () => backoffMs(1, defaultRetry))
    expect(Math.min(...waits)).toBeLessThan(25)
    expect(Math.max(...waits)).toBeGreaterThan(475)
    expect(Math.max(...waits)).toBeLessThan(500)
  })
})

describe('after an error the gateway retries', () => {
  const sameTarget = [
    'conflict',
    'overloaded',
    'rate_limited',
    'timeout',
    'upstream_bad_response',
    'upstream_connect_timeout',
    'upstream_error',
    'upstream_timeout',
    'upstream_truncated',
    'upstream_unreachable',
  ]
  const otherTarget = ['internal', 'quota_exceeded', 'upstream_auth', 'upstream_idle_timeout', 'upstream_total_timeout']
  it.each(Object.keys(errorKinds) as ErrorKind[])('%s', (kind) => {
    const expected = sameTarget.includes(kind) ? 'same-target' : otherTarget.includes(kind) ? 'other-target' : 'none'
    expect(retryScope(new GatewayError(kind, 'It failed.'))).toBe(expected)
  })
})
