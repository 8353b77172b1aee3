import type { FinishEvent, Logger } from '@modelgate/core'
import { type Prices, pricedCallOf } from './prices.ts'

/** Maximum number of models in warnings: clients can choose names if a route contains `*`. */
const maxWarned = 100

/** Creates a function that warns of calls with an unknown cost, once for each model: their cost is missing in every sum. */
export function createUnpricedWarning(prices: Prices, logger: Logger): (event: FinishEvent) => void {
  const warned = new Set<string>()
  return (event) => {
    const call = pricedCallOf(event)
    if (call === undefined || warned.size >= maxWarned) return
    const name = `${call.upstream}/${call.model}`
    if (warned.has(name)) return
    const isMissing = prices.priceOf(call.upstream, call.model) === undefined
    // Without usage the cost is unknown although the model has a price.
    if (!isMissing && call.usage === undefined && call.units === undefined) return
    warned.add(name)
    const cause = isMissing
      ? `The prices contain no price for '${name}'`
      : `The price of '${name}' does not cover everything that a call used`
    logger.warn(`modelgate: ${cause}: the cost of its calls is unknown. Add the price`)
  }
}
