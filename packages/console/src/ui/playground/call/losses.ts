import type { CallFacts } from '../../../calls.ts'
import type { LossCounts, ToldLoss } from '../../compare/losses.ts'
import type { Exchange } from '../formats/format.ts'

/**
 * Reads the header, or several joined by commas. A repeated loss counts once: a stream reports some in the header and again at its end.
 * A final item that only counts the omitted ones is left out: the totals include it.
 */
export function readLossHeader(header: string | undefined): {
  readonly losses: readonly ToldLoss[]
  /** Number of losses without notes. */
  readonly total: number
  readonly notes: number
} {
  const losses: ToldLoss[] = []
  let total = 0
  let notes = 0
  const known = new Set<string>()
  for (const [item, path = '', rest = ''] of (header ?? '').matchAll(/"((?:[^"\\]|\\.)*)"([^",]*)/g)) {
    const number = (name: string): number => Number(new RegExp(`;${name}=(\\d+)`).exec(rest)?.[1] ?? 0)
    const severity = /;severity=([\w-]+)/.exec(rest)?.[1]
    if (severity === undefined) {
      total += number('more')
      notes += number('notes')
      continue
    }
    if (known.has(item)) continue
    known.add(item)
    const count = number('count') || 1
    if (severity === 'note') notes += count
    else total++
    losses.push({
      path: path.replace(/\\(.)/g, '$1'),
      severity,
      kind: /;kind=([\w-]+)/.exec(rest)?.[1] ?? '',
      inAnswer: rest.includes(';in=answer'),
      count,
    })
  }
  return { losses, total, notes }
}

export interface CallLosses {
  readonly counts: LossCounts
  readonly losses: readonly ToldLoss[]
}

/**
 * Returns the losses of a call. Every view takes its numbers from here. The gateway's own counts win: they include the losses that a
 * loss policy keeps out of the header.
 */
export function lossesOf(exchange: Exchange, facts: CallFacts | undefined): CallLosses {
  const reported = [exchange.responseHeaders?.['modelgate-loss'], exchange.streamLosses]
  const { losses, total, notes } = readLossHeader(reported.filter((text) => text !== undefined).join(', '))
  return { counts: facts?.losses ?? { warnings: total, notes }, losses }
}
