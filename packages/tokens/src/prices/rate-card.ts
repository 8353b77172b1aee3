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
}

/** Creates a function that returns the prices of a model at a time, in milliseconds since 1970. Undefined: none was valid yet. */
export function rateCardsOf(price: Price | readonly DatedPrice[]): (at: number) => RateCard | undefined {
  if (!isList(price)) {
    const card = rateCardOf(price)
    return () => card
  }
  // The newest first.
  const dated = price
    .map(({ from, ...rest }) => ({
      from: from === undefined ? Number.NEGATIVE_INFINITY : Date.parse(from),
      price: rest,
    }))
    .sort((one, other) => other.from - one.from)
    .map(({ from, price: valid }) => ({ from, card: rateCardOf(valid) }))
  return (at) => dated.find(({ from }) => from <= at)?.card
}

const isList = (price: Price | readonly DatedPrice[]): price is readonly DatedPrice[] => Array.isArray(price)

function rateCardOf(price: Price): RateCard {
  const { longContext, tiers = {}, ...base } = price
  return {
    price: Object.freeze({ ...price }),
    usual: tierRates(base, longContext),
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

/** Returns the prices of a run. Returns undefined if a tier served it that has no prices. */
export function ratesFor({ usual, tiers }: RateCard, tier: string | undefined, inputTokens: number): Rates | undefined {
  const served = tier === undefined ? usual : tiers.get(tier)
  if (served?.longContext !== undefined && inputTokens > served.longContext.above) return served.longContext.rates
  return served?.rates
}
