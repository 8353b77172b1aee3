import { lossWords } from '../../compare/losses.ts'
import { cx } from '../../parts/cx.ts'
import { inMoney, inMs, whole } from '../../parts/figures.ts'
import { type Figure, Figures } from '../call/figures.tsx'
import type { Folded } from '../call/fold-response.ts'
import { lossesOf } from '../call/losses.ts'
import { speedOf } from '../call/speed.ts'
import type { Round } from './rounds.ts'

/** Shows the tokens, cost and time of a response. */
export function CallMetrics({ round: { exchange, facts }, folded }: { round: Round; folded: Folded }) {
  const usage = folded.usage ?? (facts?.usage === undefined ? undefined : { ...facts.usage })
  const { firstMs, totalMs, tokensPerSecond } = speedOf(exchange, usage)
  const basis = facts?.basis === undefined || facts.basis === 'reported' ? '' : ` (${facts.basis})`
  const figures: readonly Figure[] = [
    ['Input', usage?.input === undefined ? undefined : `${whole.format(usage.input)} tokens`],
    ['Cached', usage?.cached ? `${whole.format(usage.cached)} of them` : undefined],
    ['Output', usage?.output === undefined ? undefined : `${whole.format(usage.output)} tokens${basis}`],
    ['Reasoning', usage?.reasoning ? `${whole.format(usage.reasoning)} of them` : undefined],
    ['Cost', facts?.cost === undefined ? undefined : inMoney(facts.cost.amount, facts.cost.currency)],
    ['First token', firstMs === undefined ? undefined : inMs(firstMs)],
    ['Total', totalMs === undefined ? undefined : inMs(totalMs)],
    ['Speed', tokensPerSecond === undefined ? undefined : `${whole.format(Math.round(tokensPerSecond))} tokens/s`],
    ['Finish reason', folded.finish],
    // A failure shows the id of its request itself.
    ['Request', folded.error === undefined ? exchange.responseHeaders?.['modelgate-request-id'] : undefined],
  ]
  return <Figures figures={figures} />
}

/** Summarizes losses in one line that links to the details. */
export function LossNotice({ round, onInspect }: { round: Pick<Round, 'exchange' | 'facts'>; onInspect: () => void }) {
  const { counts, losses } = lossesOf(round.exchange, round.facts)
  const words = lossWords(counts)
  // A failed call has no response that a loss could affect.
  if (words === '' || round.exchange.outcome === 'failed') return null
  const named = losses.slice(0, 2).map(({ path }) => path || 'the whole')
  return (
    // Notes are informational: no requested feature was lost.
    <button type="button" class={cx('loss-notice', counts.warnings === 0 && 'note')} onClick={onInspect}>
      <strong>
        {words}
        {losses.length > 0 && losses.every(({ inAnswer }) => inAnswer) ? ' in the response' : ''}
      </strong>
      <span class="mono">
        {named.join(', ')}
        {named.length > 0 && counts.warnings + counts.notes > named.length ? ' …' : ''}
      </span>
    </button>
  )
}
