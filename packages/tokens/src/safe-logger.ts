import type { Logger } from '@modelgate/core'
import { isThenable } from './awaitable.ts'

const silent: Logger = { warn() {}, error() {} }

/** A logger that never throws or rejects: what is to be logged goes on all the same. `undefined`: `console`; `false`: nothing. */
export function safeLogger(logger: Partial<Logger> | false | undefined): Logger {
  if (logger === false) return silent
  const to: Partial<Logger> = logger ?? console
  const safely =
    (level: 'warn' | 'error') =>
    (message: string, details?: unknown): void => {
      try {
        const done: unknown = details === undefined ? to[level]?.(message) : to[level]?.(message, details)
        if (isThenable(done)) Promise.resolve(done).then(undefined, () => {})
      } catch {
        // There is nowhere left to say it.
      }
    }
  return { warn: safely('warn'), error: safely('error') }
}
