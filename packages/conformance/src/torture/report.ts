import type { Check, Outcome } from './check.ts'

/** Result of a row. */
export interface Row {
  readonly check: Pick<Check, 'row' | 'group' | 'title' | 'promise'>
  readonly outcome: Outcome
  readonly seconds: number
}

const verdictOf = (outcome: Outcome): 'held' | 'limited' | 'FAILED' | 'skipped' =>
  'skipped' in outcome ? 'skipped' : !outcome.held ? 'FAILED' : outcome.limit === undefined ? 'held' : 'limited'

const isLate = (outcome: Outcome): boolean => !('skipped' in outcome) && !outcome.held && outcome.late === true

/** Formats a row for the terminal: the figure below the title, then the failed cases. */
export function line({ check, outcome, seconds }: Row): string {
  const verdict = verdictOf(outcome)
  const head = `${String(check.row).padStart(2)}  ${verdict.padEnd(10)}  ${check.title}  (${seconds.toFixed(1)} s)`
  const figure = 'skipped' in outcome ? outcome.skipped : outcome.figure
  const notes = 'skipped' in outcome || outcome.held ? [] : (outcome.notes ?? []).slice(0, 8)
  const limit = 'skipped' in outcome || outcome.limit === undefined ? [] : [`but: ${outcome.limit}`]
  return [head, ...[figure, ...limit, ...notes].map((text) => `                ${text}`)].join('\n')
}

export interface Summary {
  /** Includes promises that hold with a limit. */
  readonly held: number
  readonly limited: number
  readonly short: number
  /** Rows that only missed times, which the short form does not count as failed. */
  readonly tooLate: number
  readonly skipped: number
}

/** Counts the verdicts. */
export function summary(rows: readonly Row[], lenient: boolean): Summary {
  const count = (verdict: string): number => rows.filter(({ outcome }) => verdictOf(outcome) === verdict).length
  const limited = count('limited')
  const tooLate = lenient ? rows.filter(({ outcome }) => isLate(outcome)).length : 0
  return {
    held: count('held') + limited,
    limited,
    short: count('FAILED') - tooLate,
    tooLate,
    skipped: count('skipped'),
  }
}

/** Converts the rows to JSON. */
export const asJson = (target: string, rows: readonly Row[], lenient: boolean): object => ({
  target,
  ...summary(rows, lenient),
  rows: rows.map(({ check: { row, group, title, promise }, outcome, seconds }) => ({
    row,
    group,
    title,
    promise,
    verdict: verdictOf(outcome),
    seconds,
    ...outcome,
  })),
})
