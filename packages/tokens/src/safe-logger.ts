import type { Logger } from '@modelgate/core'

const silent: Logger = { warn() {}, error() {} }

/** A logger that never throws: what is to be logged goes on all the same. `undefined`: `console`; `false`: nothing. */
export function safeLogger(logger: Partial<Logger> | false | undefined): Logger {
  if (logger === false) return silent
  const to: Partial<Logger> = logger ?? console
  const safely =
    (level: 'warn' | 'error') =>
    (message: string, details?: unknown): void => {
      try {
        if (details === undefined) to[level]?.(message)
        else to[level]?.(message, details)
      } catch {
        // There is nowhere left to say it.
      }
    }
  return { warn: safely('warn'), error: safely('error') }
}
