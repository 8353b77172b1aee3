import type { Exchange, Usage } from './formats/format.ts'

export interface Speed {
  /** Milliseconds to the first token; of a whole answer: to its end. */
  readonly firstMs?: number
  readonly totalMs?: number
  readonly tokensPerSecond?: number
}

/** Shorter than this, a rate is chance. */
const shortestMs = 20

/** How fast an answer came. Rates leave out the wait for the first token, where there was a stream. */
export function speedOf({ firstPieceAt, endedAt, events }: Exchange, usage: Usage | undefined): Speed {
  const streamed = events.length > 1
  const from = streamed ? firstPieceAt : 0
  const took = endedAt === undefined || from === undefined ? 0 : endedAt - from
  const tokens = usage?.output
  return {
    ...(firstPieceAt === undefined || !streamed ? {} : { firstMs: firstPieceAt }),
    ...(endedAt === undefined ? {} : { totalMs: endedAt }),
    ...(tokens && took >= shortestMs ? { tokensPerSecond: (tokens / took) * 1000 } : {}),
  }
}
