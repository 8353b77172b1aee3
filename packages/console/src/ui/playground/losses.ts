/** One thing that did not arrive as it was written: what the header `modelgate-loss` tells of it. */
export interface ToldLoss {
  /** JSON Pointer into the request; into the upstream's answer where `inAnswer`. */
  readonly path: string
  readonly kind: string
  readonly severity: string
  readonly inAnswer: boolean
}

/** Reads the header. A last item that only counts what did not fit is left out: the totals have it. */
export function readLossHeader(header: string | undefined): {
  readonly losses: readonly ToldLoss[]
  /** How many losses there are but notes. */
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
