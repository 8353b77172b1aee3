import type { Exchange, Usage } from '../formats/format.ts'

export interface Speed {
  /** Milliseconds to the first token, or to the end of an unstreamed response. */
  readonly firstMs?: number
  readonly totalMs?: number
  readonly tokensPerSecond?: number
}

/** A rate over a shorter time is noise. */
const shortestMs = 20

/** Computes the speed of a response. For streams, rates leave out the wait for the first token. */
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
