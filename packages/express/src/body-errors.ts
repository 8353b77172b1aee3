import type { IncomingMessage, ServerResponse } from 'node:http'
import { type Gateway, GatewayError } from '@modelgate/core'
import { createNodeHandler, type NodeOptions } from '@modelgate/node'

/** An error handler of Express 4 and 5. */
export type ExpressErrorHandler = (
  error: unknown,
  req: IncomingMessage,
  res: ServerResponse,
  next: (error?: unknown) => void,
) => void

/**
 * Creates an error handler for requests to the gateway's paths that a body parser has rejected. It responds in the client's format:
 * `app.use(express.json()); app.use(expressMiddleware(gateway)); app.use(expressBodyErrors(gateway))`. Without it, Express responds
 * to a body over the limit of `express.json()` (100 kB by default) with an HTML page. Other errors go to the next error handler.
 *
 * Not needed if the gateway is mounted before body parsers.
 */
export function expressBodyErrors(gateway: Gateway, options?: NodeOptions): ExpressErrorHandler {
  const handle = createNodeHandler(gateway, options)
  // Express recognises error handlers by their four parameters.
  return (error, req, res, next) => {
    const parserError = parserErrorOf(error)
    if (parserError === undefined || res.headersSent || !handle.matches(req)) return next(error)
    // Thrown when the gateway reads the body, so that it authenticates the caller first and then formats the error.
    Object.defineProperty(req, 'rawBody', {
      configurable: true,
      get() {
        throw parserError
      },
    })
    handle(req, res)
  }
}

/** Converts a body parser's error; undefined for other errors. */
function parserErrorOf(error: unknown): GatewayError | undefined {
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
      return new GatewayError(
        'unsupported_media_type',
        "The app's body parser does not support the encoding of the body.",
      )
    default:
      return undefined
  }
}
