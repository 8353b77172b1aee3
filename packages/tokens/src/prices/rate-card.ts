import { type Rates, ratesOf } from './cost.ts'
import type { BasePrice, DatedPrice, Price } from './price-table.ts'

/** The prices of a tier, by the length of the input. */
interface TierRates {
  readonly rates: Rates
  readonly longContext?: { readonly above: number; readonly rates: Rates }
}

/** The prices of a model at one time. */
export interface RateCard {
  readonly price: Price
  readonly usual: TierRates
  readonly tiers: ReadonlyMap<string, TierRates>
  /** The prices of batches without a tier of their own: half the usual ones, but for searches, fetched pages and code executions. */
  readonly batch: TierRates
}

/** Creates a function that returns the prices of a model at a time, in milliseconds since 1970. Undefined: none was valid yet. */
export function rateCardsOf(price: Price | readonly DatedPrice[], asOf?: string): (at: number) => RateCard | undefined {
  const dated = asOf === undefined ? {} : { asOf }
  if (!isList(price)) {
    const card = rateCardOf({ ...dated, ...price })
    return () => card
  }
  // The newest first.
  const cards = price
    .map(({ from, ...rest }) => ({
      from: from === undefined ? Number.NEGATIVE_INFINITY : Date.parse(from),
      price: { ...dated, ...rest },
    }))
    .sort((one, other) => other.from - one.from)
    .map(({ from, price: valid }) => ({ from, card: rateCardOf(valid) }))
  return (at) => cards.find(({ from }) => from <= at)?.card
}

const isList = (price: Price | readonly DatedPrice[]): price is readonly DatedPrice[] => Array.isArray(price)

function rateCardOf(price: Price): RateCard {
  const { longContext, tiers = {}, asOf: _asOf, source: _source, ...base } = price
  const usual = tierRates(base, longContext)
  return {
    price: Object.freeze({ ...price }),
    usual,
    batch: {
      rates: halved(usual.rates),
      ...(usual.longContext && {
        longContext: { above: usual.longContext.above, rates: halved(usual.longContext.rates) },
      }),
    },
    tiers: new Map(
      Object.entries(tiers).map(([name, { longContext: long, ...own }]) => [
        name,
        // What a tier leaves out costs the usual price. Prices of long inputs are its own: the usual ones belong to the usual tier.
        tierRates({ ...base, ...own }, long),
      ]),
    ),
  }
}

function tierRates(base: BasePrice, longContext: Price['longContext']): TierRates {
  const rates = ratesOf(base)
  if (longContext === undefined) return { rates }
  const { above, ...long } = longContext
  return { rates, longContext: { above, rates: ratesOf({ ...base, ...long }) } }
}

const fullInBatches: ReadonlySet<string> = new Set(['search', 'fetch', 'execution'])

/** Odd billionths are rounded up. */
const halved = (rates: Rates): Rates =>
  Object.fromEntries(
    Object.entries(rates).map(([field, rate]) => [
      field,
      rate === undefined || fullInBatches.has(field) ? rate : (rate + 1n) / 2n,
    ]),
  )

/**
 * Returns the prices of a run. Returns undefined if a tier served it that has no prices.
 *
 * @param isBatch it belongs to a batch of the gateway. A tier of this name that only a response claims has no default price
 */
export function ratesFor(
  { usual, tiers, batch }: RateCard,
  tier: string | undefined,
  inputTokens: number,
  isBatch = false,
): Rates | undefined {
  const served = isBatch ? (tiers.get('batch') ?? batch) : tier === undefined ? usual : tiers.get(tier)
  if (served?.longContext !== undefined && inputTokens > served.longContext.above) return served.longContext.rates
  return served?.rates
}
