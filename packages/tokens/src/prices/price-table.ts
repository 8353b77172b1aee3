import { fromBillionths, toBillionths } from './money.ts'

/** Prices of what a call uses. Prices of tokens are for one million. An absent price is unknown, not free; 0 is free. */
export interface BasePrice {
  /** Input tokens that were not read from a cache. */
  readonly input?: number
  /** Input tokens read from a cache. Default: the price of `input`. */
  readonly cachedInput?: number
  /** Input tokens written to a cache. Default: the price of `input`. */
  readonly cacheWrite?: number
  /** Input tokens written to a cache for one hour. Default: the price of `cacheWrite`. */
  readonly cacheWrite1h?: number
  /** Input tokens written to a cache for twelve hours. Default: the price of `cacheWrite`. */
  readonly cacheWrite12h?: number
  readonly output?: number
  /** Output tokens spent on reasoning. Default: the price of `output`. */
  readonly reasoning?: number
  /** Tokens of audio. Default: the prices of `input` and `output`. */
  readonly audioInput?: number
  readonly audioOutput?: number
  /** Tokens of images. Default: the prices of `input` and `output`. */
  readonly imageInput?: number
  readonly imageOutput?: number
  /** One generated image. Default: the price of its tokens, if the model reports them. */
  readonly image?: number
  /** One minute of input audio; fractions count. Default: the price of its tokens, if the model reports them. */
  readonly minute?: number
  /** One million characters of generated speech. Default: the price of the tokens, if the model reports them. */
  readonly characters?: number
  /** One search by the provider. */
  readonly search?: number
  /** One page that the provider fetched. Default: 0. */
  readonly fetch?: number
  /** One code execution that the provider counted. */
  readonly execution?: number
  /** One call, in addition to everything else. Default: 0. */
  readonly request?: number
}

/** Prices of calls with a long input. They apply to all tokens of the call. What they leave out costs the usual price. */
export interface LongContextPrice extends BasePrice {
  /** Number of input tokens, cached ones included, above which these prices apply. */
  readonly above: number
}

/** Prices of a service tier. What they leave out costs the usual price, except for prices of long inputs. */
export interface TierPrice extends BasePrice {
  readonly longContext?: LongContextPrice
}

/** Prices of a model. */
export interface Price extends BasePrice {
  readonly longContext?: LongContextPrice
  /**
   * Prices by the tier that served the call: `priority`, `flex`, `batch` or `fast`. The cost of a call in another tier is unknown. A
   * batch without prices of its own costs half the usual prices.
   */
  readonly tiers?: Readonly<Record<string, TierPrice>>
  /** Day on which these prices were read from their source, such as `2026-11-28`. Default: that of the table. */
  readonly asOf?: string
  /** Where they were read: an address, or a contract. */
  readonly source?: string
}

/** Prices of a model from a date on. */
export interface DatedPrice extends Price {
  /** First day, in UTC, such as `2027-01-31`. Default: these prices are the oldest. */
  readonly from?: string
}

/** A price table: the content of a price file. */
export interface PriceTable {
  /** ISO 4217. Default `'USD'`. */
  readonly currency?: string
  /** Day on which the prices were read from their sources, such as `2026-11-28`. `modelgate prices check` reports old ones. Default: unknown. */
  readonly asOf?: string
  /**
   * Prices by the model's name at the upstream, or by `upstream/model` for one upstream. `*` matches anything in a model's name. Exact
   * names win over those with a `*`, then `upstream/model` over `model`, then the name with the most characters besides its `*`.
   * A list holds prices that change at a date.
   */
  readonly models: Readonly<Record<string, Price | readonly DatedPrice[]>>
}

const fieldTable = {
  input: true,
  cachedInput: true,
  cacheWrite: true,
  cacheWrite1h: true,
  cacheWrite12h: true,
  output: true,
  reasoning: true,
  audioInput: true,
  audioOutput: true,
  imageInput: true,
  imageOutput: true,
  image: true,
  minute: true,
  characters: true,
  search: true,
  fetch: true,
  execution: true,
  request: true,
} satisfies Record<keyof BasePrice, true>

/** Names of all prices. */
export const priceFields = Object.keys(fieldTable) as readonly (keyof BasePrice)[]

/** Above it, a number cannot represent single billionths. */
const maxPrice = 9_000_000

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Formats a value for a message, shortened to 60 characters. */
const describe = (value: unknown): string => {
  const text =
    typeof value === 'number' || value === undefined ? String(value) : (JSON.stringify(value) ?? typeof value)
  return text.length > 60 ? `${text.slice(0, 60)}…` : text
}

/**
 * Validates a price table.
 *
 * @param where name of the table in messages, such as the file's path
 * @throws TypeError that names the invalid value and says how to correct it.
 */
export function checkTable(table: unknown, where: string): asserts table is PriceTable {
  if (!isObject(table))
    throw new TypeError(`${where}: ${describe(table)} is not a price table: write { "models": { … } }`)
  for (const name of Object.keys(table))
    if (name !== 'currency' && name !== 'models' && name !== 'asOf')
      throw new TypeError(
        `${where}: unknown field ${describe(name)}. Known fields: "currency", "asOf" and "models". Put the price of a model into "models"`,
      )
  const { currency, models, asOf } = table
  if (asOf !== undefined) checkDay(asOf, `${where}: asOf`)
  if (currency !== undefined && (typeof currency !== 'string' || !/^[A-Z]{3}$/.test(currency)))
    throw new TypeError(
      `${where}: currency is ${describe(currency)}: write an ISO 4217 code in capital letters, such as "USD"`,
    )
  if (!isObject(models))
    throw new TypeError(
      `${where}: models is ${describe(models)}: write an object with a price for each model's name, such as { "model-name": { "input": 1.25 } }`,
    )
  for (const [model, price] of Object.entries(models)) checkModel(price, model, where)
}

function checkModel(price: unknown, model: string, where: string): void {
  const place = `${where}: models[${describe(model)}]`
  if (model === '' || model !== model.trim())
    throw new TypeError(`${place}: a model name must not be empty or have spaces around it`)
  if (!Array.isArray(price)) {
    checkPrice(price, place, modelGroups)
    return
  }
  if (price.length === 0)
    throw new TypeError(`${place} is an empty list: write at least one price, or leave the model out`)
  const days = new Set<unknown>()
  for (const [index, dated] of price.entries()) {
    checkPrice(dated, `${place}[${index}]`, [...modelGroups, 'from'])
    const { from } = dated as DatedPrice
    if (days.has(from))
      throw new TypeError(
        `${place}[${index}].from is ${describe(from)}, as in another price: give each price its own first day`,
      )
    days.add(from)
  }
}

type Group = 'longContext' | 'tiers' | 'from' | 'above' | 'asOf' | 'source'

const modelGroups = ['longContext', 'tiers', 'asOf', 'source'] as const

/** Fields that hold no price. */
const notPrices: ReadonlySet<string> = new Set(['from', 'above', 'asOf', 'source'])

/** Checks the prices of a model, of a tier, or of long inputs, which have different groups of prices in them. */
function checkPrice(price: unknown, place: string, groups: readonly Group[]): void {
  if (!isObject(price))
    throw new TypeError(
      `${place} is ${describe(price)}: write an object with prices, such as { "input": 1.25, "output": 10 }`,
    )
  const fields = Object.entries(price).filter(([, value]) => value !== undefined)
  if (!fields.some(([field]) => !notPrices.has(field)))
    throw new TypeError(`${place} has no price: set at least one (0 if free), or leave it out`)
  for (const [field, value] of fields) {
    const group = groups.find((name) => name === field)
    if (group !== undefined) checkGroup[group](value, `${place}.${field}`)
    else if (!Object.hasOwn(fieldTable, field))
      throw new TypeError(`${place}: unknown field ${describe(field)}: ${advice(field, groups)}`)
    else checkAmount(value, `${place}.${field}`)
  }
  if (groups.includes('above') && price.above === undefined)
    throw new TypeError(`${place}.above is missing: write the number of input tokens above which these prices apply`)
}

const checkGroup: { readonly [G in Group]: (value: unknown, place: string) => void } = {
  longContext: (value, place) => checkPrice(value, place, ['above']),
  tiers(value, place) {
    if (!isObject(value) || Object.keys(value).length === 0)
      throw new TypeError(
        `${place} is ${describe(value)}: write an object such as { "priority": { "input": 2.5, "output": 20 } }`,
      )
    for (const [tier, price] of Object.entries(value)) checkPrice(price, `${place}[${describe(tier)}]`, ['longContext'])
  },
  from: checkDay,
  asOf: checkDay,
  source(value, place) {
    if (typeof value !== 'string' || value === '')
      throw new TypeError(`${place} is ${describe(value)}: write where the prices were read, such as an address`)
  },
  above(value, place) {
    if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 0)
      throw new TypeError(`${place} is ${describe(value)}: write a number of tokens, such as 200000`)
  },
}

function checkDay(value: unknown, place: string): void {
  if (typeof value !== 'string' || !isDay(value))
    throw new TypeError(`${place} is ${describe(value)}: write a day such as "2027-01-31"`)
}

/** Returns whether a text is a day that exists: `Date` accepts the 31st of a short month, and shows another day. */
const isDay = (text: string): boolean =>
  /^\d{4}-\d{2}-\d{2}$/.test(text) && !Number.isNaN(Date.parse(text)) && new Date(text).toISOString().startsWith(text)

function checkAmount(value: unknown, place: string): void {
  if (typeof value !== 'number' || !Number.isFinite(value))
    throw new TypeError(
      `${place} is ${describe(value)}: write a number without quotes, or leave the field out if it is unknown`,
    )
  if (value < 0) throw new TypeError(`${place} is ${value}: a price is 0 or more`)
  if (value > maxPrice) throw new TypeError(`${place} is ${value}: the maximum price is ${maxPrice}`)
  // Rounding would change the price, and could make it free.
  if (fromBillionths(toBillionths(value)) !== value)
    throw new TypeError(`${place} is ${value}: a price has at most nine decimal places`)
}

/** Returns a correction for an unknown field: the field with nearly the same spelling, else all fields. */
function advice(field: string, groups: readonly Group[]): string {
  const plain = (name: string): string => name.replaceAll(/[^a-z0-9]/gi, '').toLowerCase()
  const known = [...priceFields, ...groups]
  const meant = known.find((name) => plain(name) === plain(field))
  return meant === undefined ? `write one of ${known.join(', ')}` : `write "${meant}"`
}
