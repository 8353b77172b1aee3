import type { BillableUnits, Usage } from '@modelgate/core'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type PricedUse, ratesOf, totalCost } from './cost.ts'
import type { Price } from './price-table.ts'

const cost = (price: Price, use: PricedUse): number | undefined => {
  const billionths = totalCost(ratesOf(price), use)
  return billionths === undefined ? undefined : Number(billionths) / 1e9
}
const tokens = (input: Partial<Usage['input']>, output: Partial<Usage['output']> = {}): Usage => ({
  input: { total: 0, ...input },
  output: { total: 0, ...output },
})

describe('each provider’s accounting', () => {
  const chat = { input: 2, cachedInput: 0.5, output: 8 }
  const messages = { input: 3, cachedInput: 0.3, cacheWrite: 3.75, cacheWrite1h: 6, output: 15 }
  const gemini = { input: 0.3, cachedInput: 0.075, audioInput: 1, output: 2.5 }
  const realtime = { input: 4, cachedInput: 0.4, audioInput: 32, output: 16, audioOutput: 64 }
  const drawn = { input: 5, cachedInput: 1.25, imageInput: 10, output: 40 }
  it.each<[string, Price, PricedUse, number]>([
    // 8,000 × 0.5 + 2,000 × 2 + 1,000 × 8 = 16,000 millionths
    ['chat with cached tokens', chat, { usage: tokens({ total: 10_000, cacheRead: 8000 }, { total: 1000 }) }, 0.016],
    [
      'chat with reasoning, at the price of output',
      chat,
      { usage: tokens({}, { total: 1000, reasoning: 900 }) },
      0.008,
    ],
    [
      'reasoning that has a price of its own',
      { ...chat, reasoning: 12 },
      { usage: tokens({}, { total: 1000, reasoning: 900 }) },
      0.0116,
    ],
    // 5,000 × 0.3 + 1,000 × 6 + 3,000 × 3.75 + 1,000 × 3 + 400 × 15 = 27,750 millionths
    [
      'messages with cache reads and writes of both lifetimes',
      messages,
      { usage: tokens({ total: 10_000, cacheRead: 5000, cacheWrite: 4000, cacheWrite1h: 1000 }, { total: 400 }) },
      0.02775,
    ],
    // 100 × 3.75 + 100 × 3
    [
      'writes for an hour, at the price of writes',
      { input: 3, cacheWrite: 3.75 },
      { usage: tokens({ total: 200, cacheWrite: 100, cacheWrite1h: 100 }) },
      0.000675,
    ],
    ['cached tokens, at the price of input', { input: 3 }, { usage: tokens({ total: 100, cacheRead: 100 }) }, 0.0003],
    ['writes, at the price of input', { input: 3 }, { usage: tokens({ total: 100, cacheWrite1h: 100 }) }, 0.0003],
    // 1,000 × 0.3 + 700 × 2.5, of which 500 were thoughts
    ['gemini with thoughts', gemini, { usage: tokens({ total: 1000 }, { total: 700, reasoning: 500 }) }, 0.00205],
    ['gemini with sound', gemini, { usage: tokens({ total: 1000, audio: 600 }, {}) }, 0.00072],
    // 100 × 4 + 500 × 32 + 50 × 16 + 200 × 64
    ['a realtime session', realtime, { usage: tokens({ total: 600, audio: 500 }, { total: 250, audio: 200 }) }, 0.03],
    ['images by the piece', { image: 0.04 }, { units: { images: 3 } }, 0.12],
    // 50 × 5 + 200 × 10 + 4,160 × 40; the image is in its tokens
    [
      'images by tokens',
      drawn,
      { usage: tokens({ total: 250, image: 200 }, { total: 4160 }), units: { images: 1 } },
      0.16865,
    ],
    [
      'images by the piece, which also count tokens',
      { image: 0.04 },
      { usage: tokens({ total: 50 }, { total: 1000 }), units: { images: 1 } },
      0.04,
    ],
    [
      'images by the piece and tokens of input, where both have a price',
      { input: 5, output: 0, image: 0.04 },
      { usage: tokens({ total: 1000 }, { total: 1290 }), units: { images: 1 } },
      0.045,
    ],
    ['transcription by the minute', { minute: 0.006 }, { units: { seconds: 90 } }, 0.009],
    // 6,000,000 billionths × 7.325 / 60 = 732,500
    ['transcription by a part of the second', { minute: 0.006 }, { units: { seconds: 7.325 } }, 0.0007325],
    [
      'transcription by tokens',
      { input: 2.5, output: 10 },
      { usage: tokens({ total: 100, audio: 100 }, { total: 20 }), units: { seconds: 10 } },
      0.00045,
    ],
    ['speech by the character', { characters: 15 }, { units: { characters: 2000 } }, 0.03],
    [
      'speech by tokens',
      { input: 0.6, audioOutput: 12 },
      { usage: tokens({ total: 100 }, { total: 500, audio: 500 }), units: { characters: 400 } },
      0.00606,
    ],
    [
      'searches, beside tokens',
      { input: 1, output: 2, search: 0.01 },
      { usage: tokens({ total: 100 }, { total: 50 }), units: { searches: 3 } },
      0.0302,
    ],
    ['the call itself, beside tokens', { input: 1, request: 0.005 }, { usage: tokens({ total: 100 }) }, 0.0051],
    ['the call itself alone', { request: 0.002 }, {}, 0.002],
    ['nothing at all', { input: 1, output: 2 }, { usage: tokens({}) }, 0],
    ['nothing at all, where the call has a price', { input: 1, request: 0.002 }, { usage: tokens({}) }, 0.002],
    ['what is free', { input: 0, output: 0 }, { usage: tokens({ total: 100 }, { total: 50 }) }, 0],
    ['no image after all', { image: 0.04 }, { units: { images: 0 } }, 0],
  ])('%s', (_, price, use, amount) => expect(cost(price, use)).toBe(amount))
})

describe('a cost is unknown', () => {
  const both = { input: 1, output: 2 }
  it.each<[string, Price, PricedUse]>([
    ['if nobody knows how many tokens there were', both, {}],
    ['if nobody knows how many images there were', { image: 1 }, {}],
    ['if only what comes beside the tokens is known', { ...both, search: 1 }, { units: { searches: 1 } }],
    ['if input has no price', { output: 1 }, { usage: tokens({ total: 1 }, { total: 1 }) }],
    ['if output has no price', { input: 1 }, { usage: tokens({ total: 1 }, { total: 1 }) }],
    ['if only cached input has a price', { cachedInput: 1 }, { usage: tokens({ total: 2, cacheRead: 1 }) }],
    ['if only reasoning has a price', { input: 1, reasoning: 1 }, { usage: tokens({}, { total: 2, reasoning: 1 }) }],
    ['if searches have no price', both, { usage: tokens({ total: 1 }, { total: 1 }), units: { searches: 1 } }],
    ['if images have no price and are in no tokens', both, { usage: tokens({ total: 1 }), units: { images: 1 } }],
    ['if images have no price and no tokens are told', both, { units: { images: 1 } }],
    ['if seconds have no price and are in no tokens', both, { usage: tokens({}, { total: 1 }), units: { seconds: 1 } }],
    ['if characters have no price', both, { usage: tokens({ total: 1 }), units: { characters: 1 } }],
    ['if tokens have no price, nor anything else', { request: 1 }, { usage: tokens({ total: 1 }) }],
    [
      'if a part of what is priced both ways is not',
      { image: 1, input: 1 },
      { usage: tokens({}, { total: 1 }), units: { images: 1 } },
    ],
    ['if a count is no number', both, { usage: tokens({ total: Number.NaN }) }],
    ['if a count is endless', both, { usage: tokens({ total: Number.POSITIVE_INFINITY }) }],
    ['if a count is below zero', both, { usage: tokens({ total: 5, cacheRead: -1 }) }],
    ['if a unit is below zero', { minute: 1 }, { units: { seconds: -1 } }],
  ])('%s', (_, price, use) => expect(cost(price, use)).toBeUndefined())
})

describe('parts that overlap', () => {
  const price = { input: 1, cachedInput: 0.1, cacheWrite: 2, audioInput: 10, output: 1, reasoning: 3, audioOutput: 20 }
  it.each<[string, Usage, number]>([
    // Of 100 tokens 80 were cached and 50 sound: 30 at least were both. 80 × 0.1 + 20 × 10
    ['cached sound costs what is cached', tokens({ total: 100, cacheRead: 80, audio: 50 }), 0.000208],
    ['all of it cached sound', tokens({ total: 100, cacheRead: 100, audio: 100 }), 0.00001],
    // 50 × 0.1 + 40 × 10 + 10 × 1
    ['sound and cache that may have overlapped', tokens({ total: 100, cacheRead: 50, audio: 40 }), 0.000415],
    ['more cached than there was', tokens({ total: 10, cacheRead: 80, cacheWrite: 80 }), 0.000001],
    ['more read and written than there was', tokens({ total: 100, cacheRead: 80, cacheWrite: 80 }), 0.000048],
    ['reasoning and sound beyond the total', tokens({}, { total: 10, reasoning: 8, audio: 8 }), 0.000064],
    ['parts of nothing', tokens({ cacheRead: 5, audio: 5 }, { reasoning: 5 }), 0],
  ])('%s', (_, usage, amount) => expect(cost(price, { usage })).toBe(amount))
})

describe('a sum', () => {
  it('is rounded once, half a billionth up', () => {
    // A token at 0.0005 of a million costs half a billionth.
    const halves = { input: 0.0005, output: 0.0005 }
    expect(totalCost(ratesOf(halves), { usage: tokens({ total: 1 }) })).toBe(1n)
    expect(totalCost(ratesOf(halves), { usage: tokens({ total: 1 }, { total: 1 }) })).toBe(1n)
    expect(totalCost(ratesOf(halves), { usage: tokens({ total: 2 }, { total: 1 }) })).toBe(2n)
    expect(totalCost(ratesOf({ input: 0.000499999 }), { usage: tokens({ total: 1 }) })).toBe(0n)
  })

  it('is exact beyond the precision of numbers', () =>
    expect(
      totalCost(ratesOf({ input: 0.000000001, output: 9_000_000 }), { usage: tokens({ total: 1e6 }, { total: 1e9 }) }),
    ).toBe(9_000_000_000_000_000_001n))
})

/** Prices to the thousandth and whole counts: every token costs whole billionths, so that sums are not rounded. */
const rate = fc.integer({ min: 0, max: 100_000 }).map((thousandths) => thousandths / 1000)
const fullPrice: fc.Arbitrary<Price> = fc.record({
  input: rate,
  cachedInput: rate,
  cacheWrite: rate,
  cacheWrite1h: rate,
  output: rate,
  reasoning: rate,
  audioInput: rate,
  audioOutput: rate,
  imageInput: rate,
  imageOutput: rate,
  image: rate,
  minute: rate.map((price) => Math.round(price) * 60),
  characters: rate,
  search: rate,
})
const count = fc.integer({ min: 0, max: 10_000_000 })
/** Usage whose parts do not overlap. */
const plainUsage: fc.Arbitrary<Usage> = fc
  .record({ plain: count, cacheRead: count, write: count, cacheWrite1h: count, audio: count, image: count })
  .chain(({ plain, cacheRead, write, cacheWrite1h, audio, image }) =>
    fc
      .record({ said: count, reasoning: count, spoken: count, drawn: count })
      .map(({ said, reasoning, spoken, drawn }) => ({
        input: {
          total: plain + cacheRead + write + cacheWrite1h + audio + image,
          cacheRead,
          cacheWrite: write + cacheWrite1h,
          cacheWrite1h,
          audio,
          image,
        },
        output: { total: said + reasoning + spoken + drawn, reasoning, audio: spoken, image: drawn },
      })),
  )
const units: fc.Arbitrary<Required<BillableUnits>> = fc.record({
  images: count,
  seconds: count,
  characters: count,
  searches: count,
})
const added = <T extends object>(one: T, other: T): T =>
  Object.fromEntries(
    Object.entries(one).map(([name, value]) => [name, value + (other as Record<string, number>)[name]]),
  ) as T
const use = fc.record({ usage: plainUsage, units })
const both = (one: { usage: Usage; units: BillableUnits }, other: { usage: Usage; units: BillableUnits }) => ({
  usage: { input: added(one.usage.input, other.usage.input), output: added(one.usage.output, other.usage.output) },
  units: added(one.units, other.units),
})

describe('properties', () => {
  it('the cost of two calls together equals the sum of their costs', () =>
    fc.assert(
      fc.property(fullPrice, use, use, (price, one, other) => {
        const rates = ratesOf(price)
        const apart = (totalCost(rates, one) ?? -1n) + (totalCost(rates, other) ?? -1n)
        expect(totalCost(rates, both(one, other))).toBe(apart)
      }),
    ))

  it('more costs no less', () =>
    fc.assert(
      fc.property(fullPrice, use, use, (price, one, more) => {
        const rates = ratesOf(price)
        expect(totalCost(rates, both(one, more)) ?? -1n).toBeGreaterThanOrEqual(totalCost(rates, one) ?? 0n)
      }),
    ))

  const anyCount = fc.option(fc.oneof(count, fc.double(), fc.integer(), fc.constant(-0)), { nil: undefined })
  const total = fc.oneof(count, fc.double({ min: 0, noNaN: true }))
  const anyUse = fc.record({
    usage: fc.option(
      fc.record({
        input: fc.record({ total, cacheRead: anyCount, cacheWrite: anyCount, cacheWrite1h: anyCount, audio: anyCount }),
        output: fc.record({ total, reasoning: anyCount, audio: anyCount, image: anyCount }),
      }),
      { nil: undefined },
    ),
    units: fc.option(fc.record({ images: anyCount, seconds: anyCount, searches: anyCount }), { nil: undefined }),
  }) as fc.Arbitrary<PricedUse>
  const anyPrice = fc.record(
    { input: rate, output: rate, image: rate, request: rate, audioInput: rate },
    { requiredKeys: [] },
  )

  it('for any usage, the cost is unknown or a whole number of billionths', () =>
    fc.assert(
      fc.property(anyPrice, anyUse, (price, anything) => {
        const billionths = totalCost(ratesOf(price), anything)
        expect(billionths === undefined || billionths >= 0n).toBe(true)
        expect(Number(billionths ?? 0n)).toBeLessThan(Number.POSITIVE_INFINITY)
      }),
      { numRuns: 1000 },
    ))

  it('overlapping parts cost at most the highest price and at least the lowest', () =>
    fc.assert(
      fc.property(rate, rate, rate, count, count, count, (input, cachedInput, audioInput, all, cacheRead, audio) => {
        const price = { input, cachedInput, audioInput }
        const billionths = Number(totalCost(ratesOf(price), { usage: tokens({ total: all, cacheRead, audio }) }))
        // A thousandth for a million is a billionth for one.
        const each = [input, cachedInput, audioInput].map((amount) => Math.round(amount * 1000))
        expect(billionths).toBeLessThanOrEqual(Math.max(...each) * all)
        expect(billionths).toBeGreaterThanOrEqual(Math.min(...each) * all)
      }),
    ))
})
