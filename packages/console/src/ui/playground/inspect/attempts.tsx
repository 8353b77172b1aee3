import type { CallAttempt, CallFacts } from '../../../calls.ts'
import { cx } from '../../parts/cx.ts'
import { inMs } from '../../parts/figures.ts'
import { hasResponded } from './outcome.ts'

const reasons: Readonly<Record<CallAttempt['reason'], string>> = {
  first: 'first attempt',
  retry: 'retry',
  'other-key': 'retry with another key',
  fallback: 'fallback',
  hedge: 'parallel attempt',
}

/** The upstream calls in the order of their start, and who responded. */
export function Attempts({ attempts }: { attempts: readonly CallAttempt[] }) {
  if (attempts.length === 0) return null
  return (
    <section aria-label="Attempts">
      <h3 class="inspect-title">{attempts.length === 1 ? 'One attempt' : `${attempts.length} attempts`}</h3>
      <ol class="attempts">
        {attempts.map((attempt, at) => (
          <Attempt key={at} attempt={attempt} />
        ))}
      </ol>
    </section>
  )
}

function Attempt({ attempt }: { attempt: CallAttempt }) {
  const { upstream, model, reason, startedMs, waitedMs, latencyMs, status, error } = attempt
  const look = hasResponded(attempt) ? 'good' : error === 'cancelled' ? undefined : 'bad'
  return (
    <li class={cx('attempt', look)}>
      <span class="at">+{inMs(startedMs)}</span>
      <span class="attempt-name">
        <strong>{upstream ?? 'Upstream'}</strong> {model === undefined ? null : <code>{model}</code>}
        <span class="attempt-why">
          {reasons[reason]}
          {waitedMs === undefined ? '' : ` after a wait of ${inMs(waitedMs)}`}
          {latencyMs === undefined ? '' : ` · ${inMs(latencyMs)}`}
        </span>
      </span>
      <span class="chips">
        {status === undefined ? null : <span class={cx('chip', look)}>{status}</span>}
        <span class={cx('chip', look)}>{error === undefined ? 'responded' : error.replaceAll('_', ' ')}</span>
      </span>
    </li>
  )
}

/** Targets that were passed over, with the reason. */
export function Skipped({ skipped = [] }: { skipped: CallFacts['skipped'] | undefined }) {
  if (skipped.length === 0) return null
  return (
    <section aria-label="Skipped targets">
      <h3 class="inspect-title">Skipped</h3>
      <ul class="attempts">
        {skipped.map(({ upstream, model, reason }) => (
          <li key={`${upstream} ${model}`} class="attempt skipped">
            <span class="attempt-name">
              <strong>{upstream}</strong> <code>{model}</code>
              <span class="attempt-why">{reason}</span>
            </span>
          </li>
        ))}
      </ul>
    </section>
  )
}
