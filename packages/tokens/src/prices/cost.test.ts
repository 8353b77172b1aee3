import type { BillableUnits, Usage } from '@modelgate/core'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { totalCost as costOfRuns, type PricedUse, type Rates, ratesOf } from './cost.ts'
import type { Price } from './price-table.ts'

const totalCost = (rates: Rates, use: PricedUse): bigint | undefined => costOfRuns([{ rates, ...use }])
const cost = (price: Price, use: PricedUse): number | undefined => {
  const billionths = totalCost(ratesOf(price), use)
  return billionths === undefined ? undefined : Number(billionths) / 1e9
}
const tokens = (input: Partial<Usage['input']>, output: Partial<Usage['output']> = {}): Usage => ({
  input: { total: 0, ...input },
  output: { total: 0, ...output },
})

describe('the cost by each provider’s accounting', () => {
  const chat = { input: 2, cachedInput: 0.5, output: 8 }
  const messages = { input: 3, cachedInput: 0.3, cacheWrite: 3.75, cacheWrite1h: 6, output: 15 }
  const gemini = { input: 0.3, cachedInput: 0.075, audioInput: 1, output: 2.5 }
  const realtime = { input: 4, cachedInput: 0.4, audioInput: 32, output: 16, audioOutput: 64 }
  const drawn = { input: 5, cachedInput: 1.25, imageInput: 10, output: 40 }
  it.each<[string, Price, PricedUse, number]>([
    // 8,000 × 0.5 + 2,000 × 2 + 1,000 × 8 = 16,000 millionths
    ['chat with cached tokens', chat, { usage: tokens({ total: 10_000, cacheRead: 8000 }, { total: 1000 }) }, 0.016],
    ['chat with reasoning at the output price', chat, { usage: tokens({}, { total: 1000, reasoning: 900 }) }, 0.008],
    [
      'reasoning with a separate price',
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
      'one-hour cache writes at the cache write price',
      { input: 3, cacheWrite: 3.75 },
      { usage: tokens({ total: 200, cacheWrite: 100, cacheWrite1h: 100 }) },
      0.000675,
    ],
    ['cached tokens at the input price', { input: 3 }, { usage: tokens({ total: 100, cacheRead: 100 }) }, 0.0003],
    ['cache writes at the input price', { input: 3 }, { usage: tokens({ total: 100, cacheWrite1h: 100 }) }, 0.0003],
    // 1,000 × 0.3 + 700 × 2.5, of which 500 are thoughts
    ['gemini with thoughts', gemini, { usage: tokens({ total: 1000 }, { total: 700, reasoning: 500 }) }, 0.00205],
    ['gemini with audio', gemini, { usage: tokens({ total: 1000, audio: 600 }, {}) }, 0.00072],
    // 100 × 4 + 500 × 32 + 50 × 16 + 200 × 64
    ['a realtime session', realtime, { usage: tokens({ total: 600, audio: 500 }, { total: 250, audio: 200 }) }, 0.03],
    ['images priced per image', { image: 0.04 }, { units: { images: 3 } }, 0.12],
    // 50 × 5 + 200 × 10 + 4,160 × 40; the tokens include the image
    [
      'images priced by tokens',
      drawn,
      { usage: tokens({ total: 250, image: 200 }, { total: 4160 }), units: { images: 1 } },
      0.16865,
    ],
    [
      'images priced per image that also report tokens',
      { image: 0.04 },
      { usage: tokens({ total: 50 }, { total: 1000 }), units: { images: 1 } },
      0.04,
    ],
    [
      'images priced per image plus input tokens, if both have a price',
      { input: 5, output: 0, image: 0.04 },
      { usage: tokens({ total: 1000 }, { total: 1290 }), units: { images: 1 } },
      0.045,
    ],
    ['transcription priced by the minute', { minute: 0.006 }, { units: { seconds: 90 } }, 0.009],
    // 6,000,000 billionths × 7.325 / 60 = 732,500
    ['transcription of a fraction of a second', { minute: 0.006 }, { units: { seconds: 7.325 } }, 0.0007325],
    [
      'transcription priced by tokens',
      { input: 2.5, output: 10 },
      { usage: tokens({ total: 100, audio: 100 }, { total: 20 }), units: { seconds: 10 } },
      0.00045,
    ],
    ['speech priced by the character', { characters: 15 }, { units: { characters: 2000 } }, 0.03],
    [
      'speech priced by tokens',
      { input: 0.6, audioOutput: 12 },
      { usage: tokens({ total: 100 }, { total: 500, audio: 500 }), units: { characters: 400 } },
      0.00606,
    ],
    [
      'searches in addition to tokens',
      { input: 1, output: 2, search: 0.01 },
      { usage: tokens({ total: 100 }, { total: 50 }), units: { searches: 3 } },
      0.0302,
    ],
    [
      'code executions in addition to tokens and searches',
      { input: 1, output: 2, search: 0.01, execution: 0.005 },
      { usage: tokens({ total: 100 }, { total: 50 }), units: { searches: 1, executions: 3 } },
      0.0252,
    ],
    [
      'the price per request in addition to tokens',
      { input: 1, request: 0.005 },
      { usage: tokens({ total: 100 }) },
      0.0051,
    ],
    ['only the price per request', { request: 0.002 }, {}, 0.002],
    ['zero usage', { input: 1, output: 2 }, { usage: tokens({}) }, 0],
    ['zero usage with a price per request', { input: 1, request: 0.002 }, { usage: tokens({}) }, 0.002],
    ['a free model', { input: 0, output: 0 }, { usage: tokens({ total: 100 }, { total: 50 }) }, 0],
    ['a response without images', { image: 0.04 }, { units: { images: 0 } }, 0],
  ])('is correct for %s', (_, price, use, amount) => expect(cost(price, use)).toBe(amount))
})

describe('the cost', () => {
  const both = { input: 1, output: 2 }
  it.each<[string, Price, PricedUse]>([
    ['if the number of tokens is unknown', both, {}],
    ['if the number of images is unknown', { image: 1 }, {}],
    ['if only the usage in addition to tokens is known', { ...both, search: 1 }, { units: { searches: 1 } }],
    ['if input has no price', { output: 1 }, { usage: tokens({ total: 1 }, { total: 1 }) }],
    ['if output has no price', { input: 1 }, { usage: tokens({ total: 1 }, { total: 1 }) }],
    ['if only cached input has a price', { cachedInput: 1 }, { usage: tokens({ total: 2, cacheRead: 1 }) }],
    ['if only reasoning has a price', { input: 1, reasoning: 1 }, { usage: tokens({}, { total: 2, reasoning: 1 }) }],
    ['if searches have no price', both, { usage: tokens({ total: 1 }, { total: 1 }), units: { searches: 1 } }],
    ['if code executions have no price', both, { usage: tokens({ total: 1 }, { total: 1 }), units: { executions: 1 } }],
    [
      'if images have no price and tokens do not include them',
      both,
      { usage: tokens({ total: 1 }), units: { images: 1 } },
    ],
    ['if images have no price and no tokens are reported', both, { units: { images: 1 } }],
    [
      'if seconds have no price and tokens do not include them',
      both,
      { usage: tokens({}, { total: 1 }), units: { seconds: 1 } },
    ],
    ['if characters have no price', both, { usage: tokens({ total: 1 }), units: { characters: 1 } }],
    ['if neither tokens nor other units have a price', { request: 1 }, { usage: tokens({ total: 1 }) }],
    [
      'if one part of usage with two prices is unknown',
      { image: 1, input: 1 },
      { usage: tokens({}, { total: 1 }), units: { images: 1 } },
    ],
    ['if a count is NaN', both, { usage: tokens({ total: Number.NaN }) }],
    ['if a count is infinite', both, { usage: tokens({ total: Number.POSITIVE_INFINITY }) }],
    ['if a count is below zero', both, { usage: tokens({ total: 5, cacheRead: -1 }) }],
    ['if a unit is below zero', { minute: 1 }, { units: { seconds: -1 } }],
  ])('is unknown %s', (_, price, use) => expect(cost(price, use)).toBeUndefined())
})

describe('the cost of parts that overlap', () => {
  const price = { input: 1, cachedInput: 0.1, cacheWrite: 2, audioInput: 10, output: 1, reasoning: 3, audioOutput: 20 }
  it.each<[string, Usage, number]>([
    // Of 100 tokens, 80 are cached and 50 are audio: at least 30 are both. 80 × 0.1 + 20 × 10
    ['cached audio, at the cached price', tokens({ total: 100, cacheRead: 80, audio: 50 }), 0.000208],
    ['input that is entirely cached audio', tokens({ total: 100, cacheRead: 100, audio: 100 }), 0.00001],
    // 50 × 0.1 + 40 × 10 + 10 × 1
    ['audio and cached tokens that may overlap', tokens({ total: 100, cacheRead: 50, audio: 40 }), 0.000415],
    ['more cached tokens than input tokens', tokens({ total: 10, cacheRead: 80, cacheWrite: 80 }), 0.000001],
    ['more cache reads and writes than input tokens', tokens({ total: 100, cacheRead: 80, cacheWrite: 80 }), 0.000048],
    ['reasoning and audio beyond the total', tokens({}, { total: 10, reasoning: 8, audio: 8 }), 0.000064],
    ['parts of a total of zero', tokens({ cacheRead: 5, audio: 5 }, { reasoning: 5 }), 0],
  ])('is correct for %s', (_, usage, amount) => expect(cost(price, { usage })).toBe(amount))
})

describe('a sum of prices', () => {
  it('is rounded once, with half a billionth rounded up', () => {
    // A token at 0.0005 per million costs half a billionth.
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
  fetch: rate,
  execution: rate,
})
const count = fc.integer({ min: 0, max: 10_000_000 })
/** Usage whose parts do not overlap. */
const plainUsage: fc.Arbitrary<Usage> = fc
  .record({ plain: count, cacheRead: count, write: count, cacheWrite1h: count, audio: count, image: count })
  .chain(({ plain, cacheRead, write, cacheWrite1h, audio, image }) =>
    fc
      .record({ text: count, reasoning: count, spoken: count, drawn: count })
      .map(({ text, reasoning, spoken, drawn }) => ({
        input: {
          total: plain + cacheRead + write + cacheWrite1h + audio + image,
          cacheRead,
          cacheWrite: write + cacheWrite1h,
          cacheWrite1h,
          audio,
          image,
        },
        output: { total: text + reasoning + spoken + drawn, reasoning, audio: spoken, image: drawn },
      })),
  )
const units: fc.Arbitrary<Required<BillableUnits>> = fc.record({
  images: count,
  seconds: count,
  characters: count,
  searches: count,
  fetches: count,
  executions: count,
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

describe('the cost of any usage', () => {
  it('is the same for two calls together as the sum of their costs', () =>
    fc.assert(
      fc.property(fullPrice, use, use, (price, one, other) => {
        const rates = ratesOf(price)
        const apart = (totalCost(rates, one) ?? -1n) + (totalCost(rates, other) ?? -1n)
        expect(totalCost(rates, both(one, other))).toBe(apart)
      }),
    ))

  it('never decreases with more usage', () =>
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

  it('is unknown or a whole number of billionths', () =>
    fc.assert(
      fc.property(anyPrice, anyUse, (price, anything) => {
        const billionths = totalCost(ratesOf(price), anything)
        expect(billionths === undefined || billionths >= 0n).toBe(true)
        expect(Number(billionths ?? 0n)).toBeLessThan(Number.POSITIVE_INFINITY)
      }),
      { numRuns: 1000 },
    ))

  it('is between the lowest and the highest price for overlapping parts', () =>
    fc.assert(
      fc.property(rate, rate, rate, count, count, count, (input, cachedInput, audioInput, all, cacheRead, audio) => {
        const price = { input, cachedInput, audioInput }
        const billionths = Number(totalCost(ratesOf(price), { usage: tokens({ total: all, cacheRead, audio }) }))
        // A thousandth per million is a billionth per token.
        const each = [input, cachedInput, audioInput].map((amount) => Math.round(amount * 1000))
        expect(billionths).toBeLessThanOrEqual(Math.max(...each) * all)
        expect(billionths).toBeGreaterThanOrEqual(Math.min(...each) * all)
      }),
    ))
})
