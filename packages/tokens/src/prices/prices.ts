import { readFileSync } from 'node:fs'
import {
  type BillableUnits,
  type Cost,
  type FinishEvent,
  type Logger,
  type ModelRun,
  matchesModel,
  type Plugin,
  type Usage,
} from '@modelgate/core'
import { isThenable } from '../base/async.ts'
import { createLru } from '../base/lru.ts'
import { isPricedByTokens, knownCost, type PricedRun, type Rates, totalCost } from './cost.ts'
import { fromBillionths } from './money.ts'
import { checkTable, type Price, type PriceTable } from './price-table.ts'
import { type RateCard, rateCardsOf, ratesFor } from './rate-card.ts'

/** The use of a call, and the model that it used. */
export interface PricedCall {
  readonly upstream: string
  /** The model's name at the upstream. */
  readonly model: string
  /** Undefined: the use is not counted in tokens, or unknown. */
  readonly usage?: Usage | undefined
  readonly units?: BillableUnits | undefined
  readonly operation?: string | undefined
  /** The runs whose sum is `usage`. Absent: one run of the model. */
  readonly runs?: readonly ModelRun[] | undefined
  /** The tier that served the call. Absent: the usual one. */
  readonly tier?: string | undefined
  /** Time of the call in milliseconds since 1970, for prices with a date. Default: now. */
  readonly at?: number | undefined
}

/** The expected use of a call, for an estimate of its cost. */
export interface EstimatedUse {
  /** Input tokens. */
  readonly input: number
  /** Output tokens. */
  readonly output: number
  /** Images, characters, seconds or searches, if the request determines them. */
  readonly units?: BillableUnits | undefined
  readonly operation?: string | undefined
  /** Input tokens of the largest request of a batch. Default: `input`. */
  readonly largestInput?: number | undefined
}

/** Prices of models. */
export interface Prices {
  /** ISO 4217. */
  readonly currency: string
  /**
   * Returns the cost of a call, rounded once to whole billionths, with halves rounded up. Returns undefined if it used something
   * without a price.
   */
  costOf(call: PricedCall): Cost | undefined
  /**
   * Returns the known part of a call's cost, in whole billionths: the cost of everything with a price. 0 if nothing has a price.
   */
  atLeast(call: PricedCall): number
  /**
   * Returns the expected cost of a call, in whole billionths, at the most expensive of its possible targets and without caching.
   * `units` are the images, characters, seconds or searches that the request determines. Without them, a model without token
   * prices is assumed to create one image if it has an image price. Returns undefined if a target has no price for the expected use.
   */
  estimate(
    targets: readonly { readonly upstream: string; readonly model: string }[],
    use: EstimatedUse,
  ): number | undefined
  priceOf(upstream: string, model: string): Price | undefined
}

/**
 * Creates prices from a table.
 *
 * @throws TypeError for an invalid table; the message explains the fix.
 */
export function createPrices(table: PriceTable): Prices {
  return pricesOf(table, 'prices')
}

/**
 * Reads prices from a JSON file that contains a PriceTable.
 *
 * @throws Error if the file cannot be read; TypeError for an invalid table, with a message that explains the fix.
 */
export function readPrices(path: string): Prices {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (cause) {
    throw new Error(`${path}: the prices cannot be read (${messageOf(cause)}). Set the path of a JSON file`, { cause })
  }
  let table: unknown
  try {
    // Some editors begin a file with a byte order mark.
    table = JSON.parse(text.charCodeAt(0) === 0xfeff ? text.slice(1) : text)
  } catch (cause) {
    throw new TypeError(`${path}: the prices are not valid JSON: ${messageOf(cause)}`, { cause })
  }
  return pricesOf(table, path)
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

function pricesOf(table: unknown, where: string): Prices {
  checkTable(table, where)
  const { currency = 'USD', models, asOf } = table
  const cards = createFinder(
    Object.fromEntries(Object.entries(models).map(([name, price]) => [name, rateCardsOf(price, asOf)])),
  )
  const find = (upstream: string, model: string, at: number = Date.now()): RateCard | undefined =>
    cards(upstream, model)?.(at)
  const runsOf = (call: PricedCall): readonly PricedRun[] => pricedRuns(call, find)
  return Object.freeze({
    currency,
    priceOf: (upstream: string, model: string) => find(upstream, model)?.price,
    costOf(call: PricedCall): Cost | undefined {
      if (isFree(call.operation)) return { amount: 0, currency }
      const cost = totalCost(runsOf(call))
      return cost === undefined ? undefined : { amount: fromBillionths(cost), currency }
    },
    atLeast(call: PricedCall): number {
      if (isFree(call.operation)) return 0
      // A caller chooses the tier: naming one without prices must not charge a budget less than the usual price.
      return Number(knownCost(pricedRuns(call, find, 'usual')))
    },
    estimate(
      targets: readonly { readonly upstream: string; readonly model: string }[],
      use: EstimatedUse,
    ): number | undefined {
      let highest: number | undefined
      for (const { upstream, model } of targets) {
        const card = find(upstream, model)
        const rates =
          card === undefined
            ? undefined
            : ratesFor(card, undefined, use.largestInput ?? use.input, use.operation === batchOperation)
        const cost = rates === undefined ? undefined : likelyCost(rates, use)
        if (cost === undefined) return undefined
        highest = Math.max(highest ?? 0, Number(cost))
      }
      return highest
    },
  })
}

/**
 * Returns the runs of a call, each with the prices of its model. The units and the price of a request belong to the call, and are charged once.
 *
 * @param otherwise `'usual'`: a tier without prices has the usual ones. Default: they are unknown
 */
function pricedRuns(
  { upstream, model, usage, units, operation, runs, tier, at }: PricedCall,
  find: (upstream: string, model: string, at?: number) => RateCard | undefined,
  otherwise?: 'usual',
): readonly PricedRun[] {
  const ratesAt = (name: string, inputTokens: number): Rates | undefined => {
    const card = find(upstream, name, at)
    if (card === undefined) return undefined
    const rates = ratesFor(card, tier, inputTokens, operation === batchOperation)
    return rates === undefined && otherwise === 'usual' ? ratesFor(card, undefined, inputTokens) : rates
  }
  const own = ratesAt(model, usage?.input.total ?? 0)
  const billed = own === undefined ? units : billedUnits(own, { units, operation })
  if (runs === undefined) return [{ rates: own, usage, units: billed }]
  const priced: PricedRun[] = runs.map((run) => {
    const name = run.model === undefined || isSameModel(run.model, model) ? model : run.model
    const rates = ratesAt(name, run.largestInput ?? run.input.total)
    return { rates: rates === undefined ? undefined : { ...rates, request: undefined }, usage: run }
  })
  return [...priced, { rates: own, usage: noTokens, units: billed }]
}

const noTokens: PricedRun['usage'] = { input: { total: 0 }, output: { total: 0 } }

/** Returns whether a provider's name is that of the called model: aliases lack the date of a version. */
const isSameModel = (name: string, called: string): boolean =>
  name === called || (name.startsWith(`${called}-`) && /^\d{8}$/.test(name.slice(called.length + 1)))

/** The requests of a batch. */
const batchOperation = 'batch'

/** Operations that no provider charges for. */
const freeOperations: ReadonlySet<string> = new Set([
  'count-tokens',
  'get-credits',
  'get-generation',
  'get-response',
  'delete-response',
  'list-input-items',
  'cancel-response',
  'create-object',
  'list-objects',
  'get-object',
  'update-object',
  'cancel-object',
  'delete-object',
  'get-object-content',
  'control-call',
])
export const isFree = (operation: string | undefined): boolean =>
  operation !== undefined && freeOperations.has(operation)

/** The same calculation as at settlement, so that a reservation and the final cost cannot follow different prices. */
function likelyCost(rates: Rates, { input, output, units: all, operation }: EstimatedUse): bigint | undefined {
  const units = billedUnits(rates, { units: all, operation })
  if (units === undefined && !isPricedByTokens(rates)) return (rates.request ?? 0n) + (rates.image ?? 0n)
  const usage = isPricedByTokens(rates) ? { input: { total: input }, output: { total: output } } : undefined
  // A price per call covers whatever the call uses, if it is the model's only price.
  return totalCost([{ rates, usage, units }]) ?? (isPricedByRequestOnly(rates) ? rates.request : undefined)
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

/** Returns whether a model worked on a call, or may have. */
export const mayHaveWorked = (event: FinishEvent): boolean => {
  const { usage, units, outcome, attempts, abandoned, firstEventMs, deferred } = event
  // Another event reports what the model does.
  if (deferred === true) return false
  return (
    usage !== undefined ||
    units !== undefined ||
    abandoned === true ||
    firstEventMs !== undefined ||
    (outcome === 'finished' && attempts.length > 0)
  )
}

/** Returns the cost of a finished call: 0 if no model worked on it, undefined if the cost is unknown. */
export function costOfCall(prices: Prices, event: FinishEvent): Cost | undefined {
  if (!mayHaveWorked(event)) return { amount: 0, currency: prices.currency }
  const call = pricedCallOf(event)
  return call === undefined ? undefined : prices.costOf(call)
}

/** Returns the known part of the cost of a finished call, in whole billionths. */
export function leastCostOf(prices: Prices, event: FinishEvent): number {
  const call = mayHaveWorked(event) ? pricedCallOf(event) : undefined
  return call === undefined ? 0 : prices.atLeast(call)
}

/** Returns the use of a finished call, and the model that it used. */
export function pricedCallOf(event: FinishEvent): PricedCall | undefined {
  const { usage, units, operation, runs, tier, startedAt: at, attempts } = event
  // The last upstream of an abandoned call may have gone on working.
  const last = attempts.at(-1)
  const upstream = event.upstream ?? last?.upstream
  const model = event.upstreamModel ?? last?.model
  return upstream === undefined || model === undefined
    ? undefined
    : { upstream, model, usage, units, operation, runs, tier, at }
}

/** Creates a plugin that sets `cost` of `onFinish`, for gateways with prices but without tokens. */
export const pricePlugin = (prices: Prices): Plugin => ({
  name: 'prices',
  costOf: (event) => costOfCall(prices, event),
})

/** Bounds of the cache of lookups: the names come from clients. */
const maxCached = 1000
const maxCachedLength = 256

/**
 * Creates a function that finds the entry of an upstream's model in a table: exact names before patterns, `upstream/model` before `model`,
 * then the pattern with the most characters besides its `*`, then the first in the table.
 */
export function createFinder<T>(
  entries: Readonly<Record<string, T>>,
): (upstream: string, model: string) => T | undefined {
  const exact = new Map(Object.entries(entries).filter(([name]) => !name.includes('*')))
  const patterns = Object.entries(entries)
    .filter(([name]) => name.includes('*'))
    .sort(([one], [other]) => weightOf(other) - weightOf(one))
  const known = createLru<{ readonly found: T | undefined }>(maxCached)

  const search = (upstream: string, model: string): T | undefined => {
    const prefix = `${upstream}/`
    const found = exact.get(prefix + model) ?? exact.get(model)
    if (found !== undefined) return found
    // The prefix is compared literally: `*` matches any model name, not an upstream's name in front of it.
    const ofUpstream = patterns.find(
      ([name]) => name.startsWith(prefix) && matchesModel(model, [name.slice(prefix.length)]),
    )
    return (ofUpstream ?? patterns.find(([name]) => matchesModel(model, [name])))?.[1]
  }

  return (upstream, model) => {
    const key = `${upstream}\n${model}`
    const remembered = known.get(key)
    if (remembered !== undefined) return remembered.found
    const found = search(upstream, model)
    if (key.length <= maxCachedLength) known.set(key, { found })
    return found
  }
}

const weightOf = (pattern: string): number => pattern.replaceAll('*', '').length

/**
 * Wraps prices of the host, whose failures must not affect the counting of calls. If a function throws, or returns anything but an amount,
 * the failure is logged and the price is unknown. Otherwise an amount like NaN would count as 0.
 */
export function guardedPrices(prices: Prices, logger: Logger): Prices {
  const read = <T>(name: keyof Prices, call: () => T, isValid: (value: unknown) => boolean): T | undefined => {
    try {
      const value = call()
      if (value === undefined || isValid(value)) return value
      if (isThenable(value)) Promise.resolve(value).then(undefined, () => {})
      throw new TypeError(
        `it returned ${isThenable(value) ? 'a promise' : 'a value that is not an amount'}: return an amount of 0 or more, not a promise`,
      )
    } catch (error) {
      logger.error(`modelgate: ${name} of the prices failed; the price counts as unknown`, error)
      return undefined
    }
  }
  return Object.freeze<Prices>({
    currency: prices.currency,
    priceOf: (...args) => prices.priceOf(...args),
    costOf: (...args) => read('costOf', () => prices.costOf(...args), isCost),
    atLeast: (...args) => read('atLeast', () => prices.atLeast(...args), isAmount) ?? 0,
    estimate: (...args) => read('estimate', () => prices.estimate(...args), isAmount),
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
