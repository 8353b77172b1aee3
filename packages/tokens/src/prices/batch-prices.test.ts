import { describe, expect, it } from 'vitest'
import { createPrices, type PricedCall } from './prices.ts'

const prices = createPrices({
  models: {
    plain: {
      input: 4,
      cachedInput: 1,
      output: 10,
      search: 0.01,
      execution: 0.005,
      longContext: { above: 100_000, input: 8 },
    },
    tiered: { input: 4, output: 10, tiers: { batch: { input: 1 } } },
  },
})
const millions = { input: { total: 1_000_000 }, output: { total: 1_000_000 } }
const cost = (model: string, call: Partial<PricedCall>): number | undefined =>
  prices.costOf({ upstream: 'up', model, usage: millions, operation: 'batch', tier: 'batch', ...call })?.amount

describe('the price of a batch', () => {
  it('is half the usual one, except for searches and code executions', () => {
    const runs = [{ ...millions, largestInput: 50_000 }]
    expect(cost('plain', { runs })).toBe(7)
    expect(cost('plain', { runs, units: { searches: 2, executions: 1 } })).toBe(7.025)
  })

  it('follows the tier in the price table', () => expect(cost('tiered', {})).toBe(11))

  it('is that of a long input only for requests that are long themselves', () => {
    expect(cost('plain', { runs: [{ ...millions, largestInput: 100_001 }] })).toBe(9)
    expect(cost('plain', { runs: [{ ...millions, largestInput: 100_000 }] })).toBe(7)
  })

  it('has no default for another operation whose response claims the tier', () =>
    expect(cost('plain', { operation: 'generate' })).toBeUndefined())

  it('is the price of an estimate', () => {
    const use = { input: 1_000_000, output: 0, operation: 'batch', largestInput: 10 }
    expect(prices.estimate([{ upstream: 'up', model: 'plain' }], use)).toBe(2e9)
    expect(prices.estimate([{ upstream: 'up', model: 'plain' }], { ...use, operation: 'generate' })).toBe(4e9)
  })
})
