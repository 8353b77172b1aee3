import type { Gateway } from '@modelgate/core'
import type { Context, MiddlewareHandler } from 'hono'
import { findTarget } from './target.ts'

/** What `honoMiddleware` takes. */
export interface HonoOptions {
  /** Path prefix under which the middleware is mounted (`/ai`). Default: found out from the route it is mounted on. */
  basePath?: string
}

/**
 * The gateway as middleware: `app.use(honoMiddleware(gateway))`, or under a path, `app.use('/ai/*', …)`. What the
 * gateway does not answer goes on to the routes after it. Runs wherever Hono does.
 */
export function honoMiddleware(gateway: Gateway, options: HonoOptions = {}): MiddlewareHandler {
  const { basePath } = options
  return async (c, next) => {
    const target = findTarget(c, gateway, basePath)
    if (target === undefined) return next()
    const { url } = c.req.raw
    const { path, start, end } = target
    // The gateway itself knows only the path below the prefix; a new request is made only where they differ.
    const inner = path.length === end - start ? url : url.slice(0, start) + path + url.slice(end)
    return gateway.fetch(await usable(c, inner))
  }
}

/** The request for the gateway, also where something before us has read the body: Hono keeps what it read. */
async function usable(c: Context, url: string): Promise<Request> {
  const { raw } = c.req
  if (url === raw.url && !raw.bodyUsed) return raw
  const { method, headers, signal } = raw
  const bodyless = method === 'GET' || method === 'HEAD'
  const body = bodyless ? null : raw.bodyUsed ? await c.req.arrayBuffer() : raw.body
  // Required for streams by the fetch standard, unknown to TypeScript.
  const init: RequestInit & { duplex: 'half' } = { method, headers, signal, body, duplex: 'half' }
  return new Request(url, init)
}
