import { GatewayError } from './errors.ts'

// Each limit has its own kind of error, so that books and clients can tell which one it was.

const within = (ms: number | undefined): string => (ms === undefined ? 'in time' : `within ${ms / 1000} s`)

/** @param ms the limit, where it is known */
export const noAnswer = (ms?: number): GatewayError =>
  new GatewayError('upstream_timeout', `The upstream did not begin to answer ${within(ms)}.`)

export const fellSilent = (): GatewayError =>
  new GatewayError('upstream_idle_timeout', 'The upstream fell silent in the middle of the answer.')

/** @param ms the limit, where it is known */
export const tookTooLong = (ms?: number): GatewayError =>
  new GatewayError('upstream_total_timeout', `The upstream did not finish its answer ${within(ms)}.`)

/** For the call record and plugins: the client itself is not there to read it. @param ms the limit */
export const clientStalled = (ms: number): GatewayError =>
  new GatewayError(
    'cancelled',
    `The client took no byte of its response for ${ms / 1000} s (limits.clientStallMs); its connection was closed.`,
    { code: 'client_stalled' },
  )
