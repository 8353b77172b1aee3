import { GatewayError } from '@modelgate/core'
import { type MeterState, requiredRoom } from '../contract/meter-store.ts'
import type { Window } from '../contract/token.ts'
import { formatDecimal, fromBillionths } from '../prices/money.ts'
import { allowanceOf, budgetHeaders } from './allowance.ts'
import type { ReservedMeter } from './reserve.ts'
import type { TokenMeter } from './token-meters.ts'

/** A reservation that a limit or budget has rejected. */
export interface RejectedReservation {
  readonly model: string
  readonly meters: readonly ReservedMeter[]
  /** Index of the meter that has no room. */
  readonly refusedBy: number
  readonly waitMs: number | undefined
  readonly states: readonly MeterState[]
  readonly currency: string
  readonly now: number
}

/** Maximum wait in seconds that SDKs should retry by themselves. Some would sleep for hours if `retry-after` says so. */
const maxRetrySeconds = 60

/** Returns the error for a rejected call: retry later (`rate_limited`), or no room by waiting (`quota_exceeded`, which SDKs do not retry). */
export function limitError(rejected: RejectedReservation): GatewayError {
  const { meters, refusedBy, states, currency, now } = rejected
  const meter = meters[refusedBy]
  const state = states[refusedBy]
  if (meter === undefined || state === undefined) throw new TypeError(`No meter ${refusedBy} has rejected the call.`)
  const allowance = allowanceOf(meters, states, now)
  const headers = budgetHeaders(meters, states, currency, now)
  const details = { headers, ...(allowance === undefined ? {} : { allowance }) }
  if (meter.from === 'budget')
    return new GatewayError('quota_exceeded', budgetText(meter, state, currency), {
      code: 'insufficient_quota',
      ...details,
    })
  return rateLimitError(rejected, meter, state, details)
}

function rateLimitError(
  { model, waitMs }: RejectedReservation,
  { of, per, meter }: ReservedMeter,
  state: MeterState,
  details: { readonly headers: Record<string, string> },
): GatewayError {
  const name = model.slice(0, 100)
  const whose = meter.account === undefined ? '' : "your owner's "
  if (of === 'concurrent')
    return new GatewayError(
      'rate_limited',
      `Rate limit reached for ${name} in ${whose}concurrent calls: limit ${state.limit}, running ${state.used}. Please try again when one of them has ended.`,
      { code: 'rate_limit_exceeded', retryAfter: 1, ...details },
    )
  const what = `${countLabels[of]} ${windowText(per as Window)}`
  // Waiting does not help: the call needs more than the whole limit. SDKs do not retry this kind.
  if (waitMs === undefined)
    return new GatewayError(
      'quota_exceeded',
      `Request too large for ${name} in ${what}: limit ${state.limit}, requested ${requiredRoom(meter)}. The input or the tokens allowed for the output must be reduced.`,
      { code: 'rate_limit_exceeded', ...details },
    )
  const retryAfter = Math.max(1, Math.ceil(waitMs / 1000))
  const headers = retryAfter > maxRetrySeconds ? { ...details.headers, 'x-should-retry': 'false' } : details.headers
  return new GatewayError(
    'rate_limited',
    `Rate limit reached for ${name} in ${whose}${what}: limit ${state.limit}, used ${state.used}, requested ${requiredRoom(meter)}. Please try again in ${waitText(waitMs)}.`,
    { code: 'rate_limit_exceeded', retryAfter, ...details, headers },
  )
}

const periodWords: Readonly<Record<string, string>> = { day: 'daily ', week: 'weekly ', month: 'monthly ', total: '' }

function budgetText(
  { of, per, models, meter }: ReservedMeter,
  { used, limit, resetsAt }: MeterState,
  currency: string,
): string {
  const text = (amount: number): string => amountText(of, amount, currency)
  const modelsText = models === undefined ? '' : ` for ${models.join(', ').slice(0, 200)}`
  const whose = meter.account === undefined ? 'your' : "your owner's"
  const budget = `${whose} ${periodWords[String(per)] ?? ''}budget of ${text(limit)}${modelsText}`
  const reset =
    resetsAt === undefined ? '' : ` The budget resets at ${new Date(resetsAt).toISOString().replace('.000', '')}.`
  return used >= limit
    ? `You have used up ${budget} (used: ${text(used)}).${reset}`
    : `This request needs about ${text(requiredRoom(meter))}, but only ${text(limit - used)} of ${budget} remain.${reset}`
}

/** Names of counts in messages. */
const countLabels: Readonly<Record<TokenMeter['of'], string>> = {
  requests: 'requests',
  tokens: 'tokens',
  inputTokens: 'input tokens',
  outputTokens: 'output tokens',
  concurrent: 'concurrent calls',
  money: 'money',
}

/** Formats a window: `per minute`, `per 10 s`. */
const windowText = (window: Window): string => (typeof window === 'number' ? `per ${window} s` : `per ${window}`)

/** Formats an amount with its unit: `0.002 USD`, `18 tokens`. */
const amountText = (of: TokenMeter['of'], amount: number, currency: string): string =>
  of === 'money' ? `${formatDecimal(fromBillionths(amount))} ${currency}` : `${amount} ${countLabels[of]}`

/** Formats a wait: `950ms`, `1.5s`, `2m5s`. */
function waitText(ms: number): string {
  if (ms < 1000) return `${Math.ceil(ms)}ms`
  const seconds = Math.ceil(ms / 100) / 10
  if (seconds < 60) return `${seconds}s`
  const wholeSeconds = Math.ceil(ms / 1000)
  const [hours, minutes] = [Math.floor(wholeSeconds / 3600), Math.floor((wholeSeconds % 3600) / 60)]
  return `${hours === 0 ? '' : `${hours}h`}${minutes}m${wholeSeconds % 60}s`
}
