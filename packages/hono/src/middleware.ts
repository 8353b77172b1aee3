import type { Gateway } from '@modelgate/core'
import type { Context, MiddlewareHandler } from 'hono'

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
    const request = c.req.raw
    const { start, end } = pathIn(request.url)
    const path = request.url.slice(start, end)
    const matched = candidates(c, path, basePath).find((one) => gateway.match(request.method, one) !== null)
    if (matched === undefined) return next()
    // The gateway itself knows only the path below the prefix; a new request is made only where they differ.
    const url = matched === path ? request.url : request.url.slice(0, start) + matched + request.url.slice(end)
    return gateway.fetch(await usable(c, url))
  }
}

/**
 * The path as it is, then without one, two, … of the segments that the middleware's own route has before its `*`. Hono
 * does not strip prefixes, and `/v1/*` may be the gateway's own path or a prefix: the gateway's `match` tells.
 */
function candidates(c: Context, path: string, basePath: string | undefined): string[] {
  if (basePath !== undefined) {
    const prefix = basePath.replace(/\/+$/, '')
    if (path === prefix) return ['/']
    return path.startsWith(`${prefix}/`) ? [path.slice(prefix.length)] : []
  }
  const found = [path]
  let rest = path
  for (const segment of c.req.routePath.split('/').slice(1)) {
    const slash = rest.indexOf('/', 1)
    if (segment.startsWith('*')) break
    if (slash < 0) {
      // The mount itself, without its slash.
      found.push('/')
      break
    }
    rest = rest.slice(slash)
    found.push(rest)
  }
  return found
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

function pathIn(url: string): { start: number; end: number } {
  const start = url.indexOf('/', url.indexOf('://') + 3)
  const end = url.slice(start).search(/[?#]/)
  return { start, end: end < 0 ? url.length : start + end }
}
