import type { Allowance, QuotaState } from '@modelgate/core'
import type { MeterState } from '../contract/meter-store.ts'
import { formatDecimal, fromBillionths } from '../prices/money.ts'
import type { ReservedMeter } from './reserve.ts'

/** The counts that clients see in their format's rate limit headers. */
type VisibleCount = 'requests' | 'tokens' | 'inputTokens' | 'outputTokens'
const visibleCounts: ReadonlySet<string> = new Set<VisibleCount>(['requests', 'tokens', 'inputTokens', 'outputTokens'])

/** Returns the rest of each limit. If several limits have the same count, the one with the smallest remaining part is returned. */
export function allowanceOf(
  meters: readonly ReservedMeter[],
  states: readonly MeterState[],
  now: number,
): Allowance | undefined {
  let allowance: { [K in VisibleCount]?: QuotaState } | undefined
  for (let index = 0; index < meters.length; index++) {
    const { from, of } = meters[index] as ReservedMeter
    const state = states[index]
    if (from !== 'limit' || state === undefined || !visibleCounts.has(of)) continue
    const remaining = Math.max(0, state.limit - state.used)
    const other = allowance?.[of as VisibleCount]
    // Compares remaining parts of the limits, without a division.
    if (other !== undefined && other.remaining * state.limit <= remaining * other.limit) continue
    allowance ??= {}
    allowance[of as VisibleCount] = {
      limit: state.limit,
      remaining,
      resetMs: Math.max(0, (state.resetsAt ?? now) - now),
    }
  }
  return allowance
}

/**
 * Returns the header that reports the budgets, as a list of RFC 8941: `month;unit=USD;limit=20;remaining=7.42;reset=86400`. `reset`
 * is the number of seconds until the budget resets. A budget of the owner has `scope=owner`.
 */
export function budgetHeaders(
  meters: readonly ReservedMeter[],
  states: readonly MeterState[],
  currency: string,
  now: number,
): Record<string, string> {
  let list = ''
  for (let index = 0; index < meters.length; index++) {
    const { from, of, per, meter } = meters[index] as ReservedMeter
    const state = states[index]
    if (from !== 'budget' || state === undefined) continue
    const { limit, used, resetsAt } = state
    const remaining = Math.max(0, limit - used)
    // Money is rounded down to six decimal places.
    const number = (amount: number): string =>
      of === 'money' ? formatDecimal(Math.floor(amount / 1000) / 1e6) : String(amount)
    const unit = of === 'money' ? currency : 'tokens'
    const reset = resetsAt === undefined ? '' : `;reset=${Math.ceil(Math.max(0, resetsAt - now) / 1000)}`
    const scope = meter.account === undefined ? '' : ';scope=owner'
    list += `${list === '' ? '' : ', '}${per};unit=${unit};limit=${number(limit)};remaining=${number(remaining)}${reset}${scope}`
  }
  return list === '' ? {} : { 'modelgate-budget': list }
}

/** Converts a meter's count to the unit that users see: billionths of the currency to whole units. */
export const toUnits = (of: ReservedMeter['of'], amount: number): number =>
  of === 'money' ? fromBillionths(amount) : amount
