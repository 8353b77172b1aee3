import { GatewayError } from '@modelgate/core'

export function bodyTooLarge(limit: number, contentLength?: string): GatewayError {
  const size = contentLength === undefined ? '' : ` (content-length: ${contentLength.slice(0, 20)})`
  return new GatewayError('request_too_large', `The request body is larger than the limit of ${limit} bytes${size}.`)
}

export const bodyTooSlow = (): GatewayError =>
  new GatewayError('timeout', 'The request body came too slowly and was given up.')

export const bodyCutOff = (cause?: unknown): GatewayError =>
  new GatewayError('cancelled', 'The client closed the connection before the request body was complete.', { cause })
