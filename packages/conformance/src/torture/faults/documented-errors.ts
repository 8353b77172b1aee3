import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { type ClientFormat, clientFormats } from '../../base/client-formats.ts'
import { type Format, formats } from '../../base/recorded-traffic.ts'

// Reads the tables of docs/reference/errors.md, so that documentation and behaviour cannot diverge.

/** The representation of an error kind in one dialect. */
export interface DocumentedError {
  readonly status: number
  readonly type: string
  /** Undefined if the table has none; the error may then have the upstream's own code. */
  readonly code: string | undefined
}

export interface Kind {
  readonly tellings: Readonly<Record<ClientFormat, DocumentedError>>
  /** Undefined if the response has no such header. */
  readonly retryAfter: string | undefined
  readonly hopeless: boolean
}

export interface DocumentedErrors {
  readonly kinds: Readonly<Record<string, Kind>>
  /** Kinds by an upstream's status and format. */
  readonly statuses: Readonly<Record<number, Readonly<Record<Format, string>>>>
}

/** A row of a table: its first cell, and the others by the head of their column. */
interface Row {
  readonly name: string
  cell(head: string): string
}

/** Returns the rows of the table between its markers. */
function rowsOf(text: string, mark: string): Row[] {
  const inside = text.split(`<!-- ${mark} -->`)[1]?.split(`<!-- /${mark} -->`)[0] ?? ''
  const [head = '', , ...rows] = inside.trim().split('\n')
  const cells = (line: string): string[] =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim())
  const heads = cells(head)
  return rows.map((line) => {
    const values = cells(line)
    return {
      name: bare(values[0]),
      cell(wanted) {
        const value = values[heads.indexOf(wanted)]
        if (value === undefined) throw new Error(`docs/reference/errors.md: no column '${wanted}' in '${mark}'`)
        return value
      },
    }
  })
}

const bare = (cell = ''): string => cell.replaceAll('`', '')

const tellingOf = (cell: string): DocumentedError => ({
  status: Number(cell.slice(0, 3)),
  type: /`(\w+)`/.exec(cell)?.[1] ?? '',
  code: /code `(\w+)`/.exec(cell)?.[1],
})

const byFormat = <F extends ClientFormat, T>(columns: readonly F[], read: (format: F) => T): Readonly<Record<F, T>> =>
  Object.fromEntries(columns.map((format) => [format, read(format)])) as Record<F, T>

/** @throws Error if the tables have changed their shape */
export function readDocumentedErrors(): DocumentedErrors {
  // Relative to the folder of the bundle.
  const text = readFileSync(fileURLToPath(new URL('../../../../../docs/reference/errors.md', import.meta.url)), 'utf8')
  const kinds = rowsOf(text, 'kinds').map(({ name, cell }): [string, Kind] => {
    const retryAfter = cell('`retry-after`')
    return [
      name,
      {
        tellings: byFormat(clientFormats, (format) => tellingOf(cell(`${format} client`))),
        retryAfter: retryAfter === '' ? undefined : retryAfter,
        hopeless: cell('`x-should-retry`') === 'false',
      },
    ]
  })
  const statuses = rowsOf(text, 'statuses').map(({ name, cell }): [string, Readonly<Record<Format, string>>] => [
    name,
    byFormat(formats, (format) => bare(cell(`from a ${format} upstream`))),
  ])
  if (kinds.length === 0 || statuses.length === 0) throw new Error('docs/reference/errors.md has no tables')
  return { kinds: Object.fromEntries(kinds), statuses: Object.fromEntries(statuses) }
}
