/** A table in Markdown; the first row is its head. */
export const table = (...rows: string[][]): string =>
  [rows[0] ?? [], (rows[0] ?? []).map(() => '---'), ...rows.slice(1)]
    .map((cells) => `| ${cells.join(' | ')} |\n`)
    .join('')
