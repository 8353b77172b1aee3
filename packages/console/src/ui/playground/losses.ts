/** One thing that did not arrive as it was written: what the header `modelgate-loss` tells of it. */
export interface ToldLoss {
  /** JSON Pointer into the request; into the upstream's answer where `inAnswer`. */
  readonly path: string
  readonly kind: string
  readonly severity: string
  readonly inAnswer: boolean
}

/** Reads the header. A last item that only counts what did not fit is left out: `total` has it. */
export function readLossHeader(header: string | undefined): {
  readonly losses: readonly ToldLoss[]
  readonly total: number
} {
  const losses: ToldLoss[] = []
  let total = 0
  for (const [, path = '', rest = ''] of (header ?? '').matchAll(/"((?:[^"\\]|\\.)*)"([^",]*)/g)) {
    const more = /;more=(\d+)/.exec(rest)?.[1]
    total += more === undefined ? 1 : Number(more)
    if (more === undefined)
      losses.push({
        path: path.replace(/\\(.)/g, '$1'),
        severity: /;severity=([\w-]+)/.exec(rest)?.[1] ?? '',
        kind: /;kind=([\w-]+)/.exec(rest)?.[1] ?? '',
        inAnswer: rest.includes(';in=answer'),
      })
  }
  return { losses, total }
}
