import { type Gateway, toResponse } from '@modelgate/core'
import { adapterFunctions } from '@modelgate/core/adapter'
import { sharedTransport } from '@modelgate/node'
import type { Context, MiddlewareHandler } from 'hono'
import type { HonoOptions } from './middleware.ts'
import { HonoInbound, type NodeHost } from './node-inbound.ts'
import { findTarget } from './target.ts'

/**
 * The middleware for Node: it sends upstream calls through undici, as every Node adapter does, and creates no web streams for them or
 * for the requests of @hono/node-server. Otherwise it equals the one for other runtimes.
 */
export function honoMiddleware(gateway: Gateway, options: HonoOptions = {}): MiddlewareHandler {
  const { basePath } = options
  const { handle, match } = adapterFunctions(gateway)
  const transport = sharedTransport()
  return async (c, next) => {
    const target = findTarget(c, match, basePath)
    if (target === undefined) return next()
    const { url, method } = c.req.raw
    const inbound = new HonoInbound(c, target.path, queryAt(url, target.end), nodeHostOf(c))
    return toResponse(await handle(inbound, transport), method, inbound.signal)
  }
}

function queryAt(url: string, at: number): string {
  if (url[at] !== '?') return ''
  const hash = url.indexOf('#', at)
  return url.slice(at + 1, hash < 0 ? undefined : hash)
}

/**
 * Returns Node's own objects if the request is one of @hono/node-server, which become a `Request` only on demand. Undefined if an
 * earlier middleware has replaced the request or another server made it: then the request's own signal counts.
 */
function nodeHostOf({ env, req }: Context): NodeHost | undefined {
  const { incoming, outgoing } = (env ?? {}) as { incoming?: NodeHost[0]; outgoing?: NodeHost[1] }
  if (incoming === undefined || outgoing === undefined) return undefined
  return Object.getPrototypeOf(req.raw) === Request.prototype ? undefined : [incoming, outgoing]
}
