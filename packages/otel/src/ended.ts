import { errorTypeOf } from './error-type.ts'
import type { FinishEvent } from './events.ts'

/** How one attempt of a call ended. */
export interface Ended {
  /** It is the one whose answer the client got, or began to get. */
  readonly answered: boolean
  readonly durationMs: number
  readonly errorType?: string
}

/**
 * How an attempt ended. The one that answered goes on to the end of the call, and what broke the call then broke it; the
 * others were over with their error.
 */
export function endOf(event: FinishEvent, index: number): Ended {
  const { attempts, durationMs } = event
  const attempt = attempts[index]
  if (attempt === undefined) return { answered: false, durationMs: 0 }
  const { error, startedMs, latencyMs } = attempt
  const left = Math.max(0, durationMs - startedMs)
  if (error !== undefined) return { answered: false, durationMs: Math.min(latencyMs ?? left, left), errorType: error }
  const broken = errorTypeOf(event)
  return { answered: true, durationMs: left, ...(broken === undefined ? {} : { errorType: broken }) }
}
