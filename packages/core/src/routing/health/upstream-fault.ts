import type { GatewayError } from '../../base/errors.ts'
import { codeOf } from '../../http/transport.ts'

/**
 * Error codes of failed connections in Node, Bun and undici. A connection that broke later is not included: an upstream, or a firewall in
 * front of it, may reset the connection because of the content of one request.
 */
const noConnection: ReadonlySet<string> = new Set([
  'ConnectionRefused',
  'EAI_AGAIN',
  'ECONNREFUSED',
  'EHOSTDOWN',
  'EHOSTUNREACH',
  'ENETDOWN',
  'ENETUNREACH',
  'ENOTFOUND',
  'FailedToOpenSocket',
])

/** Matches error codes of rejected certificates. */
const certificate = /CERT|^ERR_TLS|^UNABLE_TO_/

/**
 * Whether the upstream itself failed, independently of the request: no connection, or no response within the gateway's time limit. An
 * error that the upstream sent, and a truncated response, may be caused by the request.
 */
export function isUpstreamFault({ info, hints, cause }: GatewayError): boolean {
  switch (info.kind) {
    case 'upstream_connect_timeout':
      return true
    case 'upstream_timeout':
      // With a status, the upstream sent a 504 itself.
      return hints?.status === undefined
    case 'upstream_unreachable': {
      const code = codeOf(cause) ?? codeOf(cause instanceof Error ? cause.cause : undefined)
      return code !== undefined && (noConnection.has(code) || certificate.test(code))
    }
    default:
      return false
  }
}
