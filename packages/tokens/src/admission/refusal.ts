import { GatewayError } from '@modelgate/core'
import { leastOf, type MeterState } from '../meters/meter-store.ts'
import { allowanceOf, budgetHeaders } from './left.ts'
import type { Reserved } from './reserve.ts'
import { amountText, perWindow, waitText, wordsOf } from './words.ts'

export interface Refused {
  readonly model: string
  readonly meters: readonly Reserved[]
  /** Index of the count that has no room. */
  readonly refusedBy: number
  readonly waitMs: number | undefined
  readonly states: readonly MeterState[]
  readonly currency: string
  readonly now: number
}

/** Clients that were told to come again sooner than this do so by themselves; some would sleep for as long as they are told. */
const longestRetrySeconds = 60

/** What a call that has no room is told: slower (429), or that the budget is spent (429 that nobody tries again). */
export function refusal(refused: Refused): GatewayError {
  const { meters, refusedBy, states, currency, now } = refused
  const refuser = meters[refusedBy]
  const state = states[refusedBy]
  if (refuser === undefined || state === undefined) throw new TypeError(`No count ${refusedBy} refused the call.`)
  const allowance = allowanceOf(meters, states, now)
  const headers = budgetHeaders(meters, states, currency, now)
  const more = allowance === undefined ? {} : { allowance }
  if (refuser.from === 'budget')
    return new GatewayError('quota_exceeded', budgetText(refuser, state, currency), {
      code: 'insufficient_quota',
      headers,
      ...more,
    })
  return limitError(refused, refuser, state, { headers, ...more })
}

type More = { readonly headers: Record<string, string> }

function limitError(
  { model, waitMs }: Refused,
  { of, per, meter }: Reserved,
  state: MeterState,
  more: More,
): GatewayError {
  const name = model.slice(0, 100)
  if (of === 'concurrent')
    return new GatewayError(
      'rate_limited',
      `Rate limit reached for ${name} in calls at a time: limit ${state.limit}, running ${state.used}. Please try again when one of them is over.`,
      { code: 'rate_limit_exceeded', retryAfter: 1, ...more },
    )
  const what = `${wordsOf[of]} ${perWindow(per as never)}`
  // A kind that nobody tries again: it has no room however long one waits.
  if (waitMs === undefined)
    return new GatewayError(
      'quota_exceeded',
      `Request too large for ${name} in ${what}: limit ${state.limit}, requested ${leastOf(meter)}. The input or the tokens allowed for the output must be reduced.`,
      { code: 'rate_limit_exceeded', ...more },
    )
  const retryAfter = Math.max(1, Math.ceil(waitMs / 1000))
  const headers = retryAfter > longestRetrySeconds ? { ...more.headers, 'x-should-retry': 'false' } : more.headers
  return new GatewayError(
    'rate_limited',
    `Rate limit reached for ${name} in ${what}: limit ${state.limit}, used ${state.used}, requested ${leastOf(meter)}. Please try again in ${waitText(waitMs)}.`,
    { code: 'rate_limit_exceeded', retryAfter, ...more, headers },
  )
}

const ofPeriod: Readonly<Record<string, string>> = {
  day: ' for this day',
  week: ' for this week',
  month: ' for this month',
  total: '',
}

function budgetText(
  { of, per, models, meter }: Reserved,
  { used, limit, resetsAt }: MeterState,
  currency: string,
): string {
  const text = (amount: number): string => amountText(of, amount, currency)
  const whom = models === undefined ? '' : ` of ${models.join(', ').slice(0, 200)}`
  const anew =
    resetsAt === undefined ? '' : ` It begins anew at ${new Date(resetsAt).toISOString().replace('.000', '')}.`
  const need = used >= limit ? '' : `; this call needs about ${text(leastOf(meter))}`
  return `You exceeded your budget${whom}${ofPeriod[String(per)] ?? ''}: limit ${text(limit)}, used ${text(used)}${need}.${anew}`
}
