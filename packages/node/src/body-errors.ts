import { GatewayError } from '@modelgate/core'

export function tooLarge(limit: number, announced?: string): GatewayError {
  const size = announced === undefined ? '' : ` (it announces ${announced.slice(0, 20)})`
  return new GatewayError('request_too_large', `The request body is larger than the limit of ${limit} bytes${size}.`)
}

export const tooSlow = (): GatewayError =>
  new GatewayError('timeout', 'The request body came too slowly and was given up.')

export const cutOff = (cause?: unknown): GatewayError =>
  new GatewayError('cancelled', 'The client closed the connection before the request body was complete.', { cause })
