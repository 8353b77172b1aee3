import { GatewayError } from '@modelgate/core'
import { describe, expect, it } from 'vitest'
import { requiredRoom } from '../contract/meter-store.ts'
import type { TokenSettings } from '../contract/token.ts'
import { createPrices } from '../prices/prices.ts'
import { callOf, tokenWith } from './call.test-support.ts'
import { reservedMeters } from './reserve.ts'
import { metersOf } from './token-meters.ts'

const prices = createPrices({ models: { 'gpt-5': { input: 10, output: 20 }, free: { input: 0, output: 0 } } })
const reserve = (
  settings: Pick<TokenSettings, 'limits' | 'budget'>,
  call: Parameters<typeof callOf>[1],
): readonly (readonly [string, number, number])[] =>
  reservedMeters(metersOf(tokenWith(settings)), callOf('req_1', call), {
    prices,
    outputTokens: 4096,
    unpriced: 'refuse',
  }).map(({ of, meter }) => [of, meter.amount, requiredRoom(meter)] as const)
const everything: Pick<TokenSettings, 'limits' | 'budget'> = {
  limits: { requests: 5, concurrent: 5, tokens: 5, inputTokens: 5, outputTokens: 5 },
  budget: { money: 1, period: 'day' },
}

describe('the reservation', () => {
  it.each([
    ['for an estimate of zero', { input: 0, output: 0 }, 0, 0],
    ['for fractional estimates', { input: 1.2, output: 0.5 }, 2, 1],
    ['for negative estimates', { input: -1e15, output: -5 }, 0, 0],
    ['for infinite estimates', { input: Number.POSITIVE_INFINITY, output: 1 }, Number.MAX_SAFE_INTEGER, 1],
    ['for estimates that are NaN', { input: Number.NaN, output: 1 }, 0, 1],
  ])('%s is a valid count and requires room for at least one', (_, estimate, input, output) => {
    const all = Math.min(input + output, Number.MAX_SAFE_INTEGER)
    const money = Math.min(input * 10_000 + output * 20_000, Number.MAX_SAFE_INTEGER)
    expect(reserve(everything, estimate)).toEqual([
      ['requests', 1, 1],
      ['tokens', all, Math.max(1, all)],
      ['inputTokens', input, Math.max(1, input)],
      ['outputTokens', output, Math.max(1, output)],
      ['concurrent', 1, 1],
      ['money', money, Math.max(1, money)],
    ])
  })
  it('for a free model requires a budget with a remainder', () => {
    expect(
      reserve({ budget: { money: 1, period: 'day' } }, { targets: [{ upstream: 'openai', model: 'free' }] }),
    ).toEqual([['money', 0, 1]])
  })
  it('for counting tokens contains only the call, and requires no price', () => {
    const call = { operation: 'count-tokens', targets: [{ upstream: 'openai', model: 'mystery' }] } as const
    expect(reserve(everything, call)).toEqual([
      ['requests', 1, 1],
      ['concurrent', 1, 1],
    ])
  })
})

describe.each([
  ["a provider's client secret for realtime sessions", 'realtime-sessions', 'connect a WebSocket to /v1/realtime'],
  ['a realtime call over WebRTC', 'create-call', 'connect a WebSocket to /v1/realtime'],
  ['a phone call', 'accept-call', 'Use a token without a budget'],
] as const)('%s', (_, operation, advice) => {
  const call = { operation } as const
  it.each<Pick<TokenSettings, 'limits' | 'budget'>>([
    { budget: { money: 1, period: 'total' } },
    { budget: { tokens: 1, period: 'total', models: 'another' } },
    { limits: { tokens: 1 } },
    { limits: [{ requests: 1 }, { inputTokens: 1 }] },
    { limits: { outputTokens: 1 } },
  ])('is rejected for a token with %j', (settings) => {
    const refused = (): unknown => reserve(settings, call)
    expect(refused).toThrow(GatewayError)
    expect(refused).toThrow(advice)
  })
  it('counts as one call of a token whose limits only count calls', () => {
    expect(reserve({ limits: { requests: 5, concurrent: 2 } }, call)).toEqual([
      ['requests', 1, 1],
      ['concurrent', 1, 1],
    ])
    expect(reserve({}, call)).toEqual([])
  })
})
