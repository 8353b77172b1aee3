import type { TokenSettings } from '@modelgate/tokens'
import { text, type Values } from '../args.ts'

/** What `issue` can be told. */
export const settingOptions = {
  name: text,
  owner: text,
  models: { type: 'string', multiple: true },
  expires: text,
  'requests-per-minute': text,
  'tokens-per-minute': text,
  concurrent: text,
  'budget-usd': text,
  'budget-tokens': text,
  per: text,
} as const

const unitMs = { h: 3_600_000, d: 86_400_000, w: 604_800_000 } as const
const periods = ['day', 'week', 'month', 'total'] as const

/** The settings of a token as they were given on the command line. What is wrong with them is found out when it is issued. */
export function readTokenSettings(values: Values): TokenSettings {
  const { name, owner, models, expires, concurrent } = values
  const limit = {
    ...numbered('requests', values['requests-per-minute'], '--requests-per-minute'),
    ...numbered('tokens', values['tokens-per-minute'], '--tokens-per-minute'),
    ...numbered('concurrent', concurrent, '--concurrent'),
  }
  const period = periods.find((one) => one === (values.per ?? 'month'))
  if (period === undefined) throw new Error(`--per is '${String(values.per)}': it is one of ${periods.join(', ')}`)
  const budgets = [
    numbered('money', values['budget-usd'], '--budget-usd'),
    numbered('tokens', values['budget-tokens'], '--budget-tokens'),
  ].flatMap((budget) => (Object.keys(budget).length === 0 ? [] : [{ period, ...budget }]))
  return {
    ...(typeof name === 'string' ? { name } : {}),
    ...(typeof owner === 'string' ? { owner } : {}),
    ...(Array.isArray(models)
      ? { models: models.flatMap((list) => String(list).split(',')).map((model) => model.trim()) }
      : {}),
    ...(typeof expires === 'string' ? { expiresAt: readExpiry(expires) } : {}),
    ...(Object.keys(limit).length > 0 ? { limits: limit } : {}),
    ...(budgets.length > 0 ? { budget: budgets } : {}),
  }
}

/** A date, or how long from now: `30d`. */
function readExpiry(expires: string): string | number {
  const [, count, unit] = /^(\d+)([hdw])$/.exec(expires) ?? []
  return unit === undefined ? expires : Date.now() + Number(count) * unitMs[unit as keyof typeof unitMs]
}

function numbered<F extends string>(field: F, value: Values[string], option: string): { [name in F]?: number } {
  if (value === undefined) return {}
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : Number.NaN
  if (Number.isNaN(number)) throw new Error(`${option} is '${String(value)}': it is a number`)
  return { [field]: number } as { [name in F]?: number }
}
