import type { Meter } from '../meters/meter-store.ts'
import type { Budget, Limit, Period, Token, Window } from '../token.ts'

/** What is counted. Money in billionths of the currency unit. */
export type CountOf = 'requests' | 'tokens' | 'inputTokens' | 'outputTokens' | 'concurrent' | 'money'

/** One count of a token, with where it comes from. */
export interface TokenMeter {
  readonly from: 'limit' | 'budget'
  readonly of: CountOf
  /** Model names it holds for; absent: all. */
  readonly models?: readonly string[]
  /** The window of a limit, the period of a budget; absent for what is concurrent. */
  readonly per?: Window | Period
  /** Its amount is 0. */
  readonly meter: Meter
}

const windowMs: Readonly<Record<Exclude<Window, number>, number>> = {
  second: 1_000,
  minute: 60_000,
  hour: 3_600_000,
  day: 86_400_000,
}
const within = ['requests', 'tokens', 'inputTokens', 'outputTokens'] as const
const billion = 1_000_000_000

/** Everything that is counted for a token. The same list for the same token. */
export function metersOf(token: Pick<Token, 'limits' | 'budgets'>): readonly TokenMeter[] {
  let meters = known.get(token)
  if (meters === undefined) {
    meters = [...token.limits.flatMap(ofLimit), ...token.budgets.map(ofBudget)]
    known.set(token, meters)
  }
  return meters
}
const known = new WeakMap<object, readonly TokenMeter[]>()

const listOf = (models: Limit['models']): readonly string[] | undefined =>
  typeof models === 'string' ? [models] : models
/** The same models in another order are the same count. */
const nameOf = (models: readonly string[] | undefined): string =>
  models === undefined ? '*' : [...models].sort().join(',')

function ofLimit(limit: Limit): readonly TokenMeter[] {
  const { window = 'minute', concurrent } = limit
  const models = listOf(limit.models)
  const about = { from: 'limit', ...(models === undefined ? {} : { models }) } as const
  const ms = typeof window === 'number' ? window * 1000 : windowMs[window]
  const meters = within.flatMap((of): TokenMeter[] => {
    const most = limit[of]
    if (most === undefined) return []
    const name = `window:${nameOf(models)}:${ms}:${of}`
    return [{ ...about, of, per: window, meter: { kind: 'window', windowMs: ms, name, limit: most, amount: 0 } }]
  })
  if (concurrent === undefined) return meters
  const name = `concurrent:${nameOf(models)}`
  return [...meters, { ...about, of: 'concurrent', meter: { kind: 'concurrent', name, limit: concurrent, amount: 0 } }]
}

function ofBudget({ models: given, period, money, tokens }: Budget): TokenMeter {
  const models = listOf(given)
  const of = money === undefined ? 'tokens' : 'money'
  const limit = money === undefined ? (tokens ?? 0) : Math.round(money * billion)
  const name = `period:${nameOf(models)}:${period}:${of}`
  return {
    from: 'budget',
    ...(models === undefined ? {} : { models }),
    of,
    per: period,
    meter: { kind: 'period', period, name, limit, amount: 0 },
  }
}
