import { GatewayError } from '@modelgate/core'
import { describe, expect, it } from 'vitest'
import { checkBudgets, checkLimits } from './limit-settings.ts'

const paramOf = (run: () => unknown): string | undefined => {
  try {
    run()
  } catch (error) {
    if (error instanceof GatewayError && error.info.kind === 'invalid_request') return error.info.param
    throw error
  }
  return undefined
}

describe('checkLimits', () => {
  it.each([
    [{ requests: 60 }, [{ requests: 60 }]],
    [[{ models: 'gpt-*', tokens: 5, window: 'hour' }], [{ models: 'gpt-*', tokens: 5, window: 'hour' }]],
    [{ models: ['a', 'b'], concurrent: 1, window: 0.5 }, [{ models: ['a', 'b'], concurrent: 1, window: 0.5 }]],
    [{ requests: 60, window: undefined, tokens: undefined }, [{ requests: 60 }]],
    [[], []],
  ])('accepts %j', (given, kept) => expect(checkLimits(given)).toEqual(kept))
  it.each<[unknown, string]>([
    ['fast', 'limits'],
    [null, 'limits'],
    [[{ requests: 1 }, 7], 'limits[1]'],
    [{}, 'limits'],
    [{ window: 'hour' }, 'limits'],
    [{ requests: 0 }, 'limits.requests'],
    [{ requests: 1.5 }, 'limits.requests'],
    [{ requests: '60' }, 'limits.requests'],
    [{ requests: Number.NaN }, 'limits.requests'],
    [{ requests: 1e16 }, 'limits.requests'],
    [[{ tokens: -1 }], 'limits[0].tokens'],
    [{ requests: 1, window: 'week' }, 'limits.window'],
    [{ requests: 1, window: 0 }, 'limits.window'],
    [{ requests: 1, window: 1e9 }, 'limits.window'],
    [{ requests: 1, models: [] }, 'limits.models'],
    [{ requests: 1, models: [7] }, 'limits.models'],
    [{ requests: 1, models: '' }, 'limits.models'],
    [{ request: 1 }, 'limits.request'],
    [JSON.parse('{"__proto__": 1, "requests": 1}'), 'limits.__proto__'],
  ])('rejects %j with param %s', (given, param) => expect(paramOf(() => checkLimits(given))).toBe(param))
})

describe('checkBudgets', () => {
  it.each([
    [{ money: 20, period: 'month' }, [{ money: 20, period: 'month' }]],
    [[{ tokens: 0, period: 'total', models: 'x' }], [{ tokens: 0, period: 'total', models: 'x' }]],
  ])('accepts %j', (given, kept) => expect(checkBudgets(given)).toEqual(kept))
  it.each<[unknown, string]>([
    [7, 'budget'],
    [{ money: 20 }, 'budget.period'],
    [{ money: 20, period: 'year' }, 'budget.period'],
    [{ period: 'day' }, 'budget'],
    [{ period: 'day', money: 1, tokens: 1 }, 'budget'],
    [{ period: 'day', money: -1 }, 'budget.money'],
    [{ period: 'day', money: Number.POSITIVE_INFINITY }, 'budget.money'],
    [{ period: 'day', money: '5' }, 'budget.money'],
    [[{ period: 'day', tokens: 0.5 }], 'budget[0].tokens'],
    [{ period: 'day', usd: 5 }, 'budget.usd'],
  ])('rejects %j with param %s', (given, param) => expect(paramOf(() => checkBudgets(given))).toBe(param))
})
