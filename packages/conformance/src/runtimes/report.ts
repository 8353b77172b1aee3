import { readFileSync, writeFileSync } from 'node:fs'
import type { Check } from './check.ts'
import { type Cell, hasFailures, type Row } from './matrix.ts'

const figureOf = ({ tally }: Cell): string => ('without' in tally ? '–' : `${tally.held}/${tally.total}`)

/** Formats a row for the terminal: one line per cell, followed by its failures. */
export function formatRow({ pin, version, outcome }: Row): string {
  if ('absent' in outcome) return `=== ${pin.title} ${version} is skipped: ${outcome.absent}`
  return [`=== ${pin.title} ${version}`, ...outcome.cells.map(cellText)].join('\n')
}

function cellText(cell: Cell): string {
  const { name, tally, seconds } = cell
  const head = `${name.padEnd(11)}${figureOf(cell).padStart(9)}  (${seconds.toFixed(1)} s)`
  if ('without' in tally) return `${head}  ${tally.without}`
  const shown = tally.complaints.slice(0, 12)
  const more = tally.complaints.length - shown.length
  return [head, ...shown, ...(more > 0 ? [`… and ${more} more`] : [])].join('\n    ')
}

/** Formats the matrix as a Markdown table that is also readable in a terminal. */
export function table(rows: readonly Row[]): string {
  const columns = [
    ...new Set(rows.flatMap(({ outcome }) => ('cells' in outcome ? outcome.cells : [])).map(({ name }) => name)),
  ]
  const lines = rows.map(({ pin, version, outcome }) => {
    const figures = columns.map((column) => {
      if ('absent' in outcome) return 'not run'
      const cell = outcome.cells.find(({ name }) => name === column)
      return cell === undefined ? '' : hasFailures(cell) ? `**${figureOf(cell)}**` : figureOf(cell)
    })
    return [pin.title, version, ...figures]
  })
  const all = [['runtime', 'version', ...columns], ...lines]
  const widths = columns.concat('', '').map((_, at) => Math.max(...all.map((line) => line[at]?.length ?? 0)))
  const written = (line: readonly string[]): string =>
    `| ${line.map((text, at) => text.padEnd(widths[at] ?? 0)).join(' | ')} |`
  const [head = [], ...body] = all
  return [head, widths.map((width) => '-'.repeat(width)), ...body].map(written).join('\n')
}

/** Converts the rows to JSON; `held` and `short` count cells. */
export const asJson = (rows: readonly Row[]): object[] =>
  rows.map(({ pin: { name, title }, version, outcome }) => {
    const named = { runtime: name, title, version }
    if ('absent' in outcome) return { ...named, held: 0, short: 0, absent: outcome.absent }
    const { cells } = outcome
    const short = cells.filter(hasFailures).length
    const total = cells.filter(({ tally }) => 'held' in tally).length
    return {
      ...named,
      held: total - short,
      short,
      checks: cells.map(({ tally, ...cell }) => ({ ...cell, ...tally })),
    }
  })

/** Returns the promises of the columns as a Markdown list. */
export const promisesOf = (checks: readonly Check[]): string =>
  checks.map(({ name, promise }) => `- **${name}**: ${promise}`).join('\n')

/** Replaces the text between `<!-- name -->` and `<!-- /name -->`. */
function filled(text: string, name: string, between: string): string {
  const [open, close] = [`<!-- ${name} -->\n`, `<!-- /${name} -->`]
  const [from, to] = [text.indexOf(open), text.indexOf(close)]
  if (from < 0 || to < from) throw new Error(`The document has no markers for ${name}.`)
  return `${text.slice(0, from + open.length)}${between}\n${text.slice(to)}`
}

/** Writes the matrix and its promises into a document. */
export function writeDocument(file: string, rows: readonly Row[], checks: readonly Check[]): void {
  const text = filled(readFileSync(file, 'utf8'), 'matrix', table(rows))
  writeFileSync(file, filled(text, 'promises', promisesOf(checks)))
}
