/** One loss of the header `modelgate-loss`. */
export interface ToldLoss {
  /** JSON Pointer into the request, or into the upstream's response if `inAnswer`. */
  readonly path: string
  readonly kind: string
  readonly severity: string
  readonly inAnswer: boolean
}

/** Reads the header. A final item that only counts the omitted ones is left out: the totals include it. */
export function readLossHeader(header: string | undefined): {
  readonly losses: readonly ToldLoss[]
  /** Number of losses without notes. */
  readonly total: number
  readonly notes: number
} {
  const losses: ToldLoss[] = []
  let total = 0
  let notes = 0
  for (const [, path = '', rest = ''] of (header ?? '').matchAll(/"((?:[^"\\]|\\.)*)"([^",]*)/g)) {
    const number = (name: string): number => Number(new RegExp(`;${name}=(\\d+)`).exec(rest)?.[1] ?? 0)
    const severity = /;severity=([\w-]+)/.exec(rest)?.[1]
    if (severity === undefined) {
      total += number('more')
      notes += number('notes')
      continue
    }
    if (severity === 'note') notes += number('count') || 1
    else total++
    losses.push({
      path: path.replace(/\\(.)/g, '$1'),
      severity,
      kind: /;kind=([\w-]+)/.exec(rest)?.[1] ?? '',
      inAnswer: rest.includes(';in=answer'),
    })
  }
  return { losses, total, notes }
}
