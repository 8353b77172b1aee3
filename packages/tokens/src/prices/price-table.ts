import { fromBillionths, toBillionths } from './money.ts'
/** What a model costs. Prices of tokens are for a million of them. What is not given is unknown, not free: free is 0. */
export interface Price {
  /** Input tokens that came from no cache. */
  readonly input?: number
  /** Input tokens read from a cache. Default: as `input`. */
  readonly cachedInput?: number
  /** Input tokens written to a cache. Default: as `input`. */
  readonly cacheWrite?: number
  /** Those of them that are kept for an hour. Default: as `cacheWrite`. */
  readonly cacheWrite1h?: number
  readonly output?: number
  /** Output tokens spent on reasoning. Default: as `output`. */
  readonly reasoning?: number
  /** Tokens of sound. Default: as `input` and `output`. */
  readonly audioInput?: number
  readonly audioOutput?: number
  /** Tokens of images. Default: as `input` and `output`. */
  readonly imageInput?: number
  readonly imageOutput?: number
  /** One image made. Default: what its tokens cost, where the model counts them. */
  readonly image?: number
  /** A minute of audio read, to the second's part. Default: what its tokens cost, where the model counts them. */
  readonly minute?: number
  /** A million characters spoken. Default: what the tokens cost, where the model counts them. */
  readonly characters?: number
  /** One search that the provider made for the model. */
  readonly search?: number
  /** One call, beside all else. Default: nothing. */
  readonly request?: number
}

/** A price table: what stands in a prices file. */
export interface PriceTable {
  /** ISO 4217. Default `'USD'`. */
  readonly currency?: string
  /**
   * By the model's name at the upstream, or `upstream/model` for one upstream; `*` stands for anything in a model's name. Exact
   * names win over those with a `*`; then `upstream/model` over `model`; then the name with the most characters beside its `*`.
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

/** All that a model can have a price for. */
export const priceFields = Object.keys(fieldTable) as readonly (keyof Price)[]

/** Beyond it a number does not tell one billionth from the next. */
const dearest = 9_000_000

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** A value as a message shows it: whole if it is short. */
const shown = (value: unknown): string => {
  const text =
    typeof value === 'number' || value === undefined ? String(value) : (JSON.stringify(value) ?? typeof value)
  return text.length > 60 ? `${text.slice(0, 60)}…` : text
}

/**
 * Looks at a price table, wherever it comes from. Throws a TypeError that says which value is wrong and what to write instead.
 *
 * @param where what the messages call the table: the file's path
 */
export function checkTable(table: unknown, where: string): asserts table is PriceTable {
  if (!isObject(table)) throw new TypeError(`${where}: ${shown(table)} is no price table: write { "models": { … } }`)
  for (const name of Object.keys(table))
    if (name !== 'currency' && name !== 'models')
      throw new TypeError(
        `${where}: unknown field ${shown(name)}: there are "currency" and "models"; a model's price stands within "models"`,
      )
  const { currency, models } = table
  if (currency !== undefined && (typeof currency !== 'string' || !/^[A-Z]{3}$/.test(currency)))
    throw new TypeError(
      `${where}: currency is ${shown(currency)}: write three capital letters of ISO 4217, such as "USD"`,
    )
  if (!isObject(models))
    throw new TypeError(
      `${where}: models is ${shown(models)}: write an object that has a price for each model's name, such as { "model-name": { "input": 1.25 } }`,
    )
  for (const [model, price] of Object.entries(models)) checkPrice(price, model, where)
}

function checkPrice(price: unknown, model: string, where: string): void {
  const place = `${where}: models[${shown(model)}]`
  if (model === '' || model !== model.trim())
    throw new TypeError(`${place}: a name is not empty and has no blanks around it: write the model's name as it is`)
  if (!isObject(price))
    throw new TypeError(
      `${place} is ${shown(price)}: write an object with prices, such as { "input": 1.25, "output": 10 }`,
    )
  const fields = Object.entries(price).filter(([, value]) => value !== undefined)
  if (fields.length === 0)
    throw new TypeError(`${place} has no price: give at least one, 0 for what is free, or leave the model out`)
  for (const [field, value] of fields) {
    if (!Object.hasOwn(fieldTable, field))
      throw new TypeError(`${place}: unknown field ${shown(field)}: ${advice(field)}`)
    checkAmount(value, `${place}.${field}`)
  }
}

function checkAmount(value: unknown, place: string): void {
  if (typeof value !== 'number' || !Number.isFinite(value))
    throw new TypeError(
      `${place} is ${shown(value)}: write a number without quotes, or leave the field out if it is unknown`,
    )
  if (value < 0) throw new TypeError(`${place} is ${value}: a price is 0 or more`)
  if (value > dearest) throw new TypeError(`${place} is ${value}: a price is ${dearest} at most`)
  // A price that is rounded away would be free.
  if (fromBillionths(toBillionths(value)) !== value)
    throw new TypeError(`${place} is ${value}: a price has nine decimal places at most`)
}

/** What to write in place of a field that is not there: the one that is spelled nearly so, else all of them. */
function advice(field: string): string {
  const plain = (name: string): string => name.replaceAll(/[^a-z0-9]/gi, '').toLowerCase()
  const meant = priceFields.find((name) => plain(name) === plain(field))
  return meant === undefined ? `write one of ${priceFields.join(', ')}` : `write "${meant}"`
}
