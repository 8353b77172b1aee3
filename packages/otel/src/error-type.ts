import type { FinishEvent } from './events.ts'

/** The value for errors that have no word of their own. */
const other = '_OTHER'

/**
 * The kind of error that a call ended with (docs/errors.md), or undefined for one that did not. Messages are not read: they
 * may quote the request.
 */
export function errorTypeOf({ outcome, error }: Pick<FinishEvent, 'outcome' | 'error'>): string | undefined {
  if (outcome === 'finished') return undefined
  if (outcome === 'aborted') return 'cancelled'
  return kindIn(fieldOf(error, 'info')) ?? kindIn(error) ?? other
}

/** The gateway's errors have it in their `info`; what was read from a stream is such an `info` itself. */
function kindIn(value: unknown): string | undefined {
  const kind = fieldOf(value, 'kind')
  return typeof kind === 'string' && /^[a-z_]{1,40}$/.test(kind) ? kind : undefined
}

const fieldOf = (value: unknown, name: 'info' | 'kind'): unknown =>
  typeof value === 'object' && value !== null && name in value ? (value as { [key: string]: unknown })[name] : undefined
