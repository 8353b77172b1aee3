import type { RetryConfig } from './config.ts'
import type { GatewayError } from './errors.ts'
import type { ErrorKind } from './formats/ir.ts'

export const defaultRetry: Readonly<Required<RetryConfig>> = {
  attempts: 3,
  maxWaitMs: 10_000,
  backoffMs: 500,
  maxBackoffMs: 8000,
  budgetRatio: 0.2,
  budgetFloor: 3,
}

/** What a configuration means; a model's own settings go before the gateway's. */
export const retryOf = (...settings: readonly (RetryConfig | false | undefined)[]): Readonly<Required<RetryConfig>> => {
  const given = settings.map((setting) => (setting === false ? { attempts: 1 } : (setting ?? {})))
  return Object.assign({}, defaultRetry, ...given.map(withoutUndefined))
}

const withoutUndefined = (settings: RetryConfig): RetryConfig =>
  Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== undefined))

/** Where a call may go on after a failure: at the same target too, at another one only, or nowhere. */
export type Onward = 'same' | 'elsewhere' | 'nowhere'

/** What becomes of each kind of failure; what is not here would fail anywhere just the same. */
const onward: { readonly [K in ErrorKind]?: Onward } = {
  conflict: 'same',
  overloaded: 'same',
  rate_limited: 'same',
  upstream_bad_response: 'same',
  upstream_connect_timeout: 'same',
  upstream_error: 'same',
  upstream_truncated: 'same',
  upstream_unreachable: 'same',
  // As the upstream said it: 408 and 504. Our own patience is not begun anew with the same target, see `Failure`.
  timeout: 'same',
  upstream_timeout: 'same',
  internal: 'elsewhere',
  quota_exceeded: 'elsewhere',
  upstream_auth: 'elsewhere',
  upstream_idle_timeout: 'elsewhere',
  upstream_total_timeout: 'elsewhere',
}

export const onwardFrom = (error: GatewayError): Onward => onward[error.info.kind] ?? 'nowhere'

/** Milliseconds to wait before the n-th retry (from 1) where nobody said how long: full jitter, so that callers spread. */
export function backoffMs(
  retry: number,
  { backoffMs, maxBackoffMs }: Pick<Required<RetryConfig>, 'backoffMs' | 'maxBackoffMs'>,
  random: () => number = Math.random,
): number {
  return random() * Math.min(maxBackoffMs, backoffMs * 2 ** (retry - 1))
}
