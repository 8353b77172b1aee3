import { type CallerBudget, GatewayError } from '@modelgate/core'
import { addSums } from '../contract/meter-amounts.ts'
import {
  type Home,
  type MeterState,
  type MeterStore,
  ownerAccount,
  ownerIn,
  type Sums,
} from '../contract/meter-store.ts'
import type { Storage } from '../contract/storage.ts'
import type { Owner, Period, TokenRecord, Window } from '../contract/token.ts'
import { fromBillionths } from '../prices/money.ts'
import type { Prices } from '../prices/prices.ts'
import { toGatewayError } from '../storage/errors.ts'
import { isId, unknownToken } from '../tokens/manage.ts'
import type { Payer } from './admission.ts'
import { toUnits } from './allowance.ts'
import { type CountOf, type Limited, metersOf, type TokenMeter } from './token-meters.ts'

/** Current use of one of a token's limits or budgets. */
export interface CountUsage {
  readonly of: CountOf
  /** Names of the models that it counts. Absent: all models. */
  readonly models?: readonly string[]
  /** Window of a limit, or period of a budget. Absent for concurrent calls. */
  readonly per?: Window | Period
  /** Money in the currency of the prices. */
  readonly limit: number
  /** Use of finished calls and reservations of running ones. May exceed the limit. */
  readonly used: number
  /** At least 0. */
  readonly remaining: number
  /** End of the window or period, in milliseconds since 1970. Absent: time alone does not reset it. */
  readonly resetsAt?: number
}

/** Sums over finished calls. */
export interface UsageSums extends Omit<Sums, 'cost'> {
  /** Cost of the calls whose cost is known, in the currency of the prices. */
  readonly cost: number
}

/** Current use of limits and budgets, and sums over finished calls. */
export interface Usage {
  /** First and last day of the sums, in UTC. */
  readonly from: string
  readonly to: string
  /** ISO 4217. Absent: no prices are configured. */
  readonly currency?: string
  readonly limits: readonly CountUsage[]
  readonly budgets: readonly CountUsage[]
  readonly totals: UsageSums
  /** Days with calls, in order. */
  readonly byDay: readonly ({ readonly day: string } & UsageSums)[]
  /** Keys are the model names that clients sent. */
  readonly byModel: readonly ({ readonly model: string } & UsageSums)[]
}

/** Usage of a token. */
export interface TokenUsage extends Usage {
  readonly id: string
}

/** Usage of an owner: of all calls since it has limits or budgets. */
export interface OwnerUsage extends Usage {
  readonly owner: string
}

/** Days of the sums to return, first and last included, in UTC: `2026-11-21`. Default: the last 30 days, with today. */
export interface UsageQuery {
  readonly from?: string
  readonly to?: string
}

export interface UsageSource {
  readonly storage: Pick<Storage, 'tokens' | 'meters'>
  readonly prices: Prices | undefined
  /** Returns where the counters of a token are. */
  homeOf(token: TokenRecord): Home | undefined
  now(): number
}

/**
 * Returns the usage of a token.
 *
 * @throws GatewayError `not_found`, `invalid_request` (with `param`), `unavailable`.
 */
export async function readUsage(source: UsageSource, id: string, query: UsageQuery = {}): Promise<TokenUsage> {
  const days = daysOf(query, source.now())
  try {
    const token = isId(id) ? await source.storage.tokens.get(id) : undefined
    if (token === undefined) throw unknownToken(String(id))
    return { id, ...(await usageOfAccount(source, id, token, days, source.homeOf(token))) }
  } catch (error) {
    throw toGatewayError(error)
  }
}

/**
 * Returns the usage of an owner.
 *
 * @throws GatewayError `invalid_request` (with `param`), `unavailable`.
 */
export async function readOwnerUsage(source: UsageSource, owner: Owner, query: UsageQuery = {}): Promise<OwnerUsage> {
  const days = daysOf(query, source.now())
  try {
    return { owner: owner.owner, ...(await usageOfAccount(source, ownerAccount(owner.owner), owner, days, undefined)) }
  } catch (error) {
    throw toGatewayError(error)
  }
}

async function usageOfAccount(
  { storage, prices }: Pick<UsageSource, 'storage' | 'prices'>,
  account: string,
  limited: Limited,
  { from, to }: { readonly from: string; readonly to: string },
  home: Home | undefined,
): Promise<Usage> {
  const [counts, rows] = await Promise.all([
    countsOf(storage.meters, account, limited, home),
    readSums(storage.meters, { tokenId: account, from, to }),
  ])
  return {
    from,
    to,
    ...(prices === undefined ? {} : { currency: prices.currency }),
    ...counts,
    totals: sumAll(rows),
    byDay: sumBy(rows, ({ day }) => day).map(([day, sums]) => ({ day, ...sums })),
    byModel: sumBy(rows, ({ model }) => model).map(([model, sums]) => ({ model, ...sums })),
  }
}

/**
 * Reads the sums asynchronously even if the store throws at once, as SQLite does. Otherwise no code would wait for the
 * counts that are read beside them, and their failure would be an unhandled rejection.
 */
async function readSums(meters: Pick<MeterStore, 'sums'>, query: Parameters<MeterStore['sums']>[0]) {
  return meters.sums(query)
}

/** Reads the current use of the limits and budgets of an account. */
export async function countsOf(
  meters: Pick<MeterStore, 'read'>,
  account: string,
  limited: Limited,
  home?: Home,
): Promise<Pick<Usage, 'limits' | 'budgets'>> {
  const tokenMeters = metersOf(limited, ownerIn(account))
  if (tokenMeters.length === 0) return { limits: [], budgets: [] }
  const states = await meters.read(
    account,
    tokenMeters.map(({ meter }) => meter),
    home,
  )
  const usagesFrom = (origin: TokenMeter['from']): CountUsage[] =>
    tokenMeters.flatMap((tokenMeter, index) => {
      const state = states[index]
      return tokenMeter.from === origin && state !== undefined ? [usageOf(tokenMeter, state)] : []
    })
  return { limits: usagesFrom('limit'), budgets: usagesFrom('budget') }
}

/** Returns the budgets in money that count the calls of a token and its owner. Changes no counts. */
export async function moneyBudgets(
  meters: Pick<MeterStore, 'read'>,
  currency: string,
  { token, home, owner }: Payer,
): Promise<readonly CallerBudget[]> {
  const counts = await Promise.all([
    token === undefined ? undefined : countsOf(meters, token.id, token, home),
    owner === undefined ? undefined : countsOf(meters, ownerAccount(owner.owner), owner),
  ])
  return counts
    .flatMap((count) => count?.budgets ?? [])
    .filter(({ of }) => of === 'money')
    .map(({ limit, used, models }) => ({ currency, limit, used, ...(models === undefined ? {} : { models }) }))
}

const usageOf = ({ of, models, per }: TokenMeter, { limit, used, resetsAt }: MeterState): CountUsage => ({
  of,
  ...(models === undefined ? {} : { models }),
  ...(per === undefined ? {} : { per }),
  limit: toUnits(of, limit),
  used: toUnits(of, used),
  remaining: toUnits(of, Math.max(0, limit - used)),
  ...(resetsAt === undefined ? {} : { resetsAt }),
})

const dayMs = 86_400_000
const defaultDays = 30
const maxDays = 400

/**
 * Returns the first and last day of a query.
 *
 * @throws GatewayError `invalid_request` with `param`.
 */
export function daysOf(query: UsageQuery, now: number): { readonly from: string; readonly to: string } {
  const to = readDay(query.to, 'to') ?? Math.floor(now / dayMs) * dayMs
  const from = readDay(query.from, 'from') ?? to - (defaultDays - 1) * dayMs
  if (from > to) throw invalidQuery('from', `'from' is ${dayText(from)}, which is after 'to', ${dayText(to)}.`)
  if ((to - from) / dayMs >= maxDays)
    throw invalidQuery('from', `${dayText(from)} to ${dayText(to)} is too long: request at most ${maxDays} days.`)
  return { from: dayText(from), to: dayText(to) }
}

function readDay(day: string | undefined, param: string): number | undefined {
  if (day === undefined) return undefined
  const time = typeof day === 'string' && /^\d{4}-\d\d-\d\d$/.test(day) ? Date.parse(day) : Number.NaN
  // Some runtimes parse February 31 as March 3.
  if (Number.isNaN(time) || dayText(time) !== day)
    throw invalidQuery(param, `'${param}' is '${String(day).slice(0, 50)}'. Use a day such as 2026-11-21.`)
  return time
}

const dayText = (time: number): string => new Date(time).toISOString().slice(0, 10)

const invalidQuery = (param: string, message: string): GatewayError =>
  new GatewayError('invalid_request', message, { param })

const noCalls: Sums = { calls: 0, inputTokens: 0, cachedTokens: 0, outputTokens: 0, cost: 0, unpriced: 0 }

/** Returns the sums of rows by a key, ordered by key. Money is added in billionths, and converted to units at the end. */
export function sumBy<R extends Sums>(
  rows: readonly R[],
  keyOf: (row: R) => string,
): readonly (readonly [string, UsageSums])[] {
  const sums = new Map<string, Sums>()
  for (const row of rows) sums.set(keyOf(row), addSums(sums.get(keyOf(row)) ?? noCalls, row))
  return [...sums].sort(([one], [other]) => (one < other ? -1 : 1)).map(([key, sum]) => [key, inUnits(sum)])
}

/** Returns the sums of all rows. */
export const sumAll = (rows: readonly Sums[]): UsageSums => inUnits(rows.reduce(addSums, noCalls))

const inUnits = (sums: Sums): UsageSums => ({ ...sums, cost: fromBillionths(sums.cost) })
