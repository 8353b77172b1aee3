import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Format } from '../../base/recorded-traffic.ts'

// Reads the table that docs/errors.md publishes: a change to one requires a change to the other.

/** How a kind of error is told in one dialect. */
export interface Telling {
  readonly status: number
  readonly type: string
  /** Undefined: the table has none, and the error may have the upstream's own. */
  readonly code: string | undefined
}

export interface Kind {
  readonly tellings: Readonly<Record<Format, Telling>>
  /** Undefined: the answer carries none. */
  readonly retryAfter: string | undefined
  readonly hopeless: boolean
}

export interface Published {
  readonly kinds: Readonly<Record<string, Kind>>
  /** Kinds by an upstream's status, and its format. */
  readonly statuses: Readonly<Record<number, Readonly<Record<Format, string>>>>
}

/** The columns' order there. */
const columns = ['chat', 'messages', 'gemini', 'responses'] as const

/** The body of a table between its marks: cells without blanks around them. */
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
      throw new Error(`docs/errors.md: the table '${mark}' has another column in place of ${format}`)
  return rows.map(cells)
}

const bare = (cell = ''): string => cell.replaceAll('`', '')

const tellingOf = (cell = ''): Telling => ({
  status: Number(cell.slice(0, 3)),
  type: /`(\w+)`/.exec(cell)?.[1] ?? '',
  code: /code `(\w+)`/.exec(cell)?.[1],
})

const byFormat = <T>(cells: readonly string[], read: (cell: string | undefined) => T): Readonly<Record<Format, T>> =>
  Object.fromEntries(columns.map((format, place) => [format, read(cells[place])])) as Record<Format, T>

/** @throws Error where the tables are not what they were */
export function readPublished(): Published {
  // As seen from where the kit is bundled to.
  const text = readFileSync(fileURLToPath(new URL('../../../../../docs/errors.md', import.meta.url)), 'utf8')
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
  if (kinds.length === 0 || statuses.length === 0) throw new Error('docs/errors.md has no tables')
  return { kinds: Object.fromEntries(kinds), statuses: Object.fromEntries(statuses) }
}
