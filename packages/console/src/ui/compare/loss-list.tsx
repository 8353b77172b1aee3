import type { Loss } from '@modelgate/core'
import { cx } from '../parts/cx.ts'
import { type LossCounts, lossWords, type ToldLoss } from './losses.ts'

const severities = { fatal: 'rejects the call', warn: 'lost', note: 'for your information' } as const

/** One loss in a list; `detail` is empty if only the response's header reported it. */
export type ListedLoss = Loss & { readonly count?: number }

export interface LossListProps {
  losses: readonly ListedLoss[]
  counts: LossCounts
  /** True: the upstream responded. Only then is the absence of losses a good sign. */
  delivered: boolean
  /** Absent: losses have no place to go to. */
  onChoose?: (loss: Loss) => void
}

/** Lists losses, and notes apart from them. */
export function LossList({ losses, counts, delivered, onChoose }: LossListProps) {
  const words = lossWords(counts)
  if (words === '')
    return delivered ? <p class="inspect-hint whole">No losses: every field reached the upstream.</p> : null
  const notes = losses.filter(({ severity }) => severity === 'note')
  const warnings = losses.filter(({ severity }) => severity !== 'note')
  const unlisted = Math.max(counts.warnings + counts.notes - losses.reduce((sum, { count = 1 }) => sum + count, 0), 0)
  return (
    <section aria-labelledby="losses">
      <h3 id="losses" class="inspect-title">
        {words} in the translation
      </h3>
      {[warnings, notes].map((some, at) =>
        some.length === 0 ? null : (
          <ul class="losses" key={at} aria-label={at === 0 ? 'Losses' : 'Notes'}>
            {some.map((loss) => (
              <li key={`${loss.path} ${loss.side} ${loss.kind} ${loss.detail}`}>
                <LossLine loss={loss} onChoose={onChoose} />
              </li>
            ))}
          </ul>
        ),
      )}
      {unlisted === 0 ? null : (
        <p class="inspect-hint">
          {losses.length === 0 ? 'The response does not list them.' : `${unlisted} more are not listed.`}
        </p>
      )}
    </section>
  )
}

function LossLine({ loss, onChoose }: { loss: ListedLoss; onChoose: LossListProps['onChoose'] }) {
  const { path, side, kind, severity, detail, count = 1 } = loss
  const content = (
    <>
      <span class={cx('chip', severity === 'fatal' ? 'bad' : severity === 'warn' && 'warn')}>{kind}</span>
      <span class="out-of-sight">({severities[severity]})</span>
      <code>
        {path === '' ? 'the whole request' : path}
        {count === 1 ? '' : ` × ${count}`}
      </code>
      <span class="detail">
        {side === 'answer' ? 'In the response. ' : ''}
        {detail}
      </span>
    </>
  )
  return side === 'answer' || onChoose === undefined ? (
    <div class="loss">{content}</div>
  ) : (
    <button type="button" class="loss" onClick={() => onChoose(loss)}>
      {content}
    </button>
  )
}

/** Adds the losses that only the response reported to those of the explanation, which have reasons. */
export function mergeLosses(explained: readonly Loss[], reported: readonly ToldLoss[]): readonly ListedLoss[] {
  const known = new Set(explained.map(({ path, kind, side }) => `${path} ${kind} ${side === 'answer'}`))
  const isExplained = explained.length > 0
  return [
    ...explained,
    ...reported
      // The explanation lists every loss of the request.
      .filter(({ inAnswer, path, kind }) => !(isExplained && !inAnswer) && !known.has(`${path} ${kind} ${inAnswer}`))
      .map(({ path, kind, severity, inAnswer, count }) => ({
        path,
        kind: kind as Loss['kind'],
        severity: severity as Loss['severity'],
        detail: '',
        count,
        ...(inAnswer ? { side: 'answer' as const } : {}),
      })),
  ]
}
