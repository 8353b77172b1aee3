import { cx } from '../../parts/cx.ts'
import type { Folded } from '../call/fold-response.ts'
import { readLossHeader } from '../call/losses.ts'
import { speedOf } from '../call/speed.ts'
import type { Round } from './rounds.ts'

const whole = new Intl.NumberFormat('en')
const inMs = (ms: number): string =>
  ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(ms < 10_000 ? 2 : 1)} s`

/** Formats an amount with three significant digits, because small amounts are the rule. */
const inMoney = (amount: number, currency: string): string => {
  const digits = amount === 0 || amount >= 1 ? 2 : Math.min(9, 1 - Math.floor(Math.log10(amount)) + 1)
  try {
    return new Intl.NumberFormat('en', {
      style: 'currency',
      currency,
      minimumFractionDigits: 2,
      maximumFractionDigits: Math.max(2, digits),
    }).format(amount)
  } catch {
    return `${amount} ${currency}`
  }
}

/** Shows the tokens, cost and time of a response. */
export function CallMetrics({ round: { exchange, facts }, folded }: { round: Round; folded: Folded }) {
  const usage = folded.usage ?? (facts?.usage === undefined ? undefined : { ...facts.usage })
  const { firstMs, totalMs, tokensPerSecond } = speedOf(exchange, usage)
  const basis = facts?.basis === undefined || facts.basis === 'reported' ? '' : ` (${facts.basis})`
  const id = exchange.responseHeaders?.['modelgate-request-id']
  const rows: readonly (readonly [string, string | undefined])[] = [
    ['Input', usage?.input === undefined ? undefined : `${whole.format(usage.input)} tokens`],
    ['Cached', usage?.cached ? `${whole.format(usage.cached)} of them` : undefined],
    ['Output', usage?.output === undefined ? undefined : `${whole.format(usage.output)} tokens${basis}`],
    ['Reasoning', usage?.reasoning ? `${whole.format(usage.reasoning)} of them` : undefined],
    ['Cost', facts?.cost === undefined ? undefined : inMoney(facts.cost.amount, facts.cost.currency)],
    ['First token', firstMs === undefined ? undefined : inMs(firstMs)],
    ['Total', totalMs === undefined ? undefined : inMs(totalMs)],
    ['Speed', tokensPerSecond === undefined ? undefined : `${whole.format(Math.round(tokensPerSecond))} tokens/s`],
    ['Ended by', folded.finish],
    ['Status', exchange.status === undefined || exchange.status === 200 ? undefined : String(exchange.status)],
    ['Request', id],
  ]
  const known = rows.filter((row): row is readonly [string, string] => row[1] !== undefined)
  if (known.length === 0) return null
  return (
    <dl class="figures">
      {known.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  )
}

const counted = (count: number, one: string, several: string): string =>
  count === 0 ? '' : `${count} ${count === 1 ? one : several}`

/** Summarizes losses in one line that links to the details. */
export function LossNotice({ round, onInspect }: { round: Round; onInspect: () => void }) {
  const { losses, total: warnings, notes } = readLossHeader(round.exchange.responseHeaders?.['modelgate-loss'])
  const total = warnings + notes
  if (total === 0) return null
  // Notes are informational: no requested feature was lost.
  const isNote = warnings === 0
  const named = losses.slice(0, 2).map(({ path }) => path || 'the whole')
  return (
    <button type="button" class={cx('loss-notice', isNote && 'note')} onClick={onInspect}>
      <strong>
        {[counted(warnings, 'loss', 'losses'), counted(notes, 'note', 'notes')].filter(Boolean).join(', ')}
        {losses.length > 0 && losses.every(({ inAnswer }) => inAnswer) ? ' in the answer' : ''}
      </strong>
      <span class="mono">
        {named.join(', ')}
        {total > named.length ? ' …' : ''}
      </span>
    </button>
  )
}
