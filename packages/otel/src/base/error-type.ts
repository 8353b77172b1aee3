import type { FinishEvent } from './events.ts'

/** Value for errors without a name in the conventions. */
const other = '_OTHER'

/**
 * Returns the kind of error that a call ended with (docs/errors.md), or undefined after a success. Messages are not read: they
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
