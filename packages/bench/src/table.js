/** @param {readonly { [column: string]: string | number }[]} rows @returns {string} a table in Markdown */
export function table(rows) {
  const columns = Object.keys(rows[0] ?? {})
  const widths = columns.map((column) => Math.max(column.length, ...rows.map((row) => String(row[column]).length)))
  /** @param {(string | number | undefined)[]} cells */
  const line = (cells) => `| ${cells.map((cell, i) => String(cell ?? '').padEnd(widths[i] ?? 0)).join(' | ')} |`
  return [
    line(columns),
    line(widths.map((width) => '-'.repeat(width))),
    ...rows.map((row) => line(columns.map((column) => row[column]))),
  ].join('\n')
}

/** @param {readonly number[]} numbers */
export const median = (numbers) => [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? Number.NaN
