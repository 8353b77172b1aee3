import { GatewayError } from '../base/errors.ts'
import { unreadableResponse } from '../http/transport.ts'

// Each limit has its own kind of error, so that books and clients can tell which one it was.

const within = (ms: number | undefined): string => (ms === undefined ? 'in time' : `within ${ms / 1000} s`)

/** @param ms the limit, where it is known */
export const firstByteTimeout = (ms?: number): GatewayError =>
  new GatewayError('upstream_timeout', `The upstream did not begin to answer ${within(ms)}.`)

export const idleTimeout = (): GatewayError =>
  new GatewayError('upstream_idle_timeout', 'The upstream fell silent in the middle of the answer.')

/** @param ms the limit, where it is known */
export const totalTimeout = (ms?: number): GatewayError =>
  new GatewayError('upstream_total_timeout', `The upstream did not finish its answer ${within(ms)}.`)

/** For the call record and plugins: the client itself is not there to read it. @param ms the limit */
export const clientStalled = (ms: number): GatewayError =>
  new GatewayError(
    'cancelled',
    `The client took no byte of its response for ${ms / 1000} s (limits.clientStallMs); its connection was closed.`,
    { code: 'client_stalled' },
  )

/** How long a gateway that stops waits for clients to take their last error. */
export const finalErrorGraceMs = 1000

/** The upstream's bytes ended before its answer did. A GatewayError is passed on as it is. */
export const truncated = (cause?: unknown): GatewayError =>
  cause instanceof GatewayError
    ? cause
    : (unreadableResponse(cause) ??
      new GatewayError(
        'upstream_truncated',
        'The upstream closed the connection before the answer was complete.',
        cause === undefined ? {} : { cause },
      ))
