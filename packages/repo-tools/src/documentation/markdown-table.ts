/** Formats a Markdown table; the first row is the header. */
export const table = (...rows: string[][]): string =>
  [rows[0] ?? [], (rows[0] ?? []).map(() => '---'), ...rows.slice(1)]
    .map((cells) => `| ${cells.join(' | ')} |\n`)
    .join('')
