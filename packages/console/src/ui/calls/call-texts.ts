import { inMoney, whole } from '../parts/figures.ts'
import type { CallSummary, RecentCall } from './api.ts'

/** Returns the colour of a call's outcome. */
export const lookOf = ({ status, outcome }: Pick<CallSummary, 'status' | 'outcome'>): 'good' | 'warn' | 'bad' =>
  outcome === 'aborted' || status === 499 ? 'warn' : status >= 400 || outcome === 'failed' ? 'bad' : 'good'

/** Returns the time of day, in the reader's zone. */
export const timeOf = (startedAt: number): string =>
  new Date(startedAt).toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit', second: '2-digit' })

export const dateOf = (startedAt: number): string =>
  new Date(startedAt).toLocaleString('en-GB', { dateStyle: 'medium', timeStyle: 'medium' })

export const callerOf = ({ caller }: Pick<CallSummary, 'caller'>): string =>
  caller === undefined ? 'anonymous' : (caller.name ?? caller.id)

/** Returns the target that answered, or undefined. */
export const targetOf = ({ upstream, upstreamModel, model }: CallSummary): string | undefined =>
  upstream === undefined
    ? undefined
    : upstreamModel === undefined || upstreamModel === model
      ? upstream
      : `${upstream}/${upstreamModel}`

/** Returns the tokens of a call: `412 → 96`. */
export const tokensOf = ({ usage }: Pick<CallSummary, 'usage'>): string =>
  usage === undefined ? '' : `${whole.format(usage.input)} → ${whole.format(usage.output)}`

export const costOf = ({ cost }: Pick<CallSummary, 'cost'>): string =>
  cost === undefined ? '' : inMoney(cost.amount, cost.currency)

export const counted = (count: number, one: string, several: string): string =>
  `${whole.format(count)} ${count === 1 ? one : several}`

/** Names of the reasons of attempts. */
export const attemptReasons: Readonly<Record<RecentCall['attempts'][number]['reason'], string>> = {
  first: 'first attempt',
  retry: 'retry',
  'other-key': 'other key',
  fallback: 'fallback',
  hedge: 'hedge',
}
