import { useState } from 'preact/hooks'
import { countLosses, lossWords } from '../../compare/losses.ts'
import { Button } from '../../parts/button.tsx'
import { cx } from '../../parts/cx.ts'
import { Notice } from '../../parts/notice.tsx'
import type { ApiRequest, Exchange } from '../formats/format.ts'
import type { Explained, ExplainedTarget, Explanation } from './explain.ts'
import { RequestComparison } from './request-comparison.tsx'

/** Shows which targets the gateway would call with this request now, and the request for each. */
export function PlanView({ exchange, ...explaining }: { exchange: Exchange } & Explaining) {
  const { explained } = explaining
  return explained?.state === 'explained' ? (
    <Plan explanation={explained.explanation} request={exchange.request} />
  ) : (
    <Unexplained isRunning={exchange.outcome === 'running'} {...explaining} />
  )
}

/** The explanation of a call, and a function that requests it again. */
export interface Explaining {
  readonly explained: Explained | undefined
  readonly askAgain: () => void
}

/** Shown in place of an explanation that is missing. */
export function Unexplained({ explained, askAgain, isRunning }: Explaining & { isRunning: boolean }) {
  if (explained?.state !== 'refused')
    return (
      <p class="inspect-empty" aria-live="polite">
        {isRunning ? 'Available when the call has finished.' : 'Loading…'}
      </p>
    )
  const { status, message } = explained.refused
  return (
    <div class="inspect-part">
      <Notice kind="warn" title={status === 0 ? 'Explanation unavailable' : `Rejected with ${status}`}>
        <p>{message}</p>
      </Notice>
      <Button small onClick={askAgain}>
        Retry
      </Button>
    </div>
  )
}

/** Lists the targets in the order of attempts, one of them in full. */
function Plan({ explanation, request }: { explanation: Explanation; request: ApiRequest }) {
  const { plan } = explanation
  const first = Math.max(
    plan.findIndex(({ refused }) => refused === undefined),
    0,
  )
  const [chosen, setChosen] = useState(first)
  const at = chosen < plan.length ? chosen : first
  const target = plan[at]
  return (
    <section class="inspect-part" aria-label="Plan">
      <h3 class="inspect-title">
        Targets for <code>{explanation.model}</code>, in order
      </h3>
      <p class="inspect-hint">
        The plan for this request at this moment. “What happened” shows the targets that were called.
      </p>
      <ol class="plan">
        {plan.map((target, index) => (
          <li key={`${target.upstream} ${target.model} ${index}`}>
            <button
              type="button"
              class={cx('target', target.refused && 'refused')}
              aria-pressed={index === at}
              onClick={() => setChosen(index)}
            >
              <span class="target-name">
                <strong>{target.upstream}</strong> <code>{target.model}</code>
              </span>
              <span class="chips">
                {badgesOf(target).map(({ text, look, about }) => (
                  <span key={text} class={cx('chip', look)} title={about}>
                    {text}
                  </span>
                ))}
              </span>
            </button>
          </li>
        ))}
      </ol>
      {target === undefined ? null : <Target key={at} target={target} request={request} />}
    </section>
  )
}

interface Badge {
  readonly text: string
  readonly look?: 'good' | 'warn' | 'bad'
  readonly about: string
}

const laneBadges = {
  wire: {
    text: 'pass-through',
    look: 'good',
    about: "The upstream uses the client's format: the body passes unchanged.",
  },
  translate: { text: 'translated', about: "Translated to the upstream's format." },
} as const

const restingBadges = {
  doubtful: {
    text: 'last resort',
    look: 'warn',
    about: 'Its keys were rejected or have no quota left, so it is called last.',
  },
  limited: {
    text: 'rate limited',
    look: 'warn',
    about: 'All its keys are rate limited. It is not called until one is available again.',
  },
  failing: { text: 'circuit open', look: 'warn', about: 'It failed too often and is not called for now.' },
} as const

function badgesOf({ lane, format, losses, refused, resting }: ExplainedTarget): readonly Badge[] {
  const lost = countLosses(losses)
  return [
    ...(format === undefined ? [] : [{ text: format, about: 'Format of the upstream.' }]),
    ...(lane === undefined ? [] : [laneBadges[lane]]),
    ...(resting === undefined ? [] : [restingBadges[resting]]),
    ...(refused === undefined ? [] : [{ text: 'not called', look: 'bad' as const, about: refused.message }]),
    ...(losses.length === 0
      ? []
      : [
          {
            text: lossWords(lost),
            ...(lost.warnings === 0 ? {} : { look: 'warn' as const }),
            about: 'Fields that would not reach the upstream as written.',
          },
        ]),
  ]
}

function Target({ target, request }: { target: ExplainedTarget; request: ApiRequest }) {
  const { refused } = target
  return (
    <>
      {refused === undefined ? null : (
        <div class="notice bad">
          <strong>
            Would not be called: {refused.kind} ({refused.status})
          </strong>
          <p>{refused.message}</p>
        </div>
      )}
      <RequestComparison request={request} target={target} />
    </>
  )
}
