import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Gateway } from '@modelgate/core'
import { createNodeHandler, type NodeOptions } from '@modelgate/node'

/** A request handler of Express 4 and 5. */
export type ExpressMiddleware = (req: IncomingMessage, res: ServerResponse, next: (error?: unknown) => void) => void

/**
 * Creates middleware that serves the gateway: `app.use(expressMiddleware(gateway))`, or under a path, `app.use('/ai', …)`. Requests
 * to other paths go to the next routes. Mount it before body parsers to keep bodies unchanged. It also works after them, with
 * `expressBodyErrors` for bodies that a parser rejects.
 */
export function expressMiddleware(gateway: Gateway, options?: NodeOptions): ExpressMiddleware {
  const handle = createNodeHandler(gateway, options)
  return (req, res, next) => {
    // `req.url` does not contain Express's mount path, which is the `baseUrl`.
    const sharesRoot = !('baseUrl' in req) || req.baseUrl === ''
    if (handle.matches(req, undefined, sharesRoot)) handle(req, res)
    else next()
  }
}
