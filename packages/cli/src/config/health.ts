import { createHash, timingSafeEqual } from 'node:crypto'
import type { AuthRequest, Logger, Plugin } from '@modelgate/core'
import { healthRoutes } from '@modelgate/core/health'
import type { OpenTokens } from './token-storage.ts'

/** Creates the health endpoints of the server. */
export function healthPlugin(
  adminToken: string | undefined,
  { ping }: Pick<OpenTokens, 'ping'>,
  logger: Logger | false,
): Plugin {
  return healthRoutes({
    ...(adminToken ? { authorize: bearerOf(adminToken) } : {}),
    // The storage itself logs why Redis is unavailable.
    ...(ping === undefined ? {} : { checks: { redis: () => ping().catch(() => false) } }),
    logger,
  })
}

/**
 * Creates a function that accepts requests with one bearer token. It compares digests in constant time, so that response times reveal
 * neither the token's content nor its length.
 */
export function bearerOf(token: string): (request: Pick<AuthRequest, 'header'>) => boolean {
  const expected = digest(token)
  return ({ header }) => {
    const given = /^bearer +(\S+)$/i.exec(header('authorization') ?? '')?.[1]
    return given !== undefined && timingSafeEqual(digest(given), expected)
  }
}

const digest = (text: string): Buffer => createHash('sha256').update(text).digest()

/** Returns the URL of a request in which a health path at the root of the server is replaced by that below the base path. */
export const healthUrl = (url: string, basePath: string): string =>
  basePath !== '' && /^\/(?:healthz|readyz)(?:$|[?/])/.test(url) ? basePath + url : url
