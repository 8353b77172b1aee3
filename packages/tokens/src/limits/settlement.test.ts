import type { FinishEvent } from '@modelgate/core'
import { describe, expect, it } from 'vitest'
import { costOfCall, createPrices } from '../prices/prices.ts'
import { callOf, endOf, tokenWith, took } from './call.test-support.ts'
import { reservedMeters } from './reserve.ts'
import { settlementOf } from './settlement.ts'
import { metersOf } from './token-meters.ts'

const prices = createPrices({
  currency: 'EUR',
  models: { 'gpt-5': { input: 10, output: 20 }, drawn: { image: 1 }, half: { output: 20 } },
})
const token = tokenWith({
  limits: { requests: 9, tokens: 1e15, inputTokens: 1e15, outputTokens: 1e15 },
  budget: { money: 1000, period: 'day' },
})
const reserved = reservedMeters(metersOf(token), callOf('req_1'), { prices, outputTokens: 4096, unpriced: 'refuse' })
const settle = (more: Partial<FinishEvent>) => {
  const event = endOf('req_1', more)
  const { meters, sums } = settlementOf(event, { tokenId: token.id, meters: reserved, at: 7, prices })
  const actual = Object.fromEntries(meters.map((meter) => [meter.name.split(':').at(-1), meter.actual]))
  return { actual, model: sums?.model, add: sums?.add }
}
/** Event as the gateway emits it, with the cost that the plugin computes. */
const settlePriced = (more: Partial<FinishEvent>) => {
  const cost = costOfCall(prices, endOf('req_1', more))
  return settle(cost === undefined ? more : { ...more, cost })
}
const attempt = { upstream: 'openai', model: 'gpt-5', reason: 'first', startedMs: 0 } as const
const atWork = { attempts: [attempt], firstEventMs: 3 }
/** Reservation of 100 input and 50 output tokens, and of 2,000,000 billionths. */
const asReserved = { requests: 1, tokens: 150, inputTokens: 100, outputTokens: 50, money: 2_000_000 }
const nothing = { requests: 1, tokens: 0, inputTokens: 0, outputTokens: 0, money: 0 }

describe('token counts of an upstream', () => {
  it.each([
    [1.5, 2],
    [-100_000, 0],
    [Number.NaN, 0],
    [Number.POSITIVE_INFINITY, Number.MAX_SAFE_INTEGER],
    [1e300, Number.MAX_SAFE_INTEGER],
  ])('of %s are settled as %s', (reported, counted) => {
    const { actual, add } = settle({ ...took(reported, 1, reported), ...atWork })
    expect(actual).toMatchObject({
      inputTokens: counted,
      outputTokens: 1,
      tokens: Math.min(counted + 1, Number.MAX_SAFE_INTEGER),
    })
    expect(add).toMatchObject({ inputTokens: counted, cachedTokens: counted, outputTokens: 1 })
  })
})

describe('a cost', () => {
  it('is charged to the budget', () =>
    expect(settlePriced({ ...took(1000, 0), ...atWork })).toMatchObject({
      actual: { money: 10_000_000 },
      add: { cost: 10_000_000, unpriced: 0 },
    }))
  it.each([
    ['another currency', { amount: 500, currency: 'JPY' }],
    ['a negative amount', { amount: -5, currency: 'EUR' }],
    ['an amount of NaN', { amount: Number.NaN, currency: 'EUR' }],
    ['an infinite amount', { amount: Number.POSITIVE_INFINITY, currency: 'EUR' }],
  ])('of %s is unknown', (_, cost) =>
    expect(settle({ ...took(1, 1), ...atWork, cost })).toMatchObject({
      actual: { money: 2_000_000 },
      add: { cost: 0, unpriced: 1 },
    }),
  )
  it('beyond exact integers is capped at the largest exact integer', () =>
    expect(settle({ ...took(1, 1), ...atWork, cost: { amount: 1e300, currency: 'EUR' } })).toMatchObject({
      actual: { money: Number.MAX_SAFE_INTEGER },
    }))
  it('that is unknown charges its known part if that exceeds the reservation', () => {
    const searched = { units: { searches: 1 }, ...atWork }
    const upstream = { upstream: 'openai', upstreamModel: 'gpt-5' }
    expect(settlePriced({ ...took(10, 64_000), ...searched, ...upstream })).toMatchObject({
      actual: { money: 1_280_100_000 },
      add: { cost: 0, unpriced: 1 },
    })
    expect(settlePriced({ ...took(10, 1), ...searched, ...upstream }).actual.money).toBe(2_000_000)
    // Its input has no price.
    expect(settlePriced({ ...took(10, 1000), ...atWork, ...upstream, upstreamModel: 'half' }).actual.money).toBe(
      20_000_000,
    )
  })
})

describe('a call with unknown usage', () => {
  it.each<[string, Partial<FinishEvent>]>([
    ['that finished', { ...atWork, finish: 'queued' }],
    ['whose client disconnected after the response had begun', { ...atWork, outcome: 'aborted' }],
    ['that was abandoned at its upstream', { attempts: [attempt], outcome: 'aborted', status: 499, abandoned: true }],
    ['that was abandoned after a timeout', { attempts: [attempt], outcome: 'failed', status: 504, abandoned: true }],
  ])('%s keeps its reserved tokens and money', (_, end) => {
    expect(settlePriced(end)).toMatchObject({ actual: asReserved, add: { unpriced: 1, cost: 0, inputTokens: 0 } })
  })
  it('uses nothing if it reached no model', () => {
    const end: Partial<FinishEvent> = { attempts: [{ ...attempt, status: 429 }], outcome: 'failed', status: 429 }
    expect(settlePriced(end)).toMatchObject({ actual: nothing, add: { unpriced: 0 } })
    expect(settlePriced({ attempts: [] })).toMatchObject({ actual: nothing, add: { unpriced: 0 } })
  })
  it('of a session keeps the reserved amounts for each response without usage, and adds them to the known usage', () => {
    const doubled = { requests: 1, tokens: 300, inputTokens: 200, outputTokens: 100, money: 4_000_000 }
    expect(settlePriced({ ...atWork, unreportedResponses: 1 }).actual).toEqual(asReserved)
    expect(settlePriced({ ...atWork, unreportedResponses: 2 }).actual).toEqual(doubled)
    const known = { ...atWork, ...took(100, 50), upstream: 'openai', upstreamModel: 'gpt-5' }
    expect(settlePriced({ ...known, unreportedResponses: 1 }).actual).toEqual(doubled)
  })
  it('is priced as usual if a part of its usage is known', () => {
    const abandoned = { attempts: [attempt], outcome: 'aborted', abandoned: true } as const
    expect(settlePriced({ ...abandoned, ...took(80, 0), basis: 'partial' })).toMatchObject({
      actual: { tokens: 80, money: 800_000 },
      add: { unpriced: 0 },
    })
    expect(
      settlePriced({ ...atWork, upstream: 'openai', upstreamModel: 'drawn', units: { images: 3 } }).actual,
    ).toEqual({ ...nothing, money: 3_000_000_000 })
  })
})

describe('the model name in the sums', () => {
  const model = 'whatever-a-client-says'
  it.each<[Partial<FinishEvent>, string]>([
    [{ ...atWork }, model],
    [{ ...atWork, outcome: 'aborted' }, model],
    [{ outcome: 'failed', status: 404 }, '(no response)'],
    [{ ...took(80, 0), basis: 'partial', outcome: 'aborted', abandoned: true }, '(no response)'],
  ])('for %j is %s', (end, name) => expect(settle({ ...end, model }).model).toBe(name))
  it('is truncated to 200 characters', () =>
    expect(settle({ ...atWork, model: 'x'.repeat(1e6) }).model).toBe('x'.repeat(200)))
})
