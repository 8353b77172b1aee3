import type { Check, Outcome } from './check.ts'

/** A row of the table as it came out. */
export interface Row {
  readonly check: Pick<Check, 'row' | 'group' | 'title' | 'promise'>
  readonly outcome: Outcome
  readonly seconds: number
}

export const verdictOf = (outcome: Outcome): 'held' | 'held, but' | 'FELL SHORT' | 'not asked' =>
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

/** How many of each verdict; what holds with a limit holds. */
export function summary(rows: readonly Row[]): { held: number; limited: number; short: number; skipped: number } {
  const count = (verdict: string): number => rows.filter(({ outcome }) => verdictOf(outcome) === verdict).length
  const limited = count('held, but')
  return { held: count('held') + limited, limited, short: count('FELL SHORT'), skipped: count('not asked') }
}

/** The rows as a file for machines keeps them. */
export const asJson = (target: string, rows: readonly Row[]): object => ({
  target,
  ...summary(rows),
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
