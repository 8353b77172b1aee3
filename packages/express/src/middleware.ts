import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Gateway } from '@modelgate/core'
import { createNodeHandler, type NodeOptions } from '@modelgate/node'

/** What Express 4 and 5 both take as a request handler. */
export type ExpressMiddleware = (req: IncomingMessage, res: ServerResponse, next: (error?: unknown) => void) => void

/**
 * The gateway as middleware: `app.use(expressMiddleware(gateway))`, or under a path, `app.use('/ai', …)`. What the
 * gateway does not answer goes on to the routes after it. Mount it before body parsers, so that bodies stay as they
 * came; after them it works too, with `expressBodyErrors` for bodies that the parser refuses.
 */
export function expressMiddleware(gateway: Gateway, options?: NodeOptions): ExpressMiddleware {
  const handle = createNodeHandler(gateway, options)
  return (req, res, next) => {
    // Express has taken the mount path off `req.url`.
    if (handle.matches(req)) handle(req, res)
    else next()
  }
}
