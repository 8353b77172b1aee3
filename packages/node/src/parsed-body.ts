import type { IncomingMessage } from 'node:http'
import { GatewayError } from '@modelgate/core'

/** What body parsers leave on a request. */
type MaybeParsed = IncomingMessage & { rawBody?: unknown; body?: unknown }

/**
 * The body that a parser of the host has already taken off the stream; undefined if the stream is still to be read.
 * `rawBody` is taken as it came; a parsed `body` is serialised again, at the price of what JSON.parse loses (big
 * integers, repeated keys): mount the gateway before the parser to keep every byte.
 *
 * @throws GatewayError `internal` if the stream is spent and nobody kept the body.
 */
export function parsedBody(req: MaybeParsed): Uint8Array | undefined {
  const { rawBody } = req
  if (rawBody instanceof Uint8Array) return rawBody
  // Not `body !== undefined`: parsers leave `{}` on requests that they did not read.
  if (!req.readableDidRead && !req.readableEnded) return undefined
  if (typeof rawBody === 'string') return Buffer.from(rawBody)
  const { body } = req
  if (body instanceof Uint8Array) return body
  if (typeof body === 'string') return Buffer.from(body)
  if (body !== undefined && body !== null) return Buffer.from(serialise(body))
  if (!hasBody(req)) return new Uint8Array(0)
  throw new GatewayError('internal', 'Something before the gateway read the request body and did not keep it.', {
    cause: new Error('Mount the gateway before what reads the body, or keep the body as req.rawBody or req.body.'),
  })
}

/**
 * An upload that a parser of the host has already taken off the stream; undefined if the stream is still to be read. Only its
 * own bytes will do: of fields and files that somebody took apart, nobody can say what they were.
 *
 * @throws GatewayError `internal` if the stream is spent and its bytes were not kept.
 */
export function keptUpload(req: MaybeParsed): Uint8Array | undefined {
  const { rawBody, body } = req
  if (rawBody instanceof Uint8Array) return rawBody
  if (!req.readableDidRead && !req.readableEnded) return undefined
  if (body instanceof Uint8Array) return body
  if (!hasBody(req)) return new Uint8Array(0)
  throw new GatewayError('internal', 'Something before the gateway read the upload and did not keep its bytes.', {
    cause: new Error(
      'Mount the gateway before what reads uploads (multer and the like), or keep the bytes as req.rawBody.',
    ),
  })
}

function serialise(body: unknown): string {
  try {
    return JSON.stringify(body)
  } catch (cause) {
    // JSON.parse reads deeper than JSON.stringify can write.
    throw new GatewayError('invalid_request', 'The request body nests too deeply.', { cause })
  }
}

const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] !== undefined ||
  (headers['content-length'] !== undefined && headers['content-length'] !== '0')
