import { errorKinds, type RetryScope } from '../base/error-kinds.ts'
import type { GatewayError } from '../base/errors.ts'
import type { RetryConfig } from '../config/config.ts'

export const defaultRetry: Readonly<Required<RetryConfig>> = {
  attempts: 3,
  maxWaitMs: 10_000,
  backoffMs: 500,
  maxBackoffMs: 8000,
  budgetRatio: 0.2,
  budgetFloor: 3,
}

/** What a configuration means; a model's own settings go before the gateway's. */
export const resolveRetry = (
  ...settings: readonly (RetryConfig | false | undefined)[]
): Readonly<Required<RetryConfig>> => {
  const given = settings.map((setting) => (setting === false ? { attempts: 1 } : (setting ?? {})))
  return Object.assign({}, defaultRetry, ...given.map(withoutUndefined))
}

const withoutUndefined = (settings: RetryConfig): RetryConfig =>
  Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== undefined))

/** Where a call may be tried again after an error. */
export const retryScope = ({ info }: GatewayError): RetryScope => errorKinds[info.kind].retry ?? 'none'

/** Milliseconds to wait before the n-th retry (from 1) where nobody said how long: full jitter, so that callers spread. */
export function backoffMs(
  retry: number,
  { backoffMs, maxBackoffMs }: Pick<Required<RetryConfig>, 'backoffMs' | 'maxBackoffMs'>,
  random: () => number = Math.random,
): number {
  return random() * Math.min(maxBackoffMs, backoffMs * 2 ** (retry - 1))
}
