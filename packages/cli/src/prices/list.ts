import { modelCards } from '@modelgate/core/model-cards'
import type { Price, PriceTable } from '@modelgate/tokens'

type Cards = typeof modelCards

/**
 * Returns a price table of well-known models: the list prices of the model cards, each with its source and the day on which it was read.
 * The table is a start for a file of the user's own, which needs no release to change.
 */
export function listedPrices({ cards, checked }: Cards = modelCards): PriceTable {
  const models: Record<string, Price> = {}
  for (const { model, host, prices, source } of cards) {
    const { currency = 'USD', ...amounts } = prices ?? {}
    // A table has one currency. A price without both sides would leave the cost of calls unknown.
    if (currency !== 'USD' || amounts.input === undefined || amounts.output === undefined) continue
    const price = { ...amounts, asOf: checked, ...(source === undefined ? {} : { source }) }
    const name = host === undefined ? model : `${providerOf(host)}/${model}`
    // The first card of a name applies, as in the table of cards.
    for (const pattern of [name, `${name}-20*`]) models[pattern] ??= price
  }
  return { currency: 'USD', asOf: checked, models }
}

/** Returns the usual name of a provider's upstream: `mistral` of `api.mistral.ai`. */
const providerOf = (host: string): string => host.split('.').at(-2) ?? host
