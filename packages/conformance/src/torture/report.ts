import type { Check, Outcome } from './check.ts'

/** A row of the table as it came out. */
export interface Row {
  readonly check: Pick<Check, 'row' | 'group' | 'title' | 'promise'>
  readonly outcome: Outcome
  readonly seconds: number
}

const verdictOf = (outcome: Outcome): 'held' | 'held, but' | 'FELL SHORT' | 'not asked' =>
  'skipped' in outcome ? 'not asked' : !outcome.held ? 'FELL SHORT' : outcome.limit === undefined ? 'held' : 'held, but'

/** One row, for the terminal: the figure below the title, and what fell short below that. */
export function line({ check, outcome, seconds }: Row): string {
  const verdict = verdictOf(outcome)
  const head = `${String(check.row).padStart(2)}  ${verdict.padEnd(10)}  ${check.title}  (${seconds.toFixed(1)} s)`
  const figure = 'skipped' in outcome ? outcome.skipped : outcome.figure
  const notes = 'skipped' in outcome || outcome.held ? [] : (outcome.notes ?? []).slice(0, 8)
  const limit = 'skipped' in outcome || outcome.limit === undefined ? [] : [`but: ${outcome.limit}`]
  return [head, ...[figure, ...limit, ...notes].map((text) => `                ${text}`)].join('\n')
}

/** Rows whose promises are times to the millisecond: on a machine that others use too, a figure that is late says little. */
const timed: ReadonlySet<number> = new Set([1, 10, 11, 12, 13, 21, 26, 31, 32, 37, 39, 41, 43, 48, 49])

export interface Summary {
  /** Includes promises that hold with a limit. */
  readonly held: number
  readonly limited: number
  readonly short: number
  /** Timed rows that the short form does not count as failed: too noisy. */
  readonly late: number
  readonly skipped: number
}

/** How many of each verdict. */
export function summary(rows: readonly Row[], lenient: boolean): Summary {
  const count = (verdict: string): number => rows.filter(({ outcome }) => verdictOf(outcome) === verdict).length
  const limited = count('held, but')
  const fallen = rows.filter(({ outcome }) => verdictOf(outcome) === 'FELL SHORT')
  const late = lenient ? fallen.filter(({ check }) => timed.has(check.row)).length : 0
  return { held: count('held') + limited, limited, short: fallen.length - late, late, skipped: count('not asked') }
}

/** The rows as a file for machines keeps them. */
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
