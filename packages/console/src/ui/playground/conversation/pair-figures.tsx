import { useMemo, useState } from 'preact/hooks'
import { lossWords } from '../../compare/losses.ts'
import { inMoney, inMs, whole } from '../../parts/figures.ts'
import { foldPieces } from '../call/fold-response.ts'
import { lossesOf } from '../call/losses.ts'
import { speedOf } from '../call/speed.ts'
import { outcomeOf } from '../inspect/outcome.ts'
import type { Round } from './rounds.ts'
import { diffWords } from './word-diff.ts'

export interface PairProps {
  first: Round
  second: Round
  /** False: the gateway hides what is behind it. */
  isNamed: boolean
}

/** A figure in words and, if differences make sense, as a number. */
interface Figure {
  readonly words: string
  readonly value?: number | undefined
}

interface Row {
  readonly title: string
  readonly of: (round: Round, isNamed: boolean) => Figure | undefined
  /** Default: no difference is shown. */
  readonly show?: (value: number, round: Round) => string
}

const count = (value: number | undefined): Figure | undefined =>
  value === undefined ? undefined : { words: whole.format(value), value }
const time = (ms: number | undefined): Figure | undefined =>
  ms === undefined ? undefined : { words: inMs(ms), value: ms }
const usageOf = ({ exchange, facts }: Round) => foldPieces(exchange.pieces).usage ?? facts?.usage
const showCount = (value: number): string => whole.format(value)

const rows: readonly Row[] = [
  {
    title: 'Responded',
    of({ exchange, facts }, isNamed) {
      const { target, responded } = outcomeOf(exchange, facts, isNamed)
      if (exchange.outcome === 'running') return undefined
      if (!responded)
        return { words: exchange.status === undefined ? 'no upstream' : `no upstream (${exchange.status})` }
      return { words: target === undefined ? 'yes' : `${target.upstream} ${target.model}` }
    },
  },
  { title: 'Input tokens', of: (round) => count(usageOf(round)?.input), show: showCount },
  { title: 'Output tokens', of: (round) => count(usageOf(round)?.output), show: showCount },
  {
    title: 'Cost',
    of: ({ facts }) =>
      facts?.cost === undefined
        ? undefined
        : { words: inMoney(facts.cost.amount, facts.cost.currency), value: facts.cost.amount },
    show: (value, { facts }) => inMoney(value, facts?.cost?.currency ?? 'USD'),
  },
  // An unstreamed response has only its duration.
  { title: 'First event', of: ({ exchange }) => time(speedOf(exchange, undefined).firstMs), show: inMs },
  { title: 'Duration', of: ({ exchange }) => time(exchange.endedAt), show: inMs },
  {
    title: 'Losses',
    of: ({ exchange, facts }) =>
      exchange.outcome === 'finished' ? { words: lossWords(lossesOf(exchange, facts).counts) || 'none' } : undefined,
  },
]

const currencyOf = ({ facts }: Round): string | undefined => facts?.cost?.currency

/** Compares the figures of two responses, and their texts on request. */
export function PairFigures({ first, second, isNamed }: PairProps) {
  const sameCurrency = currencyOf(first) === currencyOf(second)
  return (
    <div class="pair-figures">
      <table>
        <caption class="out-of-sight">Figures of both responses</caption>
        <thead>
          <tr>
            <td />
            <th scope="col">{first.model}</th>
            <th scope="col">{second.model}</th>
            <th scope="col">Difference</th>
          </tr>
        </thead>
        <tbody>
          {rows.map(({ title, of, show }) => {
            const a = of(first, isNamed)
            const b = of(second, isNamed)
            const comparable = show !== undefined && (title !== 'Cost' || sameCurrency)
            return (
              <tr key={title}>
                <th scope="row">{title}</th>
                <td>{a?.words ?? '–'}</td>
                <td>{b?.words ?? '–'}</td>
                <td>{comparable ? difference(a?.value, b?.value, (value) => show(value, first)) : ''}</td>
              </tr>
            )
          })}
        </tbody>
      </table>
      <TextDifferences first={first} second={second} />
    </div>
  )
}

/** Returns the difference of the second figure to the first. */
function difference(a: number | undefined, b: number | undefined, show: (value: number) => string): string {
  if (a === undefined || b === undefined) return ''
  if (a === b) return 'same'
  return `${b > a ? '+' : '−'}${show(Math.abs(b - a))}`
}

function TextDifferences({ first, second }: Pick<PairProps, 'first' | 'second'>) {
  const [open, setOpen] = useState(false)
  if (first.exchange.outcome === 'running' || second.exchange.outcome === 'running') return null
  return (
    <details class="pair-texts" open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Differences of the texts</summary>
      {open ? <MarkedTexts first={first} second={second} /> : null}
    </details>
  )
}

function MarkedTexts({ first, second }: Pick<PairProps, 'first' | 'second'>) {
  const a = first.exchange.pieces
  const b = second.exchange.pieces
  const { parts, isCut } = useMemo(() => diffWords(foldPieces(a).answer.text, foldPieces(b).answer.text), [a, b])
  if (parts.every((part) => part.in === 'both')) return <p class="aside">The texts are the same.</p>
  return (
    <>
      <p class="aside">
        <del>Struck through</del>: only {first.model}. <ins>Underlined</ins>: only {second.model}.
        {isCut ? ' Only the first 1,500 words of each text are compared.' : ''}
      </p>
      <p class="marked">
        {parts.map((part, at) => {
          if (part.in === 'both') return part.text
          const Mark = part.in === 'first' ? 'del' : 'ins'
          // Few screen readers announce the elements.
          return (
            <Mark key={at}>
              <span class="out-of-sight">{part.in === 'first' ? '[only first: ' : '[only second: '}</span>
              {part.text}
              <span class="out-of-sight">] </span>
            </Mark>
          )
        })}
      </p>
    </>
  )
}
