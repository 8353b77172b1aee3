import type { GatewayError } from '../../base/errors.ts'

/**
 * Codes of a connection that could not be made, as Node, Bun and undici name them. A connection that broke later is not among them: an
 * upstream, or a firewall in front of it, may reset the connection because of what one request contains.
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

/** Codes of certificates that were not accepted. */
const certificate = /CERT|^ERR_TLS|^UNABLE_TO_/

/**
 * Whether the upstream itself failed, whatever the request was: no connection, or no answer within the gateway's own time limit. An
 * error that the upstream sent, and an answer that broke off, may be caused by the request.
 */
export function isUpstreamFault({ info, hints, cause }: GatewayError): boolean {
  switch (info.kind) {
    case 'upstream_connect_timeout':
      return true
    case 'upstream_timeout':
      // With a status, it is the upstream's own 504.
      return hints?.status === undefined
    case 'upstream_unreachable': {
      const code = codeOf(cause) ?? codeOf(cause instanceof Error ? cause.cause : undefined)
      return code !== undefined && (noConnection.has(code) || certificate.test(code))
    }
    default:
      return false
  }
}

const codeOf = (error: unknown): string | undefined => {
  const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined
  return typeof code === 'string' ? code : undefined
}
