import { fromBillionths, toBillionths } from './money.ts'
/** Prices of a model. Prices of tokens are for one million. An absent price is unknown, not free; 0 is free. */
export interface Price {
  /** Input tokens that were not read from a cache. */
  readonly input?: number
  /** Input tokens read from a cache. Default: the price of `input`. */
  readonly cachedInput?: number
  /** Input tokens written to a cache. Default: the price of `input`. */
  readonly cacheWrite?: number
  /** Input tokens written to a cache for one hour. Default: the price of `cacheWrite`. */
  readonly cacheWrite1h?: number
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
  /** One call, in addition to everything else. Default: 0. */
  readonly request?: number
}

/** A price table: the content of a price file. */
export interface PriceTable {
  /** ISO 4217. Default `'USD'`. */
  readonly currency?: string
  /**
   * Prices by the model's name at the upstream, or by `upstream/model` for one upstream. `*` matches anything in a model's name. Exact
   * names win over those with a `*`, then `upstream/model` over `model`, then the name with the most characters besides its `*`.
   */
  readonly models: Readonly<Record<string, Price>>
}

const fieldTable = {
  input: true,
  cachedInput: true,
  cacheWrite: true,
  cacheWrite1h: true,
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
  request: true,
} satisfies Record<keyof Price, true>

/** Names of all prices. */
export const priceFields = Object.keys(fieldTable) as readonly (keyof Price)[]

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
    if (name !== 'currency' && name !== 'models')
      throw new TypeError(
        `${where}: unknown field ${describe(name)}. Known fields: "currency" and "models". Put the price of a model into "models"`,
      )
  const { currency, models } = table
  if (currency !== undefined && (typeof currency !== 'string' || !/^[A-Z]{3}$/.test(currency)))
    throw new TypeError(
      `${where}: currency is ${describe(currency)}: write an ISO 4217 code in capital letters, such as "USD"`,
    )
  if (!isObject(models))
    throw new TypeError(
      `${where}: models is ${describe(models)}: write an object with a price for each model's name, such as { "model-name": { "input": 1.25 } }`,
    )
  for (const [model, price] of Object.entries(models)) checkPrice(price, model, where)
}

function checkPrice(price: unknown, model: string, where: string): void {
  const place = `${where}: models[${describe(model)}]`
  if (model === '' || model !== model.trim())
    throw new TypeError(`${place}: a model name must not be empty or have spaces around it`)
  if (!isObject(price))
    throw new TypeError(
      `${place} is ${describe(price)}: write an object with prices, such as { "input": 1.25, "output": 10 }`,
    )
  const fields = Object.entries(price).filter(([, value]) => value !== undefined)
  if (fields.length === 0)
    throw new TypeError(`${place} has no price: set at least one (0 if free), or leave the model out`)
  for (const [field, value] of fields) {
    if (!Object.hasOwn(fieldTable, field))
      throw new TypeError(`${place}: unknown field ${describe(field)}: ${advice(field)}`)
    checkAmount(value, `${place}.${field}`)
  }
}

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
function advice(field: string): string {
  const plain = (name: string): string => name.replaceAll(/[^a-z0-9]/gi, '').toLowerCase()
  const meant = priceFields.find((name) => plain(name) === plain(field))
  return meant === undefined ? `write one of ${priceFields.join(', ')}` : `write "${meant}"`
}
