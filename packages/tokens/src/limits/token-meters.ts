import { type Meter, type Notice, ownerAccount } from '../contract/meter-store.ts'
import type { Budget, Limit, Owner, Period, Token, Window } from '../contract/token.ts'
import { toBillionths } from '../prices/money.ts'

/** The quantities that limits and budgets count. Money is counted in billionths of the currency unit. */
export type CountOf = 'requests' | 'tokens' | 'inputTokens' | 'outputTokens' | 'concurrent' | 'money'

/** One count of a token's or owner's limit or budget, and the meter that counts it. */
export interface TokenMeter {
  readonly from: 'limit' | 'budget'
  readonly of: CountOf
  /** Names of the models that it counts. Absent: all models. */
  readonly models?: readonly string[] | undefined
  /** Window of a limit, or period of a budget. Absent for concurrent calls. */
  readonly per?: Window | Period | undefined
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

export type Limited = Pick<Token, 'limits' | 'budgets'> & Pick<Owner, 'thresholds'>

/**
 * Returns the meters of all limits and budgets of a token or an owner.
 *
 * @param owner whose limits they are; undefined: those of the token of the call
 * @param thresholds parts of each budget that are reported when they are reached; absent: none
 */
export function metersOf(limited: Limited, owner?: string, thresholds?: readonly number[]): readonly TokenMeter[] {
  const account = owner === undefined ? undefined : ownerAccount(owner)
  const meters = [
    ...limited.limits.flatMap(limitMeters),
    ...limited.budgets.map((budget) => budgetMeter(budget, thresholds)),
  ]
  if (account === undefined) return meters
  return meters.map((tokenMeter) => ({ ...tokenMeter, meter: { ...tokenMeter.meter, account } }))
}

/** Creates `metersOf` for one gateway, which builds the meters once for each record. */
export function createMeterLists(
  thresholds: readonly number[] | undefined,
): (limited: Limited, owner?: string) => readonly TokenMeter[] {
  const lists = new WeakMap<object, readonly TokenMeter[]>()
  return (limited, owner) => {
    let meters = lists.get(limited)
    if (meters === undefined) {
      const own = thresholds === undefined ? undefined : limited.thresholds
      meters = metersOf(limited, owner, own ?? thresholds)
      lists.set(limited, meters)
    }
    return meters
  }
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

function budgetMeter(budget: Budget, thresholds: readonly number[] | undefined): TokenMeter {
  const { models: budgetModels, period, money, tokens } = budget
  const models = toList(budgetModels)
  const of = money === undefined ? 'tokens' : 'money'
  const limit = money === undefined ? (tokens ?? 0) : toBillionths(money)
  const name = `period:${modelsName(models)}:${period}:${of}`
  return {
    from: 'budget',
    ...(models === undefined ? {} : { models }),
    of,
    per: period,
    meter: {
      kind: 'period',
      period,
      name,
      limit,
      amount: 0,
      ...(thresholds === undefined ? {} : { notice: noticeOf(budget, limit, thresholds) }),
    },
  }
}

const noticeOf = (budget: Budget, limit: number, thresholds: readonly number[]): Notice => {
  const fractions = [...thresholds].sort((one, other) => one - other)
  return { budget, fractions, amounts: fractions.map((fraction) => Math.ceil(limit * fraction)) }
}

const toList = (models: Limit['models']): readonly string[] | undefined =>
  typeof models === 'string' ? [models] : models

/** Sorted, because the same models in another order have the same counter. */
const modelsName = (models: readonly string[] | undefined): string =>
  models === undefined ? '*' : [...models].sort().join(',')
