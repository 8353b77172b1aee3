import type { Logger } from '@modelgate/core'
import { isThenable } from './async.ts'

const silent: Logger = { warn() {}, error() {} }

/**
 * Returns a logger that never throws or rejects, so that a failing log does not fail a call.
 *
 * @param logger default: `console`; `false` logs nothing
 */
export function safeLogger(logger: Partial<Logger> | false | undefined): Logger {
  if (logger === false) return silent
  const target: Partial<Logger> = logger ?? console
  const safely =
    (level: 'warn' | 'error') =>
    (message: string, details?: unknown): void => {
      try {
        const result: unknown = details === undefined ? target[level]?.(message) : target[level]?.(message, details)
        if (isThenable(result)) Promise.resolve(result).then(undefined, () => {})
      } catch {
        // There is no other place to report the failure of a logger.
      }
    }
  return { warn: safely('warn'), error: safely('error') }
}
