import type { Gateway } from '@modelgate/core'
import { adapterFunctions } from '@modelgate/core/adapter'
import type { Context, MiddlewareHandler } from 'hono'
import { findTarget } from './target.ts'

/** Options of `honoMiddleware`. */
export interface HonoOptions {
  /** Path prefix under which the middleware is mounted (`/ai`). Default: derived from the route it is mounted on. */
  basePath?: string
}

/**
 * Creates middleware that serves the gateway: `app.use(honoMiddleware(gateway))`, or under a path, `app.use('/ai/*', …)`. Requests
 * to other paths go to the next routes. Runs on every runtime of Hono.
 */
export function honoMiddleware(gateway: Gateway, options: HonoOptions = {}): MiddlewareHandler {
  const { basePath } = options
  const { match } = adapterFunctions(gateway)
  return async (c, next) => {
    const target = findTarget(c, match, basePath)
    if (target === undefined) return next()
    const { url } = c.req.raw
    const { path, start, end } = target
    // The gateway expects the path without the prefix. Without a prefix, the request is passed on as it is.
    const gatewayUrl = path.length === end - start ? url : url.slice(0, start) + path + url.slice(end)
    return gateway.fetch(await requestFor(c, gatewayUrl))
  }
}

/** Returns the request with another URL, and with the body that Hono keeps if an earlier middleware has read it. */
async function requestFor(c: Context, url: string): Promise<Request> {
  const { raw } = c.req
  if (url === raw.url && !raw.bodyUsed) return raw
  const { method, headers, signal } = raw
  const hasNoBody = method === 'GET' || method === 'HEAD'
  const body = hasNoBody ? null : raw.bodyUsed ? await c.req.arrayBuffer() : raw.body
  // The Fetch standard requires `duplex` for streams; it is missing in TypeScript's types.
  const init: RequestInit & { duplex: 'half' } = { method, headers, signal, body, duplex: 'half' }
  return new Request(url, init)
}
