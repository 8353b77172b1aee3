import { errorKinds, type RetryScope } from '../base/error-kinds.ts'
import type { GatewayError } from '../base/errors.ts'
import type { RetryConfig } from '../config/config.ts'

/** Defaults of `retry`. */
export const defaultRetry: Readonly<Required<RetryConfig>> = {
  attempts: 3,
  maxWaitMs: 10_000,
  stayMs: 0,
  backoffMs: 500,
  maxBackoffMs: 8000,
  budgetRatio: 0.2,
  budgetFloor: 3,
}

/** Merges settings over the defaults. Later settings take precedence; `false` means one attempt. */
export const resolveRetry = (
  ...settings: readonly (RetryConfig | false | undefined)[]
): Readonly<Required<RetryConfig>> => {
  const objects = settings.map((setting) => (setting === false ? { attempts: 1 } : (setting ?? {})))
  return Object.assign({}, defaultRetry, ...objects.map(withoutUndefined))
}

const withoutUndefined = (settings: RetryConfig): RetryConfig =>
  Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== undefined))

/** Returns the targets at which a call may be retried after an error. */
export const retryScope = ({ info }: GatewayError): RetryScope => errorKinds[info.kind].retry ?? 'none'

/** Returns whether a status means that the upstream does not have the requested endpoint. */
export const hasNoEndpoint = (status = 0): boolean =>
  (status >= 300 && status < 400) || status === 404 || status === 405 || status === 415 || status === 501

/**
 * Returns the milliseconds to wait before the n-th retry (from 1), if the upstream stated no time: exponential backoff with full jitter,
 * so that retries of many callers spread out.
 */
export function backoffMs(
  retry: number,
  { backoffMs, maxBackoffMs }: Pick<Required<RetryConfig>, 'backoffMs' | 'maxBackoffMs'>,
  random: () => number = Math.random,
): number {
  return random() * Math.min(maxBackoffMs, backoffMs * 2 ** (retry - 1))
}
