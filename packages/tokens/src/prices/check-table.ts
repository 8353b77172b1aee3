import { fromBillionths, toBillionths } from './money.ts'
import type { Price, PriceTable } from './price.ts'

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
