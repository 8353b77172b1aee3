import type { CallFacts } from '../../../calls.ts'
import type { Exchange } from '../formats/format.ts'

/** A call of a tab. */
export interface Run {
  /** Sorts by time. */
  readonly id: string
  /** Milliseconds since 1970. */
  readonly startedAt: number
  readonly model: string
  readonly exchange: Exchange
  readonly facts?: CallFacts
}
