import type { UsageReport } from './usage-tokens.ts'

type Row = UsageReport['rows'][number]

const columns: readonly (readonly [
  name: string,
  cell: (row: Row, report: UsageReport) => string | number | undefined,
])[] = [
  ['day', ({ day }) => day],
  ['token', ({ token }) => token ?? ''],
  ['name', ({ name }) => name],
  ['model', ({ model }) => model],
  ['calls', ({ calls }) => calls],
  ['failed', ({ failed }) => failed],
  ['input_tokens', ({ inputTokens }) => inputTokens],
  ['cached_tokens', ({ cachedTokens }) => cachedTokens],
  ['output_tokens', ({ outputTokens }) => outputTokens],
  ['cost', ({ cost }) => decimal(cost)],
  ['currency', (_, { currency }) => currency],
  ['unpriced', ({ unpriced }) => unpriced],
]

/** Returns the rows of a report as CSV (RFC 4180), with a header line. */
export const usageCsv = (report: UsageReport): string =>
  [
    columns.map(([name]) => name),
    ...report.rows.map((row) => columns.map(([, cell]) => csvCell(cell(row, report) ?? ''))),
  ]
    .map((cells) => `${cells.join(',')}\r\n`)
    .join('')

/**
 * Returns a cell. Spreadsheets run texts that begin with `=`, `+`, `-`, `@`, a tab or a line break as formulas, and clients choose the names of
 * models: an apostrophe in front makes them text.
 */
function csvCell(value: string | number): string {
  if (typeof value === 'number') return String(value)
  const safe = /^[=+\-@\t\r\n]/.test(value) ? `'${value}` : value
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}

/** Returns an amount without an exponent, with at most nine decimal places. */
const decimal = (amount: number): string => amount.toFixed(9).replace(/\.?0+$/, '')
