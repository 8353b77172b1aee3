import { GatewayError } from '../base/errors.ts'
import { unreadableResponse } from '../http/transport.ts'

/** Maps a failure to an error for the current phase of an attempt. */
export type FailureMapper = (cause: unknown) => GatewayError

/** The mapper once the response or the upstream's own error is there: limits no longer apply. */
export const keepFailure: FailureMapper = (cause) => interruptedResponse(cause)

/** Maps a failure before the first event. */
export const interruptedResponse = (cause: unknown): GatewayError =>
  cause instanceof GatewayError
    ? cause
    : (unreadableResponse(cause) ??
      new GatewayError(
        'upstream_bad_response',
        'The upstream closed the connection before the first event of its response.',
        { cause },
      ))
