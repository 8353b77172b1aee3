import { errorTypeOf } from './error-type.ts'
import type { FinishEvent } from './events.ts'

/** The end of one attempt of a call. */
export interface AttemptEnd {
  /** True for the attempt whose response the client got, or began to get. */
  readonly answered: boolean
  readonly durationMs: number
  readonly errorType?: string
}

/**
 * Returns how an attempt ended. The attempt that answered lasts until the end of the call, and an error that broke the call is
 * its error.
 * The other attempts ended with their own errors.
 */
export function attemptEnd(event: FinishEvent, index: number): AttemptEnd {
  const { attempts, durationMs } = event
  const attempt = attempts[index]
  if (attempt === undefined) return { answered: false, durationMs: 0 }
  const { error, startedMs, latencyMs } = attempt
  const left = Math.max(0, durationMs - startedMs)
  if (error !== undefined) return { answered: false, durationMs: Math.min(latencyMs ?? left, left), errorType: error }
  const broken = errorTypeOf(event)
  return { answered: true, durationMs: left, ...(broken === undefined ? {} : { errorType: broken }) }
}
