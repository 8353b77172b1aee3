import { type Gateway, toResponse } from '@modelgate/core'
import { sharedTransport } from '@modelgate/node'
import type { Context, MiddlewareHandler } from 'hono'
import type { HonoOptions } from './middleware.ts'
import { HonoInbound, type NodeHost } from './node-inbound.ts'
import { findTarget } from './target.ts'

/**
 * The middleware where Node runs it: calls upstream leave through undici, as from every adapter for Node, and neither they
 * nor the requests of @hono/node-server become web streams. For the rest the same as elsewhere.
 */
export function honoMiddleware(gateway: Gateway, options: HonoOptions = {}): MiddlewareHandler {
  const { basePath } = options
  const transport = sharedTransport()
  return async (c, next) => {
    const target = findTarget(c, gateway, basePath)
    if (target === undefined) return next()
    const { url, method } = c.req.raw
    const inbound = new HonoInbound(c, target.path, queryAt(url, target.end), hostOf(c))
    return toResponse(await gateway.handle(inbound, transport), method, inbound.signal)
  }
}

function queryAt(url: string, at: number): string {
  if (url[at] !== '?') return ''
  const hash = url.indexOf('#', at)
  return url.slice(at + 1, hash < 0 ? undefined : hash)
}

/**
 * @hono/node-server hands out objects of its own that turn into a Request only when they have to. Where a middleware before
 * us has put a Request in its place, or the call came in another way, the request's own signal is to be listened to.
 */
function hostOf({ env, req }: Context): NodeHost | undefined {
  const { incoming, outgoing } = (env ?? {}) as { incoming?: NodeHost[0]; outgoing?: NodeHost[1] }
  if (incoming === undefined || outgoing === undefined) return undefined
  return Object.getPrototypeOf(req.raw) === Request.prototype ? undefined : [incoming, outgoing]
}
