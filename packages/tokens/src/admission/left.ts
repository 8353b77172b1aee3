import type { Allowance, QuotaState } from '@modelgate/core'
import type { MeterState } from '../meters/meter-store.ts'
import type { Reserved } from './reserve.ts'
import { plain } from './words.ts'

type Told = 'requests' | 'tokens' | 'inputTokens' | 'outputTokens'
const told: ReadonlySet<string> = new Set<Told>(['requests', 'tokens', 'inputTokens', 'outputTokens'])

/** What is left of the limits; of several for the same thing the one of which the smallest part is left. */
export function allowanceOf(
  meters: readonly Reserved[],
  states: readonly MeterState[],
  now: number,
): Allowance | undefined {
  let allowance: { [K in Told]?: QuotaState } | undefined
  for (let at = 0; at < meters.length; at++) {
    const { from, of } = meters[at] as Reserved
    const state = states[at]
    if (from !== 'limit' || state === undefined || !told.has(of)) continue
    const remaining = Math.max(0, state.limit - state.used)
    const before = allowance?.[of as Told]
    if (before !== undefined && before.remaining * state.limit <= remaining * before.limit) continue
    allowance ??= {}
    allowance[of as Told] = { limit: state.limit, remaining, resetMs: Math.max(0, (state.resetsAt ?? now) - now) }
  }
  return allowance
}

const billion = 1_000_000_000

/**
 * What is left of the budgets, as a list of RFC 8941: `month;unit=USD;limit=20;remaining=7.42;reset=86400`. `reset`: seconds until
 * it begins anew.
 */
export function budgetHeaders(
  meters: readonly Reserved[],
  states: readonly MeterState[],
  currency: string,
  now: number,
): Record<string, string> {
  let list = ''
  for (let at = 0; at < meters.length; at++) {
    const { from, of, per } = meters[at] as Reserved
    const state = states[at]
    if (from !== 'budget' || state === undefined) continue
    const { limit, used, resetsAt } = state
    const left = Math.max(0, limit - used)
    const number = (amount: number): string =>
      of === 'money' ? plain(Math.floor(amount / 1000) / 1e6) : String(amount)
    const unit = of === 'money' ? currency : 'tokens'
    const reset = resetsAt === undefined ? '' : `;reset=${Math.ceil(Math.max(0, resetsAt - now) / 1000)}`
    list += `${list === '' ? '' : ', '}${per};unit=${unit};limit=${number(limit)};remaining=${number(left)}${reset}`
  }
  return list === '' ? {} : { 'modelgate-budget': list }
}

/** Whole units from billionths. */
export const fromCount = (of: Reserved['of'], amount: number): number => (of === 'money' ? amount / billion : amount)
