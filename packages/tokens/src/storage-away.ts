import { GatewayError } from '@modelgate/core'
import { StorageAwayError } from './storage/storage.ts'

/** Seconds told to clients: they come back while a caller still waits. */
const retrySeconds = 1

/** What is told when the store of the tokens cannot be reached: 503, come again. */
const unavailable = (cause: StorageAwayError): GatewayError =>
  new GatewayError('unavailable', 'Tokens cannot be checked at the moment; try again shortly.', {
    retryAfter: retrySeconds,
    cause,
  })

/** A failure of the store in the words of the gateway; any other as it is. */
export const told = (error: unknown): unknown => (error instanceof StorageAwayError ? unavailable(error) : error)
