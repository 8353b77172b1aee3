import { describe, expect, it } from 'vitest'
import { type ErrorKind, errorKinds } from '../base/error-kinds.ts'
import { GatewayError } from '../base/errors.ts'
import { backoffMs, defaultRetry, resolveRetry, retryScope } from './retry-policy.ts'

describe('retryOf', () => {
  const odd = { maxWaitMs: undefined } as unknown as { maxWaitMs: number }
  it.each([
    ['the defaults', [undefined, undefined], {}],
    ['the defaults for empty settings', [{}, {}], {}],
    ['the settings of the gateway', [{ attempts: 5, backoffMs: 9 }, undefined], { attempts: 5, backoffMs: 9 }],
    [
      'the settings of the model over those of the gateway',
      [{ attempts: 5, backoffMs: 9 }, { attempts: 2 }],
      { attempts: 2, backoffMs: 9 },
    ],
    ['one attempt for false', [false, undefined], { attempts: 1 }],
    ['the attempts of the model over false of the gateway', [false, { attempts: 4 }], { attempts: 4 }],
    [
      'one attempt for false and a model with another setting',
      [false, { maxWaitMs: 0 }],
      { attempts: 1, maxWaitMs: 0 },
    ],
    ['the gateway’s value for an undefined setting', [{ maxWaitMs: 5 }, odd], { maxWaitMs: 5 }],
  ] as const)('returns %s', (_, settings, meant) =>
    expect(resolveRetry(...settings)).toEqual({ ...defaultRetry, ...meant }),
  )

  it('does not change the defaults', () => {
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
  ])('%i is a random part of %i ms', (retry, longest) => {
    expect([0, 0.5, 1].map((part) => backoffMs(retry, defaultRetry, () => part))).toEqual([0, longest / 2, longest])
  })

  it('is spread over the whole time', () => {
    const waits = Array.from({ length: 2000 }, () => backoffMs(1, defaultRetry))
    expect(Math.min(...waits)).toBeLessThan(25)
    expect(Math.max(...waits)).toBeGreaterThan(475)
    expect(Math.max(...waits)).toBeLessThan(500)
  })
})

describe('the retry scope of an error', () => {
  const sameTarget = [
    'conflict',
    'overloaded',
    'rate_limited',

    'upstream_bad_response',
    'upstream_connect_timeout',
    'upstream_error',
    'upstream_timeout',
    'upstream_truncated',
    'upstream_unreachable',
  ]
  const otherTarget = [
    'request_too_large',
    'context_length_exceeded',
    'internal',
    'quota_exceeded',
    'upstream_auth',
    'upstream_idle_timeout',
    'upstream_total_timeout',
  ]
  it.each(Object.keys(errorKinds) as ErrorKind[])('of kind %s is the same target, another target or none', (kind) => {
    const expected = sameTarget.includes(kind) ? 'same-target' : otherTarget.includes(kind) ? 'other-target' : 'none'
    expect(retryScope(new GatewayError(kind, 'It failed.'))).toBe(expected)
  })
})
