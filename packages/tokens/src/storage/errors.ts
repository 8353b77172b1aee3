import { GatewayError, type Logger } from '@modelgate/core'
import { StorageAwayError } from '../contract/storage.ts'

/** `retry-after` of the error, in seconds: short enough that clients retry while their caller still waits. */
const retrySeconds = 1
/** Milliseconds until the same failure is logged again. */
const logIntervalMs = 60_000
/** Maximum number of messages whose last log time is kept: messages may differ by a number. */
const maxLogged = 10

/** Returns the gateway's 503 error for a failure of the storage, and any other error unchanged. */
export const toGatewayError = (error: unknown): unknown =>
  error instanceof StorageAwayError
    ? new GatewayError('unavailable', 'Tokens cannot be checked at the moment. Try again shortly.', {
        retryAfter: retrySeconds,
        cause: error,
      })
    : error

/** Creates a `toGatewayError` that also logs: clients do not see the cause. Each message is logged once a minute. */
export function createErrorMapper(logger: Logger): typeof toGatewayError {
  const loggedAt = new Map<string, number>()
  return (error) => {
    if (error instanceof StorageAwayError && error.isLogged !== true) {
      const now = performance.now()
      const last = loggedAt.get(error.message)
      if (last === undefined || now - last >= logIntervalMs) {
        if (loggedAt.size >= maxLogged) loggedAt.clear()
        loggedAt.set(error.message, now)
        logger.error(`modelgate: calls are rejected with 503, because tokens cannot be checked: ${error.message}`)
      }
    }
    return toGatewayError(error)
  }
}
