import { readFileSync, writeFileSync } from 'node:fs'
import type { Check } from './check.ts'
import type { Row } from './matrix.ts'
import { table } from './report.ts'

/** Returns the promises, column by column, as a list in Markdown. */
export const promisesOf = (checks: readonly Check[]): string =>
  checks.map(({ name, promise }) => `- **${name}**: ${promise}`).join('\n')

/** Puts text between `<!-- name -->` and `<!-- /name -->`. */
function filled(text: string, name: string, between: string): string {
  const [open, close] = [`<!-- ${name} -->\n`, `<!-- /${name} -->`]
  const [from, to] = [text.indexOf(open), text.indexOf(close)]
  if (from < 0 || to < from) throw new Error(`The document has no marks of ${name}.`)
  return `${text.slice(0, from + open.length)}${between}\n${text.slice(to)}`
}

/** Writes the matrix and its promises into a document. */
export function document(file: string, rows: readonly Row[], checks: readonly Check[]): void {
  const text = filled(readFileSync(file, 'utf8'), 'matrix', table(rows))
  writeFileSync(file, filled(text, 'promises', promisesOf(checks)))
}
