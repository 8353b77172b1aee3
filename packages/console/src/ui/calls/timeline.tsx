import { cx } from '../parts/cx.ts'
import { inMs } from '../parts/figures.ts'
import type { RecentCall } from './api.ts'
import { attemptReasons } from './call-texts.ts'

type Attempt = RecentCall['attempts'][number]

/** Shows each attempt as a bar on the time of the call, then the first event and the end. */
export function Timeline({ call }: { call: RecentCall }) {
  const { attempts, attemptCount, durationMs, firstEventMs } = call
  const total = Math.max(durationMs, ...attempts.map(({ startedMs, latencyMs = 0 }) => startedMs + latencyMs), 1)
  return (
    <section class="call-part" aria-labelledby="timeline">
      <h3 id="timeline" class="inspect-title">
        Timeline
      </h3>
      {attempts.length === 0 ? <p class="inspect-hint">No upstream was called.</p> : null}
      <ol class="timeline">
        {attempts.map((attempt, index) => (
          <li key={index}>
            <div class="attempt-head">
              <strong>
                {attempt.upstream}/{attempt.model}
              </strong>
              <span
                class={cx(
                  'chip',
                  attempt.error === undefined ? 'good' : attempt.error === 'cancelled' ? 'warn' : 'bad',
                )}
              >
                {attempt.status ?? attempt.error ?? 'sent'}
              </span>
            </div>
            <Bar
              from={attempt.startedMs / total}
              to={endOf(attempt, total) / total}
              failed={attempt.error !== undefined}
            />
            <p class="attempt-facts">{factsOf(attempt).join(' · ')}</p>
          </li>
        ))}
        {attemptCount > attempts.length ? <li>{attemptCount - attempts.length} further attempts</li> : null}
        {firstEventMs === undefined ? null : (
          <li class="moment">
            <strong>First event</strong>
            <Bar from={0} to={firstEventMs / total} />
            <p class="attempt-facts">after {inMs(firstEventMs)}</p>
          </li>
        )}
        <li class="moment">
          <strong>End</strong>
          <Bar from={0} to={durationMs / total} />
          <p class="attempt-facts">after {inMs(durationMs)}</p>
        </li>
      </ol>
    </section>
  )
}

/** Attributes of SVG, because the page's policy forbids style attributes. */
function Bar({ from, to, failed = false }: { from: number; to: number; failed?: boolean }) {
  return (
    <svg class={cx('bar', failed && 'failed')} viewBox="0 0 1000 8" preserveAspectRatio="none" aria-hidden="true">
      <rect class="track" width="1000" height="8" />
      <rect class="span" x={Math.round(from * 1000)} width={Math.max(Math.round((to - from) * 1000), 4)} height="8" />
    </svg>
  )
}

const endOf = ({ startedMs, latencyMs }: Attempt, total: number): number =>
  latencyMs === undefined ? total : startedMs + latencyMs

const factsOf = (attempt: Attempt): string[] => [
  attemptReasons[attempt.reason],
  `sent after ${inMs(attempt.startedMs)}`,
  ...(attempt.waitedMs === undefined ? [] : [`waited ${inMs(attempt.waitedMs)}`]),
  ...(attempt.latencyMs === undefined
    ? []
    : [`${attempt.error === undefined ? 'responded' : 'failed'} after ${inMs(attempt.latencyMs)}`]),
  ...(attempt.error === undefined ? [] : [attempt.error]),
  ...(attempt.cooldownMs === undefined ? [] : [`cooldown of ${inMs(attempt.cooldownMs)}`]),
  ...(attempt.cause === undefined ? [] : [[attempt.cause.code, attempt.cause.address].filter(Boolean).join(' ')]),
  ...(attempt.key === undefined ? [] : [`key ${attempt.key + 1}`]),
  ...(attempt.resent === undefined ? [] : ['sent again on a new connection']),
  ...(attempt.upstreamRequestId === undefined ? [] : [`upstream request ${attempt.upstreamRequestId}`]),
]
