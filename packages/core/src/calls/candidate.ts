import type { OnLoss } from '../config/identity.ts'
import type { ResolvedTarget } from '../routing/router.ts'
import type { AttemptLog } from './attempt-log.ts'
import type { Prepared } from './call.ts'

/** A target while a call is looking for an answer. */
export interface Candidate<P extends Prepared> {
  readonly target: ResolvedTarget
  /** It is of no use for this call, or no more. */
  out: boolean
  /** Attempts so far. */
  calls: number
  /** When it may be tried again, in milliseconds since 1970. */
  readyAt: number
  /** It gets the whole request. */
  lossless: boolean
  prepared: P | undefined
  policy: OnLoss
}

/** A call upstream to be made: whom, why, and after how long. */
export interface Step<P extends Prepared> {
  readonly candidate: Candidate<P>
  readonly prepared: P
  readonly reason: AttemptLog['reason']
  readonly waitMs: number
}
