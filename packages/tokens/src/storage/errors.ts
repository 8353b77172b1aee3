import { GatewayError, type Logger } from '@modelgate/core'
import { StorageAwayError } from '../contract/storage.ts'

/** Seconds told to clients: they come back while a caller still waits. */
const retrySeconds = 1
/** A failure that lasts is logged again after this time. */
const logEveryMs = 60_000

/** What is told when the store of the tokens cannot be reached: 503, come again. */
const unavailable = (cause: StorageAwayError): GatewayError =>
  new GatewayError('unavailable', 'Tokens cannot be checked at the moment; try again shortly.', {
    retryAfter: retrySeconds,
    cause,
  })

/** A failure of the store in the words of the gateway; any other as it is. */
export const toGatewayError = (error: unknown): unknown =>
  error instanceof StorageAwayError ? unavailable(error) : error

/**
 * Makes `told` for failures that refuse calls: clients receive no cause, so it is logged, once a minute for each cause.
 */
export function createErrorMapper(logger: Logger): typeof toGatewayError {
  const logged = new Map<string, number>()
  return (error) => {
    if (error instanceof StorageAwayError) {
      const now = performance.now()
      const since = logged.get(error.message)
      if (since === undefined || now - since >= logEveryMs) {
        // Messages may differ by a number: a few are remembered.
        if (logged.size >= 10) logged.clear()
        logged.set(error.message, now)
        logger.error(`modelgate: calls are refused with 503, because tokens cannot be checked: ${error.message}`)
      }
    }
    return toGatewayError(error)
  }
}
