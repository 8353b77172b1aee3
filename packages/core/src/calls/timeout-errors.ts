import { GatewayError } from '../base/errors.ts'
import { unreadableResponse } from '../http/transport.ts'

// Each limit has its own kind of error, so that call records and clients show which one was exceeded.

/** A limit that was reduced by the time already waited has a fraction of a millisecond. */
const within = (ms: number | undefined): string => (ms === undefined ? 'in time' : `within ${Math.round(ms) / 1000} s`)

/** @param ms the limit, where it is known */
export const firstByteTimeout = (ms?: number): GatewayError =>
  new GatewayError('upstream_timeout', `The upstream did not start its response ${within(ms)}.`)

export const idleTimeout = (): GatewayError =>
  new GatewayError('upstream_idle_timeout', 'The upstream stopped sending data before the end of its response.')

/** @param ms the limit, where it is known */
export const totalTimeout = (ms?: number): GatewayError =>
  new GatewayError('upstream_total_timeout', `The upstream did not finish its response ${within(ms)}.`)

/** For the call record and plugins: the client itself is not there to read it. @param ms the limit */
export const clientStalled = (ms: number): GatewayError =>
  new GatewayError(
    'cancelled',
    `The client read no byte of its response for ${ms / 1000} s (limits.clientStallMs); its connection was closed.`,
    { code: 'client_stalled' },
  )

/** Milliseconds for which a gateway that shuts down waits for clients to read their last error. */
export const finalErrorGraceMs = 1000

/** The error for bytes that end before the response does. Returns a GatewayError unchanged. */
export const truncated = (cause?: unknown): GatewayError =>
  cause instanceof GatewayError
    ? cause
    : (unreadableResponse(cause) ??
      new GatewayError(
        'upstream_truncated',
        'The upstream closed the connection before the end of its response.',
        cause === undefined ? {} : { cause },
      ))
