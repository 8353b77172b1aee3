import type { Loss } from '@modelgate/core'
import type { CallFacts } from '../../calls.ts'

/** One loss of the header `modelgate-loss`. */
export interface ToldLoss {
  /** JSON Pointer into the request, or into the upstream's response if `inAnswer`. */
  readonly path: string
  readonly kind: string
  readonly severity: string
  readonly inAnswer: boolean
  /** Number of notes that differ only in their path. */
  readonly count: number
}

/** Numbers of losses: warnings (fatal losses included), and notes. */
export type LossCounts = CallFacts['losses']

export const countLosses = (losses: readonly Loss[]): LossCounts => {
  const notes = losses.filter(({ severity }) => severity === 'note').length
  return { warnings: losses.length - notes, notes }
}

const counted = (count: number, one: string): string =>
  count === 0 ? '' : `${count} ${count === 1 ? one : one === 'loss' ? 'losses' : `${one}s`}`

/** `2 losses, 1 note`; empty without any. */
export const lossWords = ({ warnings, notes }: LossCounts): string =>
  [counted(warnings, 'loss'), counted(notes, 'note')].filter(Boolean).join(', ')
