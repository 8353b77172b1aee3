import type { IncomingMessage, ServerResponse } from 'node:http'
import { type Gateway, GatewayError } from '@modelgate/core'
import { createNodeHandler, type NodeOptions } from '@modelgate/node'

/** What Express 4 and 5 both take as an error handler. */
export type ExpressErrorHandler = (
  error: unknown,
  req: IncomingMessage,
  res: ServerResponse,
  next: (error?: unknown) => void,
) => void

/**
 * Answers requests to the gateway's paths that a body parser refused before the gateway saw them, in the words of the client's format:
 * `app.use(express.json()); app.use(expressMiddleware(gateway)); app.use(expressBodyErrors(gateway))`. Without it, Express answers a body over
 * the limit of `express.json()` (100 kB by default) with an HTML page. Other errors go on to the next error handler.
 *
 * Not needed where the gateway is mounted before body parsers.
 */
export function expressBodyErrors(gateway: Gateway, options?: NodeOptions): ExpressErrorHandler {
  const handle = createNodeHandler(gateway, options)
  // Express tells error handlers by their four parameters.
  return (error, req, res, next) => {
    const refused = refusalOf(error)
    if (refused === undefined || res.headersSent || !handle.matches(req)) return next(error)
    // Read first by the gateway, so that authentication and the format's own error come before and after it.
    Object.defineProperty(req, 'rawBody', {
      configurable: true,
      get() {
        throw refused
      },
    })
    handle(req, res)
  }
}

/** What a body parser's error is to the gateway's client; undefined for errors of anything else. */
function refusalOf(error: unknown): GatewayError | undefined {
  if (typeof error !== 'object' || error === null) return undefined
  const { type, limit } = error as { readonly type?: unknown; readonly limit?: unknown }
  const size = typeof limit === 'number' ? ` of ${limit} bytes` : ''
  switch (type) {
    case 'entity.too.large':
      return new GatewayError(
        'request_too_large',
        `The request body is larger than the limit${size} of the app's body parser: raise it (express.json({ limit: '100mb' })), or mount the gateway before the parser.`,
        { cause: error },
      )
    case 'entity.parse.failed':
      return new GatewayError(
        'invalid_request',
        'We could not parse the JSON body of your request: it is not valid JSON.',
      )
    case 'encoding.unsupported':
    case 'charset.unsupported':
      return new GatewayError('unsupported_media_type', "The app's body parser does not know the body's encoding.")
    default:
      return undefined
  }
}
