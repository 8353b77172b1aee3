import type { IncomingMessage } from 'node:http'
import { GatewayError } from '@modelgate/core'
import { bodyCutOff, bodyTooLarge } from './body-errors.ts'
import { decodeBody, isEncoded } from './decode-body.ts'
import { decodeStream } from './decode-stream.ts'
import { withMinimumRate } from './minimum-rate.ts'
import { rawUpload } from './parsed-body.ts'

/**
 * Streams the body of an upload and decodes its content-encoding. An early `return()` leaves the connection open for the response.
 *
 * @throws GatewayError as `readBody` does, and `internal` if one of the host's parsers has read the upload without keeping its bytes.
 */
export async function* streamBody(req: IncomingMessage, limit: number): AsyncGenerator<Uint8Array, undefined> {
  const kept = rawUpload(req)
  if (kept !== undefined) {
    if (kept.length > limit) throw bodyTooLarge(limit)
    yield kept
    return
  }
  const contentLength = req.headers['content-length']
  if (contentLength !== undefined && Number(contentLength) > limit) throw bodyTooLarge(limit, contentLength)
  const encoding = req.headers['content-encoding']
  if (!isEncoded(encoding)) {
    yield* receivedChunks(req, limit)
    return
  }
  // Throws for an unknown encoding before the body is read.
  decodeBody(encoding, limit)
  let size = 0
  try {
    for await (const chunk of decodeStream(receivedChunks(req, limit), [encoding.trim().toLowerCase()])) {
      size += chunk.length
      if (size > limit) throw bodyTooLarge(limit)
      yield chunk
    }
  } catch (cause) {
    if (cause instanceof GatewayError) throw cause
    throw new GatewayError('invalid_request', `The request body is not valid ${encoding.slice(0, 40)} data.`, { cause })
  }
}

async function* receivedChunks(req: IncomingMessage, limit: number): AsyncGenerator<Uint8Array, undefined> {
  if (req.destroyed) throw bodyCutOff()
  const chunks: AsyncIterator<Buffer | string> = req.iterator({ destroyOnReturn: false })
  let size = 0
  try {
    for await (const value of withMinimumRate(chunks)) {
      // The host may have called setEncoding.
      const chunk = typeof value === 'string' ? Buffer.from(value, req.readableEncoding ?? 'utf8') : value
      size += chunk.length
      if (size > limit) throw bodyTooLarge(limit)
      yield chunk
    }
  } catch (cause) {
    throw cause instanceof GatewayError ? cause : bodyCutOff(cause)
  }
}
