import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Format } from '../../base/recorded-traffic.ts'

// Reads the tables of docs/reference/errors.md, so that documentation and behaviour cannot diverge.

/** The representation of an error kind in one dialect. */
export interface DocumentedError {
  readonly status: number
  readonly type: string
  /** Undefined if the table has none; the error may then have the upstream's own code. */
  readonly code: string | undefined
}

export interface Kind {
  readonly tellings: Readonly<Record<Format, DocumentedError>>
  /** Undefined if the response has no such header. */
  readonly retryAfter: string | undefined
  readonly hopeless: boolean
}

export interface DocumentedErrors {
  readonly kinds: Readonly<Record<string, Kind>>
  /** Kinds by an upstream's status and format. */
  readonly statuses: Readonly<Record<number, Readonly<Record<Format, string>>>>
}

/** Order of the columns in the document. */
const columns = ['chat', 'messages', 'gemini', 'responses'] as const

/** Returns the rows of the table between its markers, as trimmed cells. */
function rowsOf(text: string, mark: string): string[][] {
  const inside = text.split(`<!-- ${mark} -->`)[1]?.split(`<!-- /${mark} -->`)[0] ?? ''
  const [head = '', , ...rows] = inside.trim().split('\n')
  const cells = (line: string): string[] =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim())
  for (const [place, format] of columns.entries())
    if (!cells(head)[place + 1]?.includes(format))
      throw new Error(`docs/reference/errors.md: unexpected column in place of ${format} in the table '${mark}'`)
  return rows.map(cells)
}

const bare = (cell = ''): string => cell.replaceAll('`', '')

const tellingOf = (cell = ''): DocumentedError => ({
  status: Number(cell.slice(0, 3)),
  type: /`(\w+)`/.exec(cell)?.[1] ?? '',
  code: /code `(\w+)`/.exec(cell)?.[1],
})

const byFormat = <T>(cells: readonly string[], read: (cell: string | undefined) => T): Readonly<Record<Format, T>> =>
  Object.fromEntries(columns.map((format, place) => [format, read(cells[place])])) as Record<Format, T>

/** @throws Error if the tables have changed their shape */
export function readDocumentedErrors(): DocumentedErrors {
  // Relative to the folder of the bundle.
  const text = readFileSync(fileURLToPath(new URL('../../../../../docs/reference/errors.md', import.meta.url)), 'utf8')
  const kinds = rowsOf(text, 'kinds').map(([kind, ...cells]): [string, Kind] => {
    const [retryAfter = '', shouldRetry] = cells.slice(columns.length)
    return [
      bare(kind),
      {
        tellings: byFormat(cells, tellingOf),
        retryAfter: retryAfter === '' ? undefined : retryAfter,
        hopeless: shouldRetry === 'false',
      },
    ]
  })
  const statuses = rowsOf(text, 'statuses').map(([status, ...cells]): [string, Readonly<Record<Format, string>>] => [
    status ?? '',
    byFormat(cells, bare),
  ])
  if (kinds.length === 0 || statuses.length === 0) throw new Error('docs/reference/errors.md has no tables')
  return { kinds: Object.fromEntries(kinds), statuses: Object.fromEntries(statuses) }
}
