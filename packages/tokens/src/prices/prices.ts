import { readFileSync } from 'node:fs'
import {
  type BillableUnits,
  type Cost,
  type FinishEvent,
  type Logger,
  matchesModel,
  type Plugin,
  type Usage,
} from '@modelgate/core'
import { isThenable } from '../base/async.ts'
import { createLru } from '../base/lru.ts'
import { isPricedByTokens, knownCost, type Rates, ratesOf, totalCost } from './cost.ts'
import { fromBillionths } from './money.ts'
import { checkTable, type Price, type PriceTable } from './price-table.ts'

/** What a call has used of which model. */
export interface PricedCall {
  readonly upstream: string
  /** The model's name there. */
  readonly model: string
  /** undefined: not counted in tokens, or nobody knows. */
  readonly usage?: Usage | undefined
  readonly units?: BillableUnits | undefined
  readonly operation?: string | undefined
}

/** The expected use of a call, for an estimate of its cost. */
export interface EstimatedUse {
  /** Input tokens. */
  readonly input: number
  /** Output tokens. */
  readonly output: number
  /** Images, characters, seconds or searches, where the request makes them known. */
  readonly units?: BillableUnits | undefined
  readonly operation?: string | undefined
}

/** Prices of models, ready to be asked. */
export interface Prices {
  /** ISO 4217. */
  readonly currency: string
  /**
   * What a call costs, rounded once to whole billionths, half of one up. undefined: unknown, because it used something that
   * has no price.
   */
  costOf(call: PricedCall): Cost | undefined
  /**
   * The part of a call's cost that is known, in whole billionths: what has a price, where something else has none. 0 where nothing
   * has.
   */
  atLeast(call: PricedCall): number
  /**
   * Returns what a call is likely to cost, in whole billionths, at the most expensive of its possible targets and with
   * nothing cached. `units` are the images, characters, seconds or searches that the request makes known; without them, a
   * model without token prices is assumed to make one image if it has an image price. Returns undefined if a target has no
   * price for what the call will use.
   */
  estimate(
    targets: readonly { readonly upstream: string; readonly model: string }[],
    use: EstimatedUse,
  ): number | undefined
  priceOf(upstream: string, model: string): Price | undefined
}

/** Makes prices of a table. Throws a TypeError that says what to write instead of what is wrong with it. */
export function createPrices(table: PriceTable): Prices {
  return pricesOf(table, 'prices')
}

/**
 * Reads prices from a JSON file that holds a PriceTable. Throws an Error if it cannot be read, and a TypeError that says what
 * to write instead of what is wrong with it.
 */
export function readPrices(path: string): Prices {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (cause) {
    throw new Error(`${path}: the prices cannot be read: give the path of a JSON file (${messageOf(cause)})`, { cause })
  }
  let table: unknown
  try {
    // Some editors begin a file with a byte order mark.
    table = JSON.parse(text.charCodeAt(0) === 0xfeff ? text.slice(1) : text)
  } catch (cause) {
    throw new TypeError(`${path}: the prices are no JSON: ${messageOf(cause)}`, { cause })
  }
  return pricesOf(table, path)
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

interface Entry {
  readonly price: Price
  readonly rates: Rates
}

function pricesOf(table: unknown, where: string): Prices {
  checkTable(table, where)
  const { currency = 'USD', models } = table
  const find = createFinder<Entry>(
    Object.fromEntries(
      Object.entries(models).map(([name, price]) => [
        name,
        { price: Object.freeze({ ...price }), rates: ratesOf(price) },
      ]),
    ),
  )
  return Object.freeze({
    currency,
    priceOf: (upstream: string, model: string) => find(upstream, model)?.price,
    costOf({ upstream, model, usage, units, operation }: PricedCall): Cost | undefined {
      if (isFree(operation)) return { amount: 0, currency }
      const entry = find(upstream, model)
      const cost =
        entry === undefined
          ? undefined
          : totalCost(entry.rates, { usage, units: billedUnits(entry.rates, { units, operation }) })
      return cost === undefined ? undefined : { amount: fromBillionths(cost), currency }
    },
    atLeast({ upstream, model, usage, units, operation }: PricedCall): number {
      const entry = isFree(operation) ? undefined : find(upstream, model)
      return entry === undefined
        ? 0
        : Number(knownCost(entry.rates, { usage, units: billedUnits(entry.rates, { units, operation }) }))
    },
    estimate(
      targets: readonly { readonly upstream: string; readonly model: string }[],
      use: EstimatedUse,
    ): number | undefined {
      let dearest: number | undefined
      for (const { upstream, model } of targets) {
        const entry = find(upstream, model)
        const cost = entry === undefined ? undefined : likelyCost(entry.rates, use)
        if (cost === undefined) return undefined
        dearest = Math.max(dearest ?? 0, Number(cost))
      }
      return dearest
    },
  })
}

/** Nobody charges for it. */
const free: ReadonlySet<string> = new Set([
  'count-tokens',
  'get-response',
  'delete-response',
  'list-input-items',
  'cancel-response',
])
export const isFree = (operation: string | undefined): boolean => operation !== undefined && free.has(operation)

/** The same calculation as at settlement, so that a reservation and the final cost cannot follow different prices. */
function likelyCost(rates: Rates, { input, output, units: all, operation }: EstimatedUse): bigint | undefined {
  const units = billedUnits(rates, { units: all, operation })
  if (units === undefined && !isPricedByTokens(rates)) return (rates.request ?? 0n) + (rates.image ?? 0n)
  const usage = isPricedByTokens(rates) ? { input: { total: input }, output: { total: output } } : undefined
  // A price per call covers whatever the call uses, if it is the model's only price.
  return totalCost(rates, { usage, units }) ?? (isPricedByRequestOnly(rates) ? rates.request : undefined)
}

/** Rerank counts documents in searches: a model without a price per search bills tokens or calls instead. */
function billedUnits(
  rates: Rates,
  { units, operation }: Pick<PricedCall, 'units' | 'operation'>,
): BillableUnits | undefined {
  if (operation !== 'rerank' || rates.search !== undefined || units?.searches === undefined) return units
  const { searches: _, ...others } = units
  return Object.keys(others).length === 0 ? undefined : others
}

const isPricedByRequestOnly = (rates: Rates): boolean => Object.keys(rates).every((field) => field === 'request')

/** Whether a model was at work, or may have been. */
export const mayHaveWorked = ({ usage, units, outcome, attempts, abandoned, firstEventMs }: FinishEvent): boolean =>
  usage !== undefined ||
  units !== undefined ||
  abandoned === true ||
  firstEventMs !== undefined ||
  (outcome === 'finished' && attempts.length > 0)

/** What a finished call cost; a call for which no model was at work cost nothing. undefined: unknown. */
export function costOfCall(prices: Prices, event: FinishEvent): Cost | undefined {
  if (!mayHaveWorked(event)) return { amount: 0, currency: prices.currency }
  const call = pricedCallOf(event)
  return call === undefined ? undefined : prices.costOf(call)
}

/** The part of what a finished call cost that is known, in whole billionths. */
export function leastCostOf(prices: Prices, event: FinishEvent): number {
  const call = mayHaveWorked(event) ? pricedCallOf(event) : undefined
  return call === undefined ? 0 : prices.atLeast(call)
}

function pricedCallOf(event: FinishEvent): PricedCall | undefined {
  const { usage, units, operation, attempts } = event
  // A call that was given up may have worked on at the upstream that was asked last.
  const last = attempts.at(-1)
  const upstream = event.upstream ?? last?.upstream
  const model = event.upstreamModel ?? last?.model
  return upstream === undefined || model === undefined ? undefined : { upstream, model, usage, units, operation }
}

/** Tells what calls cost, in `cost` of `onFinish`, for gateways that have prices but no tokens. */
export const pricePlugin = (prices: Prices): Plugin => ({
  name: 'prices',
  costOf: (event) => costOfCall(prices, event),
})

/** What is remembered of names that clients made up must not grow with them. */
const mostRemembered = 1000
const longestRemembered = 256

/**
 * Finds what a table says of an upstream's model: exact names before patterns, `upstream/model` before `model`, then the
 * pattern with the most characters beside its stars, then the one that was written first.
 */
export function createFinder<T>(
  entries: Readonly<Record<string, T>>,
): (upstream: string, model: string) => T | undefined {
  const exact = new Map(Object.entries(entries).filter(([name]) => !name.includes('*')))
  const patterns = Object.entries(entries)
    .filter(([name]) => name.includes('*'))
    .sort(([one], [other]) => weightOf(other) - weightOf(one))
  const known = createLru<{ readonly found: T | undefined }>(mostRemembered)

  const search = (upstream: string, model: string): T | undefined => {
    const prefix = `${upstream}/`
    const found = exact.get(prefix + model) ?? exact.get(model)
    if (found !== undefined) return found
    // The prefix is compared, not matched: `*` alone is a name of any model, not of any upstream and its model.
    const own = patterns.find(([name]) => name.startsWith(prefix) && matchesModel(model, [name.slice(prefix.length)]))
    return (own ?? patterns.find(([name]) => matchesModel(model, [name])))?.[1]
  }

  return (upstream, model) => {
    const key = `${upstream}\n${model}`
    const remembered = known.get(key)
    if (remembered !== undefined) return remembered.found
    const found = search(upstream, model)
    if (key.length <= longestRemembered) known.set(key, { found })
    return found
  }
}

const weightOf = (pattern: string): number => pattern.replaceAll('*', '').length

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
