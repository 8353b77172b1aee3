import { fromCount } from './admission/left.ts'
import { type CountOf, metersOf, type TokenMeter } from './admission/token-meters.ts'
import { isId, unknownToken } from './manage.ts'
import type { MeterState } from './meters/meter-store.ts'
import type { Prices } from './prices/prices.ts'
import type { Storage } from './storage/storage.ts'
import { told } from './storage-away.ts'
import type { Period, Window } from './token.ts'
import { daysOf, type UsageQuery } from './usage-query.ts'
import { sumBy, total, type UsageSums } from './usage-sums.ts'

/** How full one of a token's limits or budgets is. */
export interface CountUsage {
  readonly of: CountOf
  /** Model names it holds for; absent: all. */
  readonly models?: readonly string[]
  /** The window of a limit, the period of a budget; absent for what is concurrent. */
  readonly per?: Window | Period
  /** Money in the currency of the prices. */
  readonly limit: number
  /** What is taken, and what running calls have reserved. May be more than the limit. */
  readonly used: number
  /** 0 at least. */
  readonly remaining: number
  /** When it is next emptier, in milliseconds since 1970: the end of the window or period. */
  readonly resetsAt?: number
}

/** What a token has used, and has left. */
export interface TokenUsage {
  readonly id: string
  /** First and last day of the sums, in UTC. */
  readonly from: string
  readonly to: string
  /** ISO 4217; absent: there are no prices. */
  readonly currency?: string
  /** As they are now. */
  readonly limits: readonly CountUsage[]
  readonly budgets: readonly CountUsage[]
  /** Of calls that are over. */
  readonly totals: UsageSums
  /** Days with calls, in order. */
  readonly byDay: readonly ({ readonly day: string } & UsageSums)[]
  /** By the model's name, as the client wrote it. */
  readonly byModel: readonly ({ readonly model: string } & UsageSums)[]
}

export interface UsageReading {
  readonly storage: Pick<Storage, 'tokens' | 'meters'>
  readonly prices: Prices | undefined
  now(): number
}

/** Throws GatewayErrors: `not_found`, `invalid_request` with `param`, `unavailable`. */
export async function readUsage(
  { storage, prices, now }: UsageReading,
  id: string,
  query: UsageQuery = {},
): Promise<TokenUsage> {
  const { from, to } = daysOf(query, now())
  try {
    const token = isId(id) ? await storage.tokens.get(id) : undefined
    if (token === undefined) throw unknownToken(String(id))
    const counts = metersOf(token)
    const [states, rows] = await Promise.all([
      counts.length === 0
        ? []
        : storage.meters.read(
            id,
            counts.map(({ meter }) => meter),
          ),
      storage.meters.sums({ tokenId: id, from, to }),
    ])
    const usages = (wanted: TokenMeter['from']): CountUsage[] =>
      counts.flatMap((count, at) => {
        const state = states[at]
        return count.from === wanted && state !== undefined ? [usageOf(count, state)] : []
      })
    return {
      id,
      from,
      to,
      ...(prices === undefined ? {} : { currency: prices.currency }),
      limits: usages('limit'),
      budgets: usages('budget'),
      totals: total(rows),
      byDay: sumBy(rows, ({ day }) => day).map(([day, sums]) => ({ day, ...sums })),
      byModel: sumBy(rows, ({ model }) => model).map(([model, sums]) => ({ model, ...sums })),
    }
  } catch (error) {
    throw told(error)
  }
}

const usageOf = ({ of, models, per }: TokenMeter, { limit, used, resetsAt }: MeterState): CountUsage => ({
  of,
  ...(models === undefined ? {} : { models }),
  ...(per === undefined ? {} : { per }),
  limit: fromCount(of, limit),
  used: fromCount(of, used),
  remaining: fromCount(of, Math.max(0, limit - used)),
  ...(resetsAt === undefined ? {} : { resetsAt }),
})
