import { describe, expect, it } from 'vitest'
import { createPrices } from './prices.ts'

const base = { input: 1, output: 2 }
const create = (price: unknown) => () => createPrices({ models: { m: price } } as never)

describe('groups of prices', () => {
  it.each([
    [{ ...base, longContext: { input: 3 } }, /\.longContext\.above is missing/],
    [{ ...base, longContext: { above: 200_000 } }, /\.longContext has no price/],
    [{ ...base, longContext: { above: '200k', input: 3 } }, /\.longContext\.above is "200k": write a number of tokens/],
    [{ ...base, longContext: { above: 1, input: 3, tiers: {} } }, /longContext: unknown field "tiers"/],
    [{ ...base, tiers: {} }, /\.tiers is \{\}: write an object/],
    [{ ...base, tiers: { flex: {} } }, /\.tiers\["flex"\] has no price/],
    [{ ...base, tiers: { flex: { input: -1 } } }, /\.tiers\["flex"\]\.input is -1/],
    [{ ...base, tier: { flex: { input: 1 } } }, /unknown field "tier"/],
    [{ ...base, longcontext: { above: 1 } }, /unknown field "longcontext": write "longContext"/],
    [{ ...base, from: '2027-01-01' }, /unknown field "from"/],
    [[], /is an empty list/],
    [[{ ...base, from: '2027-02-30' }], /\[0\]\.from is "2027-02-30": write a day/],
    [[{ ...base, from: 'soon' }], /\[0\]\.from is "soon": write a day/],
    [[base, base], /\[1\]\.from is undefined, as in another price/],
    [[{ from: '2027-01-01' }], /\[0\] has no price/],
  ])('%j is rejected', (price, message) => expect(create(price)).toThrow(message))

  it('of a date are valid from its first moment in UTC; before the first one there is no price', () => {
    const prices = createPrices({
      models: {
        m: [
          { from: '2027-02-01', input: 3 },
          { from: '2027-01-01', input: 2 },
        ],
      },
    })
    const call = { upstream: 'u', model: 'm', usage: { input: { total: 1_000_000 }, output: { total: 0 } } }
    const at = (day: string) => prices.costOf({ ...call, at: Date.parse(day) })?.amount
    expect(at('2026-12-31T23:59:59Z')).toBeUndefined()
    expect(at('2027-01-01T00:00:00Z')).toBe(2)
    expect(at('2027-02-01T00:00:00Z')).toBe(3)
  })

  it('of a tier inherit the usual prices, but not those of long inputs', () => {
    const longContext = { above: 10, input: 9 }
    const prices = createPrices({ models: { m: { ...base, longContext, tiers: { flex: { input: 0.5 } } } } })
    const call = { upstream: 'u', model: 'm', usage: { input: { total: 1_000_000 }, output: { total: 1_000_000 } } }
    expect(prices.costOf(call)?.amount).toBe(11)
    expect(prices.costOf({ ...call, tier: 'flex' })?.amount).toBe(2.5)
  })

  it('that are missing for a tier leave the cost unknown, and charge budgets the usual price', () => {
    const prices = createPrices({ models: { m: { ...base, tiers: { flex: { input: 0.5, output: 1 } } } } })
    const usage = { input: { total: 1_000_000 }, output: { total: 0 } }
    const call = { upstream: 'u', model: 'm', usage, tier: 'priority' }
    expect(prices.costOf(call)).toBeUndefined()
    expect(prices.atLeast(call)).toBe(1e9)
    expect(prices.atLeast({ ...call, tier: 'flex' })).toBe(5e8)
  })

  it('are part of estimates', () => {
    const prices = createPrices({ models: { m: { input: 1, longContext: { above: 100, input: 2 } } } })
    const estimate = (input: number) => prices.estimate([{ upstream: 'u', model: 'm' }], { input, output: 0 })
    expect([estimate(100), estimate(101)]).toEqual([100_000, 202_000])
  })
})
