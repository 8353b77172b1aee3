import type { IncomingMessage } from 'node:http'
import { GatewayError } from '@modelgate/core'

/** A request with the fields that body parsers set. */
type MaybeParsed = IncomingMessage & { rawBody?: unknown; body?: unknown }

/**
 * Returns the body that one of the host's body parsers has already read; undefined if the stream is still unread. `rawBody` is used
 * as it is. A parsed `body` is serialised again, without what JSON.parse loses (big integers, repeated keys): mount the gateway
 * before the parser to keep every byte.
 *
 * @throws GatewayError `internal` if the stream was read and the body was not kept.
 */
export function parsedBody(req: MaybeParsed): Uint8Array | undefined {
  const { rawBody } = req
  if (rawBody instanceof Uint8Array) return rawBody
  // `body` alone proves nothing: parsers set `{}` on requests that they did not read.
  if (!req.readableDidRead && !req.readableEnded) return undefined
  if (typeof rawBody === 'string') return Buffer.from(rawBody)
  const { body } = req
  if (body instanceof Uint8Array) return body
  if (typeof body === 'string') return Buffer.from(body)
  if (body !== undefined && body !== null) return Buffer.from(serialise(body))
  if (!hasBody(req)) return new Uint8Array(0)
  throw new GatewayError('internal', 'Middleware in front of the gateway read the request body and did not keep it.', {
    cause: new Error('Mount the gateway before the body parser, or keep the body as req.rawBody or req.body.'),
  })
}

/**
 * Returns an upload's bytes that one of the host's parsers has already read; undefined if the stream is still unread. Parsed fields
 * and files are not accepted, because the original bytes cannot be restored from them.
 *
 * @throws GatewayError `internal` if the stream was read and its bytes were not kept.
 */
export function rawUpload(req: MaybeParsed): Uint8Array | undefined {
  const { rawBody, body } = req
  if (rawBody instanceof Uint8Array) return rawBody
  if (!req.readableDidRead && !req.readableEnded) return undefined
  if (body instanceof Uint8Array) return body
  if (!hasBody(req)) return new Uint8Array(0)
  throw new GatewayError('internal', 'Middleware in front of the gateway read the upload and did not keep its bytes.', {
    cause: new Error(
      'Mount the gateway before the upload parser (multer, for example), or keep the bytes as req.rawBody.',
    ),
  })
}

function serialise(body: unknown): string {
  try {
    return JSON.stringify(body)
  } catch (cause) {
    // JSON.parse accepts deeper nesting than JSON.stringify.
    throw new GatewayError('invalid_request', 'The request body is nested too deeply.', { cause })
  }
}

const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] !== undefined ||
  (headers['content-length'] !== undefined && headers['content-length'] !== '0')
