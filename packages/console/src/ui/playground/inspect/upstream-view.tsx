import { useState } from 'preact/hooks'
import { Button } from '../../parts/button.tsx'
import { cx } from '../../parts/cx.ts'
import { Notice } from '../../parts/notice.tsx'
import type { ApiRequest, Exchange } from '../formats/format.ts'
import { Comparison } from './comparison.tsx'
import type { ExplainedTarget, Explanation } from './explain.ts'
import { useExplanation } from './use-explanation.ts'

/** Shows the upstream request and the losses of the translation. */
export function UpstreamView({ exchange, base, token }: { exchange: Exchange; base: string; token: string }) {
  const { explained, askAgain } = useExplanation(exchange, base, token)
  if (explained === undefined)
    return (
      <p class="inspect-empty" aria-live="polite">
        {exchange.outcome === 'running' ? 'Explained as soon as the call is over.' : 'Asking the gateway…'}
      </p>
    )
  if (explained.state === 'refused')
    return (
      <div class="inspect-part">
        <Notice
          kind="warn"
          title={explained.refused.status === 0 ? 'Not explained' : `Refused with ${explained.refused.status}`}
        >
          <p>{explained.refused.message}</p>
        </Notice>
        <Button small onClick={askAgain}>
          Ask again
        </Button>
      </div>
    )
  return <Plan explanation={explained.explanation} request={exchange.request} />
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
    <section class="inspect-part" aria-label="Upstream request">
      <h3 class="inspect-title">
        Targets for <code>{explanation.model}</code>, in order
      </h3>
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
    text: 'passed on',
    look: 'good',
    about: "The upstream speaks the client's format: the bytes go as they came.",
  },
  translate: { text: 'translated', about: 'Translated to the format of the upstream.' },
} as const

const restingBadges = {
  doubtful: { text: 'doubtful', look: 'warn', about: 'It failed lately and is being tried again.' },
  limited: { text: 'rate limited', look: 'warn', about: 'It asked to be left alone for a while.' },
  failing: { text: 'resting', look: 'warn', about: 'It failed too often and is passed over for now.' },
} as const

function badgesOf({ lane, format, losses, refused, resting }: ExplainedTarget): readonly Badge[] {
  const lost = losses.filter(({ severity }) => severity !== 'note').length
  return [
    ...(format === undefined ? [] : [{ text: format, about: 'The format of the upstream.' }]),
    ...(lane === undefined ? [] : [laneBadges[lane]]),
    ...(resting === undefined ? [] : [restingBadges[resting]]),
    ...(refused === undefined ? [] : [{ text: 'not called', look: 'bad' as const, about: refused.message }]),
    ...(lost === 0
      ? []
      : [
          {
            text: lost === 1 ? '1 loss' : `${lost} losses`,
            look: 'warn' as const,
            about: 'What does not arrive as written.',
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
      <Comparison request={request} target={target} />
    </>
  )
}
