/**
 * Lines in columns. Columns of numbers are flush right.
 */
export function table(heads: readonly string[], rows: readonly (readonly (string | number)[])[]): string {
  const lines = [heads, ...rows.map((row) => row.map(cell))]
  const widths = heads.map((_, at) => Math.max(...lines.map((line) => line[at]?.length ?? 0)))
  const right = heads.map((_, at) => rows.length > 0 && rows.every((row) => typeof row[at] === 'number'))
  return lines
    .map((line) =>
      line
        .map((text, at) => (right[at] ? text.padStart(widths[at] ?? 0) : text.padEnd(widths[at] ?? 0)))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

/** What a terminal would take for a command has no place in a name. */
const cell = (value: string | number): string =>
  typeof value === 'number'
    ? value.toLocaleString('en-US', { maximumFractionDigits: 9 })
    : value.replace(/\p{Cc}/gu, '?')

/** The same, moved to the right. */
export const indented = (text: string, by = '  '): string =>
  text
    .split('\n')
    .map((line) => (line === '' ? '' : by + line))
    .join('\n')
