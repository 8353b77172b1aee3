import type { IncomingMessage } from 'node:http'
import { GatewayError } from '@modelgate/core'
import { cutOff, tooLarge } from './body-errors.ts'
import { decodeBody, isEncoded } from './decode-body.ts'
import { decoded } from './decode-stream.ts'
import { paced } from './paced.ts'
import { keptUpload } from './parsed-body.ts'

/**
 * The request body as it comes, for uploads, content-encoding undone. Leaving early leaves the connection open for the answer.
 *
 * @throws GatewayError as `readBody` does, and `internal` where a parser of the host has taken the upload apart.
 */
export async function* streamBody(req: IncomingMessage, limit: number): AsyncGenerator<Uint8Array, undefined> {
  const kept = keptUpload(req)
  if (kept !== undefined) {
    if (kept.length > limit) throw tooLarge(limit)
    yield kept
    return
  }
  const announced = req.headers['content-length']
  if (announced !== undefined && Number(announced) > limit) throw tooLarge(limit, announced)
  const encoding = req.headers['content-encoding']
  if (!isEncoded(encoding)) {
    yield* arriving(req, limit)
    return
  }
  // Says so at once if it cannot be undone.
  decodeBody(encoding, limit)
  let size = 0
  try {
    for await (const chunk of decoded(arriving(req, limit), [encoding.trim().toLowerCase()])) {
      size += chunk.length
      if (size > limit) throw tooLarge(limit)
      yield chunk
    }
  } catch (cause) {
    if (cause instanceof GatewayError) throw cause
    throw new GatewayError('invalid_request', `The request body is not valid ${encoding.slice(0, 40)} data.`, { cause })
  }
}

async function* arriving(req: IncomingMessage, limit: number): AsyncGenerator<Uint8Array, undefined> {
  if (req.destroyed) throw cutOff()
  const chunks: AsyncIterator<Buffer | string> = req.iterator({ destroyOnReturn: false })
  let size = 0
  try {
    for await (const value of paced(chunks)) {
      // A host may have called setEncoding.
      const chunk = typeof value === 'string' ? Buffer.from(value, req.readableEncoding ?? 'utf8') : value
      size += chunk.length
      if (size > limit) throw tooLarge(limit)
      yield chunk
    }
  } catch (cause) {
    throw cause instanceof GatewayError ? cause : cutOff(cause)
  }
}
