import type { Cost, Logger } from '@modelgate/core'
import { isThenable } from '../awaitable.ts'
import type { Prices } from './prices.ts'

/**
 * A host's prices whose failures do not reach the counting of calls: where one throws, or returns a promise or anything else that
 * is no amount, that is logged and the price is unknown. An amount that is no number would be counted as nothing.
 */
export function guardedPrices(prices: Prices, logger: Logger): Prices {
  const read = <T>(name: keyof Prices, call: () => T, isGood: (value: unknown) => boolean): T | undefined => {
    try {
      const value = call()
      if (value === undefined || isGood(value)) return value
      if (isThenable(value)) Promise.resolve(value).then(undefined, () => {})
      throw new TypeError(
        `it returned ${isThenable(value) ? 'a promise' : 'no amount'}: return it at once, from 0 upwards`,
      )
    } catch (error) {
      logger.error(`modelgate: ${name} of the prices failed; the price is taken to be unknown`, error)
      return undefined
    }
  }
  return Object.freeze<Prices>({
    currency: prices.currency,
    priceOf: (...asked) => prices.priceOf(...asked),
    costOf: (...asked) => read('costOf', () => prices.costOf(...asked), isCost),
    atLeast: (...asked) => read('atLeast', () => prices.atLeast(...asked), isAmount) ?? 0,
    estimate: (...asked) => read('estimate', () => prices.estimate(...asked), isAmount),
  })
}

const isAmount = (value: unknown): value is number =>
  typeof value === 'number' && value >= 0 && value !== Number.POSITIVE_INFINITY

const isCost = (value: unknown): value is Cost =>
  typeof value === 'object' &&
  value !== null &&
  'amount' in value &&
  isAmount(value.amount) &&
  'currency' in value &&
  typeof value.currency === 'string'
