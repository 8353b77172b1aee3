import { relative } from 'node:path'
/** Formats rows as columns of a table. Columns of numbers are aligned to the right. */
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

/** Replaces control characters in names: a terminal could execute them as escape sequences. */
const cell = (value: string | number): string =>
  typeof value === 'number'
    ? value.toLocaleString('en-US', { maximumFractionDigits: 9 })
    : value.replace(/\p{Cc}/gu, '?')

/** Indents each line that is not empty. */
export const indent = (text: string, by = '  '): string =>
  text
    .split('\n')
    .map((line) => (line === '' ? '' : by + line))
    .join('\n')

/** Returns a path for messages: relative if it is below the working directory. */
export function displayPath(cwd: string, path: string): string {
  const near = relative(cwd, path)
  return near.startsWith('..') ? path : near || '.'
}

/** Quotes a text as one word of a POSIX shell command. */
export const shellQuote = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`
