import type { Meter } from '../contract/meter-store.ts'
import type { Budget, Limit, Period, Token, Window } from '../contract/token.ts'
import { toBillionths } from '../prices/money.ts'

/** The quantities that limits and budgets count. Money is counted in billionths of the currency unit. */
export type CountOf = 'requests' | 'tokens' | 'inputTokens' | 'outputTokens' | 'concurrent' | 'money'

/** One count of a token's limit or budget, and the meter that counts it. */
export interface TokenMeter {
  readonly from: 'limit' | 'budget'
  readonly of: CountOf
  /** Names of the models that it counts. Absent: all models. */
  readonly models?: readonly string[]
  /** Window of a limit, or period of a budget. Absent for concurrent calls. */
  readonly per?: Window | Period
  /** Has the amount 0. */
  readonly meter: Meter
}

const windowMs: Readonly<Record<Exclude<Window, number>, number>> = {
  second: 1_000,
  minute: 60_000,
  hour: 3_600_000,
  day: 86_400_000,
}
const windowCounts = ['requests', 'tokens', 'inputTokens', 'outputTokens'] as const

/** Meters of each token, so that they are built once for each record. */
const metersByToken = new WeakMap<object, readonly TokenMeter[]>()

/** Returns the meters of all limits and budgets of a token: the same list for the same object. */
export function metersOf(token: Pick<Token, 'limits' | 'budgets'>): readonly TokenMeter[] {
  let meters = metersByToken.get(token)
  if (meters === undefined) {
    meters = [...token.limits.flatMap(limitMeters), ...token.budgets.map(budgetMeter)]
    metersByToken.set(token, meters)
  }
  return meters
}

/** Rounds a count up to a whole number from 0 to the largest exact integer. Upstreams may report anything. */
export const toWholeCount = (count: number): number =>
  count > 0 ? Math.min(Math.ceil(count), Number.MAX_SAFE_INTEGER) : 0

function limitMeters(limit: Limit): readonly TokenMeter[] {
  const { window = 'minute', concurrent } = limit
  const models = toList(limit.models)
  const shared = { from: 'limit', ...(models === undefined ? {} : { models }) } as const
  const ms = typeof window === 'number' ? window * 1000 : windowMs[window]
  const meters = windowCounts.flatMap((of): TokenMeter[] => {
    const count = limit[of]
    if (count === undefined) return []
    const name = `window:${modelsName(models)}:${ms}:${of}`
    return [{ ...shared, of, per: window, meter: { kind: 'window', windowMs: ms, name, limit: count, amount: 0 } }]
  })
  if (concurrent === undefined) return meters
  const name = `concurrent:${modelsName(models)}`
  return [...meters, { ...shared, of: 'concurrent', meter: { kind: 'concurrent', name, limit: concurrent, amount: 0 } }]
}

function budgetMeter({ models: budgetModels, period, money, tokens }: Budget): TokenMeter {
  const models = toList(budgetModels)
  const of = money === undefined ? 'tokens' : 'money'
  const limit = money === undefined ? (tokens ?? 0) : toBillionths(money)
  const name = `period:${modelsName(models)}:${period}:${of}`
  return {
    from: 'budget',
    ...(models === undefined ? {} : { models }),
    of,
    per: period,
    meter: { kind: 'period', period, name, limit, amount: 0 },
  }
}

const toList = (models: Limit['models']): readonly string[] | undefined =>
  typeof models === 'string' ? [models] : models

/** Sorted, because the same models in another order have the same counter. */
const modelsName = (models: readonly string[] | undefined): string =>
  models === undefined ? '*' : [...models].sort().join(',')
