import type { OwnerSettings, TokenSettings } from '@modelgate/tokens'
import { text, type Values } from '../terminal/args.ts'
import { UsageError } from '../terminal/errors.ts'

/** Options of limits and budgets. */
export const limitOptions = {
  'requests-per-minute': text,
  'tokens-per-minute': text,
  concurrent: text,
  'budget-usd': text,
  'budget-tokens': text,
  per: text,
} as const

/** Options of `issue`. */
export const settingOptions = {
  name: text,
  owner: text,
  models: { type: 'string', multiple: true },
  expires: text,
  ...limitOptions,
} as const

const unitMs = { h: 3_600_000, d: 86_400_000, w: 604_800_000 } as const
const periods = ['day', 'week', 'month', 'total'] as const

/** Reads a token's settings from the command line. Throws a UsageError that names the option and shows a valid value. */
export function readTokenSettings(values: Values): TokenSettings {
  const { name, owner, models, expires } = values
  return {
    ...(typeof name === 'string' ? { name } : {}),
    ...(typeof owner === 'string' ? { owner } : {}),
    ...(Array.isArray(models)
      ? { models: models.flatMap((list) => String(list).split(',')).map((model) => model.trim()) }
      : {}),
    ...(typeof expires === 'string' ? { expiresAt: readExpiry(expires) } : {}),
    ...readLimits(values, 'tokens'),
  }
}

/** Reads limits and budgets from the command line. Throws a UsageError as above. */
export function readLimits(values: Values, topic: string): Pick<OwnerSettings & TokenSettings, 'limits' | 'budget'> {
  const limit = {
    ...numbered('requests', values['requests-per-minute'], '--requests-per-minute', topic),
    ...numbered('tokens', values['tokens-per-minute'], '--tokens-per-minute', topic),
    ...numbered('concurrent', values.concurrent, '--concurrent', topic),
  }
  const period = periods.find((one) => one === (values.per ?? 'month'))
  if (period === undefined)
    throw new UsageError(`Invalid --per '${String(values.per)}'. Valid: ${periods.join(', ')}.`, topic)
  const budgets = [
    numbered('money', values['budget-usd'], '--budget-usd', topic),
    numbered('tokens', values['budget-tokens'], '--budget-tokens', topic),
  ].flatMap((budget) => (Object.keys(budget).length === 0 ? [] : [{ period, ...budget }]))
  return {
    ...(Object.keys(limit).length > 0 ? { limits: limit } : {}),
    ...(budgets.length > 0 ? { budget: budgets } : {}),
  }
}

/** Reads a date or a duration from now such as `30d`. */
function readExpiry(expires: string): string | number {
  const [, count, unit] = /^(\d+)([hdw])$/.exec(expires) ?? []
  if (unit !== undefined) return Date.now() + Number(count) * unitMs[unit as keyof typeof unitMs]
  if (/^\d{4}-\d{2}-\d{2}/.test(expires) && !Number.isNaN(Date.parse(expires))) return expires
  throw new UsageError(
    `Invalid --expires '${expires}': use a duration such as 12h, 30d or 4w, or a date such as 2027-01-31.`,
    'tokens',
  )
}

function numbered<F extends string>(
  field: F,
  value: Values[string],
  option: string,
  topic: string,
): { [name in F]?: number } {
  if (value === undefined) return {}
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : Number.NaN
  const isMoney = field === 'money'
  if (!(number >= (isMoney ? 0 : 1)) || !(isMoney ? Number.isFinite(number) : Number.isSafeInteger(number)))
    throw new UsageError(
      `Invalid ${option} '${String(value)}': expected ${isMoney ? 'an amount of 0 or more, such as 5 or 0.50' : 'a whole number of 1 or more'}.`,
      topic,
    )
  return { [field]: number } as { [name in F]?: number }
}
