import { Button } from '../parts/button.tsx'
import { cx } from '../parts/cx.ts'
import { inMs } from '../parts/figures.ts'
import type { CallSummary } from './api.ts'
import { callerOf, costOf, counted, lookOf, targetOf, timeOf, tokensOf } from './call-texts.ts'

export interface CallsListProps {
  calls: readonly CallSummary[]
  chosen: string | undefined
  hasOlder: boolean
  onOlder: () => void
}

/** Lists calls, newest first. Each row links to its details. */
export function CallsList({ calls, chosen, hasOlder, onOlder }: CallsListProps) {
  return (
    <>
      <ul class="call-list">
        {calls.map((call) => (
          <li key={call.requestId}>
            <CallRow call={call} isChosen={call.requestId === chosen} />
          </li>
        ))}
      </ul>
      {hasOlder ? (
        <Button small onClick={onOlder}>
          Show older calls
        </Button>
      ) : null}
    </>
  )
}

function CallRow({ call, isChosen }: { call: CallSummary; isChosen: boolean }) {
  const target = targetOf(call)
  return (
    <a
      class={cx('call-row', isChosen && 'chosen')}
      href={`#call=${encodeURIComponent(call.requestId)}`}
      aria-current={isChosen ? 'true' : undefined}
    >
      <span class={cx('chip', lookOf(call))}>{call.status}</span>
      <span class="call-what">
        <strong>{call.model ?? `${call.method} ${call.path}`}</strong>
        {target === undefined ? null : <span class="call-target">→ {target}</span>}
        {call.error?.kind === undefined ? null : <span class="call-error">{call.error.kind}</span>}
      </span>
      <span class="call-caller">{callerOf(call)}</span>
      <span class="call-facts">
        {call.attemptCount > 1 ? (
          <span class="chip warn">{counted(call.attemptCount, 'attempt', 'attempts')}</span>
        ) : null}
        {call.lossCount > 0 ? <span class="chip">{counted(call.lossCount, 'loss', 'losses')}</span> : null}
        <span>{tokensOf(call)}</span>
        <span>{costOf(call)}</span>
      </span>
      <span class="call-took">{inMs(call.durationMs)}</span>
      <time class="call-at" dateTime={new Date(call.startedAt).toISOString()}>
        {timeOf(call.startedAt)}
      </time>
    </a>
  )
}
