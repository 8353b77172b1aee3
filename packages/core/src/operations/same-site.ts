import { GatewayError } from '../base/errors.ts'
import type { Inbound } from '../http/inbound.ts'
import type { Route } from './routes.ts'

/** Content types that browsers send to another site without asking it first. */
const unasked: ReadonlySet<string> = new Set(['text/plain', 'multipart/form-data', 'application/x-www-form-urlencoded'])

/** Operations that a browser can be made to call from a page of any site, although they are no POST with a body. */
const withoutBody: ReadonlySet<Route['operation']> = new Set<Route['operation']>(['cancel-response', 'realtime'])

/**
 * Refuses what a page of another site can have a browser send unasked: a WebSocket, or a POST with the content type of a form. For
 * anything else browsers ask first (CORS), and whoever answers that decides. Only needed where no credential is asked for.
 *
 * @throws GatewayError `permission`, or `unsupported_media_type` for a body without a content type
 */
export function checkSameSite(inbound: Inbound, { method, operation }: Pick<Route, 'method' | 'operation'>): void {
  const hasNoBody = withoutBody.has(operation)
  if (method !== 'POST' && !hasNoBody) return
  const type = inbound.header('content-type')
  if (type === undefined && !hasNoBody)
    throw new GatewayError('unsupported_media_type', "The request has no content type: send 'application/json'.")
  const essence = type?.split(';', 1)[0]?.trim().toLowerCase() ?? ''
  if (!hasNoBody && !unasked.has(essence)) return
  if (isCrossSite(inbound))
    throw new GatewayError(
      'permission',
      "Browsers may not send this from a page of another origin, since this gateway asks for no credentials (auth: 'none'). Configure auth, or call it from its own origin.",
    )
}

function isCrossSite(inbound: Inbound): boolean {
  const site = inbound.header('sec-fetch-site')
  if (site !== undefined) return site !== 'same-origin' && site !== 'none'
  const origin = inbound.header('origin')
  if (origin === undefined) return false
  try {
    return new URL(origin).host !== inbound.header('host')?.toLowerCase()
  } catch {
    return true
  }
}
