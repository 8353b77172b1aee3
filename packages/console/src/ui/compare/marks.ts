import type { Loss } from '@modelgate/core'
import type { JsonLine } from './json-lines.ts'

export interface Mark {
  readonly severity: Loss['severity']
  /** Losses to describe at this line: only at the first line of their field. */
  readonly losses: readonly Loss[]
}

export interface Marked {
  /** By the line's index. */
  readonly marks: ReadonlyMap<number, Mark>
  /** Returns the line of a loss: its own, or that of the nearest existing ancestor. */
  readonly lineOf: (loss: Loss) => number
}

const rank = { note: 0, warn: 1, fatal: 2 } as const
const worse = (a: Loss['severity'], b: Loss['severity']): Loss['severity'] => (rank[a] >= rank[b] ? a : b)

/** Marks the lines of the client's request that did not reach the upstream unchanged. */
export function markLosses(lines: readonly JsonLine[], losses: readonly Loss[]): Marked {
  const begins = new Map<string, number>()
  const ends = new Map<string, number>()
  for (const [index, { pointer, closes }] of lines.entries()) (closes === true ? ends : begins).set(pointer, index)
  const lineOf = ({ path }: Loss): number => begins.get(nearest(path, begins)) ?? 0

  const marks = new Map<number, Mark>()
  const mark = (index: number, severity: Loss['severity'], added: readonly Loss[]): void => {
    const before = marks.get(index)
    marks.set(index, {
      severity: before === undefined ? severity : worse(before.severity, severity),
      losses: [...(before?.losses ?? []), ...added],
    })
  }
  for (const loss of losses) {
    const first = lineOf(loss)
    mark(first, loss.severity, [loss])
    // A field in the request is marked whole. A missing field (an added default) marks only the place where it would be.
    const last = begins.has(loss.path) && loss.path !== '' ? (ends.get(loss.path) ?? first) : first
    for (let index = first + 1; index <= last; index++) mark(index, loss.severity, [])
  }
  return { marks, lineOf }
}

function nearest(path: string, begins: ReadonlyMap<string, number>): string {
  let at = path
  while (at !== '' && !begins.has(at)) at = at.slice(0, Math.max(at.lastIndexOf('/'), 0))
  return at
}

export type Shown = { readonly line: JsonLine; readonly index: number } | { readonly skipped: number }

/** Returns the first `most` lines and, of the rest, the annotated ones with a little context. */
export function shownLines(
  lines: readonly JsonLine[],
  marks: ReadonlyMap<number, Mark>,
  most: number,
): readonly Shown[] {
  if (lines.length <= most) return lines.map((line, index) => ({ line, index }))
  const kept = new Set<number>()
  for (const [index, { losses }] of marks) {
    if (losses.length === 0 || kept.size > most) continue
    for (let near = index - 2; near <= index + 2; near++) kept.add(near)
  }
  const shown: Shown[] = []
  let skipped = 0
  const skip = (): void => {
    if (skipped > 0) shown.push({ skipped })
    skipped = 0
  }
  for (const [index, line] of lines.entries()) {
    if (index >= most && !kept.has(index)) {
      skipped++
      continue
    }
    skip()
    shown.push({ line, index })
  }
  skip()
  return shown
}
