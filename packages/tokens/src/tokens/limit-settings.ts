import { GatewayError } from '@modelgate/core'
import type { Budget, Limit, Period, Window } from '../contract/token.ts'

const limitCounts = ['requests', 'tokens', 'inputTokens', 'outputTokens', 'concurrent'] as const
const limitFields = ['models', 'window', ...limitCounts]
const namedWindows: readonly unknown[] = ['second', 'minute', 'hour', 'day']
/** 31 days, in seconds. */
const maxWindow = 2_678_400
const budgetFields = ['models', 'period', 'money', 'tokens']
const periods: readonly unknown[] = ['day', 'week', 'month', 'total']
/** Maximum of a budget in money: its billionths are still exact integers. */
const maxMoney = 1e6
/** Maximum of any other count: sums of several are still exact integers. */
const maxCount = 1e15
const maxEntries = 50
const maxModels = 100
const maxNameLength = 200

/**
 * Validates the setting `limits` and returns the limits as they are stored.
 *
 * @throws GatewayError `invalid_request` whose `param` is the invalid field, such as `limits[0].requests`.
 */
export function checkLimits(value: unknown): readonly Limit[] {
  return readEntries(value, 'limits', '{ requests: 60, window: "minute" }').map((entry, index) => {
    const place = Array.isArray(value) ? `limits[${index}]` : 'limits'
    checkFields(entry, place, limitFields)
    const limit: { -readonly [K in keyof Limit]: Limit[K] } = {}
    const models = readModels(entry, place)
    if (models !== undefined) limit.models = models
    const window = readWindow(entry.window, place)
    if (window !== undefined) limit.window = window
    for (const key of limitCounts) {
      // From 1: to allow no call of a model, leave the model out of the token's `models`.
      const count = readCount(entry, key, place, 1)
      if (count !== undefined) limit[key] = count
    }
    if (limitCounts.every((key) => limit[key] === undefined))
      throw invalidSetting(`'${place}' sets no limit: set at least one of ${limitCounts.join(', ')}.`, place)
    return limit
  })
}

/**
 * Validates the setting `budget` and returns the budgets as they are stored.
 *
 * @throws GatewayError `invalid_request` whose `param` is the invalid field, such as `budget.money`.
 */
export function checkBudgets(value: unknown): readonly Budget[] {
  return readEntries(value, 'budget', '{ money: 20, period: "month" }').map((entry, index) => {
    const place = Array.isArray(value) ? `budget[${index}]` : 'budget'
    checkFields(entry, place, budgetFields)
    const { period, money } = entry
    if (!periods.includes(period))
      throw invalidSetting(
        `'${place}.period' is ${period === undefined ? 'missing' : describeValue(period)}: use one of ${periods.join(', ')}.`,
        `${place}.period`,
      )
    if ((money === undefined) === (entry.tokens === undefined))
      throw invalidSetting(`'${place}' must contain exactly one of money and tokens.`, place)
    const models = readModels(entry, place)
    const shared = { ...(models === undefined ? {} : { models }), period: period as Period }
    if (money === undefined) return { ...shared, tokens: readCount(entry, 'tokens', place, 0) ?? 0 } satisfies Budget
    if (typeof money !== 'number' || !(money >= 0 && money <= maxMoney))
      throw invalidSetting(
        `'${place}.money' is ${describeValue(money)}: use an amount from 0 to ${maxMoney} in the currency of the prices, such as 20.`,
        `${place}.money`,
      )
    return { ...shared, money } satisfies Budget
  })
}

/** Returns one object, or a list of them, as a list. Throws for anything else. */
function readEntries(value: unknown, field: string, example: string): readonly Record<string, unknown>[] {
  const list: readonly unknown[] = Array.isArray(value) ? value : [value]
  if (list.length > maxEntries)
    throw invalidSetting(`'${field}' has ${list.length} entries: at most ${maxEntries} are allowed.`, field)
  for (const [index, entry] of list.entries())
    if (typeof entry !== 'object' || entry === null || Array.isArray(entry))
      throw invalidSetting(
        `'${field}' must be an object such as ${example}, or a list of them.`,
        Array.isArray(value) ? `${field}[${index}]` : field,
      )
  return list as readonly Record<string, unknown>[]
}

function checkFields(entry: Record<string, unknown>, place: string, fields: readonly string[]): void {
  for (const key of Object.keys(entry))
    if (!fields.includes(key))
      throw invalidSetting(
        `Unknown field '${place}.${key.slice(0, 100)}'. Known fields: ${fields.join(', ')}.`,
        `${place}.${key.slice(0, 100)}`,
      )
}

/** Reads a whole number from `min`; undefined if the field is absent. */
function readCount(entry: Record<string, unknown>, key: string, place: string, min: number): number | undefined {
  const value = entry[key]
  if (value === undefined) return undefined
  if (typeof value === 'number' && Number.isInteger(value) && value >= min && value <= maxCount) return value
  throw invalidSetting(
    `'${place}.${key}' is ${describeValue(value)}: use a whole number of at least ${min}, such as 100.`,
    `${place}.${key}`,
  )
}

function readModels({ models }: Record<string, unknown>, place: string): string | readonly string[] | undefined {
  if (models === undefined) return undefined
  const isName = (name: unknown): boolean => typeof name === 'string' && name !== '' && name.length <= maxNameLength
  if (isName(models)) return models as string
  if (Array.isArray(models) && models.length > 0 && models.length <= maxModels && models.every(isName))
    return [...(models as string[])]
  throw invalidSetting(
    `'${place}.models' must be a model name such as "gpt-*", or a list of 1 to ${maxModels} of them.`,
    `${place}.models`,
  )
}

function readWindow(value: unknown, place: string): Window | undefined {
  if (value === undefined || namedWindows.includes(value)) return value as Window | undefined
  if (typeof value === 'number' && value >= 0.001 && value <= maxWindow && Number.isInteger(value * 1000)) return value
  throw invalidSetting(
    `'${place}.window' is ${describeValue(value)}: use ${namedWindows.join(', ')}, or a number of seconds up to ${maxWindow}.`,
    `${place}.window`,
  )
}

const invalidSetting = (message: string, param: string): GatewayError =>
  new GatewayError('invalid_request', message, { param })

/** Describes a value in a message: a short text or number, never the content of a structure. */
const describeValue = (value: unknown): string =>
  typeof value === 'string' ? `'${value.slice(0, 50)}'` : typeof value === 'object' ? 'not a number' : String(value)
