import type { CallFacts } from '../../../calls.ts'
import { LossList, mergeLosses } from '../../compare/loss-list.tsx'
import { cx } from '../../parts/cx.ts'
import { lossesOf } from '../call/losses.ts'
import type { Exchange } from '../formats/format.ts'
import { Attempts, Skipped } from './attempts.tsx'
import type { ExplainedTarget } from './explain.ts'
import { type CallOutcome, outcomeOf } from './outcome.ts'
import { type Explaining, Unexplained } from './plan-view.tsx'
import { RequestComparison } from './request-comparison.tsx'
import { StreamView } from './stream-view.tsx'

export interface CallViewProps {
  exchange: Exchange
  facts: CallFacts | undefined
  /** Undefined: the gateway explains no calls. */
  explaining: Explaining | undefined
}

/** Shows the course of a call: its attempts, the request of the target that responded, losses, and the response as received. */
export function CallView({ exchange, facts, explaining }: CallViewProps) {
  const outcome = outcomeOf(exchange, facts, explaining !== undefined)
  const { headline, look, attempts } = outcome
  return (
    <section class="inspect-part" aria-label="What happened">
      <p class={cx('verdict', look)}>{headline}</p>
      <Attempts attempts={attempts} />
      <Skipped skipped={facts?.skipped} />
      <SentRequest exchange={exchange} facts={facts} explaining={explaining} outcome={outcome} />
      <StreamView exchange={exchange} />
    </section>
  )
}

function SentRequest({ exchange, facts, explaining, outcome }: CallViewProps & { outcome: CallOutcome }) {
  const { counts, losses } = lossesOf(exchange, facts)
  const { look, responded } = outcome
  const delivered = responded && look === 'good'
  const wasCalled = responded || exchange.responseHeaders?.['modelgate-attempts'] !== undefined
  if (explaining === undefined)
    return (
      <LossList
        losses={mergeLosses([], losses)}
        counts={counts}
        // Without the gateway's facts, an unreported loss is not ruled out.
        delivered={delivered && facts !== undefined}
      />
    )
  const { explained } = explaining
  if (explained?.state !== 'explained') {
    // The gateway rejects the explanation for the same reason as the call.
    if (!wasCalled && exchange.outcome === 'failed') return null
    return <Unexplained {...explaining} isRunning={exchange.outcome === 'running'} />
  }
  const { plan } = explained.explanation
  const shown = shownTarget(plan, outcome)
  if (shown === undefined)
    return <p class="inspect-hint">The configuration has changed: the request of this call can’t be shown.</p>
  return (
    <>
      <p class="inspect-hint">
        {wasCalled ? 'Request to ' : 'Request that no upstream received, as it would be sent to '}
        <strong>{shown.upstream}</strong> <code>{shown.model}</code>
        {delivered || !wasCalled ? '' : responded ? '' : ', which did not respond successfully'}
      </p>
      {wasCalled || shown.refused === undefined ? null : (
        <div class="notice bad">
          <p>{shown.refused.message}</p>
        </div>
      )}
      <RequestComparison
        request={exchange.request}
        target={shown}
        reported={losses}
        counts={facts?.losses ?? (losses.length === 0 ? undefined : counts)}
        delivered={delivered}
      />
    </>
  )
}

/** Returns the plan's entry for the target of the call; the first entry if no target was called. */
function shownTarget(plan: readonly ExplainedTarget[], { target }: CallOutcome): ExplainedTarget | undefined {
  if (target === undefined) return plan[0]
  const same = plan.filter(({ upstream, model }) => upstream === target.upstream && model === target.model)
  return same.find(({ refused }) => refused === undefined) ?? same[0]
}
