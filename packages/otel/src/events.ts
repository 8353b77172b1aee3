import type { FinishEvent, Plugin } from '@modelgate/core'

/** Events that the gateway passes to its plugins. */
export type RequestEvent = Parameters<NonNullable<Plugin['onRequest']>>[0]
export type UpstreamEvent = Parameters<NonNullable<Plugin['onUpstream']>>[0]
export type Attempt = FinishEvent['attempts'][number]
export type { FinishEvent }

/** The fields of a call that are known from start to end. */
export type CallInfo = Pick<FinishEvent, 'requestId' | 'identity' | 'operation' | 'format' | 'model' | 'stream'>

/** The end of one attempt of a call. */
export interface AttemptEnd {
  /** True for the attempt whose response the client got, or began to get. */
  readonly answered: boolean
  readonly durationMs: number
  readonly errorType?: string
}

/**
 * Returns how an attempt ended. The attempt that answered lasts until the end of the call, and an error that ended the call is its
 * error. The other attempts ended with their own errors.
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

/** Value for errors without a name in the conventions. */
const other = '_OTHER'

/**
 * Returns the kind of error that a call ended with (docs/reference/errors.md), or undefined after a success. Messages are not read: they
 * may quote the request.
 */
export function errorTypeOf({ outcome, error }: Pick<FinishEvent, 'outcome' | 'error'>): string | undefined {
  if (outcome === 'finished') return undefined
  if (outcome === 'aborted') return 'cancelled'
  return errorKindIn(fieldOf(error, 'info')) ?? errorKindIn(error) ?? other
}

/** Gateway errors carry the kind in their `info`; an error read from a stream is such an `info` itself. */
function errorKindIn(value: unknown): string | undefined {
  const kind = fieldOf(value, 'kind')
  return typeof kind === 'string' && /^[a-z_]{1,40}$/.test(kind) ? kind : undefined
}

const fieldOf = (value: unknown, name: 'info' | 'kind'): unknown =>
  typeof value === 'object' && value !== null && name in value ? (value as { [key: string]: unknown })[name] : undefined
