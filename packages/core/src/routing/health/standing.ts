import type { GatewayError } from '../../base/errors.ts'

/** How a target stands just now. */
export interface Standing {
  /** `doubtful`: it can be called, but one that is `ready` is better. `limited` and `failing`: not before `waitMs` are over. */
  readonly state: 'ready' | 'doubtful' | 'limited' | 'failing'
  readonly waitMs: number
}

/** One call to a target, from its beginning to its end; each of its ends is told once. */
export interface Ticket {
  readonly key: number | undefined
  /** The first event, or the whole answer, is there; undefined: how long that took says nothing. */
  answered(ms: number | undefined, stream: boolean): void
  /** It is over: undefined for well, or what went wrong. */
  over(error: GatewayError | undefined, waitMs?: number): void
}
