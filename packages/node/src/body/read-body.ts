import type { IncomingMessage } from 'node:http'
import { GatewayError } from '@modelgate/core'
import { bodyTooLarge, decodeBody, decodeStream, isEncoded } from './content-encoding.ts'
import { bodyTooSlow, guardRate, withMinimumRate } from './minimum-rate.ts'
import { parsedBody, rawUpload } from './parsed-body.ts'

/**
 * Reads the whole request body and decodes its content-encoding. Also works if one of the host's body parsers has read it before.
 *
 * @throws GatewayError `request_too_large` (at once if content-length exceeds the limit, else at the first byte over it, and for
 * encoded bodies also once the decoded size exceeds it), `unsupported_media_type` (unknown content-encoding), `timeout` (below the
 * minimum rate), `cancelled` (the client disconnected).
 */
export function readBody(req: IncomingMessage, limit: number): Promise<Uint8Array> {
  let parsed: Uint8Array | undefined
  try {
    parsed = parsedBody(req)
  } catch (error) {
    return Promise.reject(error)
  }
  if (parsed !== undefined) return parsed.length > limit ? Promise.reject(bodyTooLarge(limit)) : Promise.resolve(parsed)
  const encoding = req.headers['content-encoding']
  return isEncoded(encoding) ? readEncoded(req, limit, encoding) : readStream(req, limit)
}

async function readEncoded(req: IncomingMessage, limit: number, encoding: string): Promise<Uint8Array> {
  // Throws for an unknown encoding before the body is read.
  const decode = decodeBody(encoding, limit)
  return decode(await readStream(req, limit))
}

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

const empty = new Uint8Array(0)
const ignore = (): void => {}

function readStream(req: IncomingMessage, limit: number): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const contentLength = req.headers['content-length']
    if (contentLength !== undefined && Number(contentLength) > limit) {
      reject(bodyTooLarge(limit, contentLength))
      return
    }
    if (req.readableEnded) {
      resolve(empty)
      return
    }
    if (req.destroyed) {
      reject(bodyCutOff())
      return
    }
    let first: Uint8Array | undefined
    let rest: Uint8Array[] | undefined
    let size = 0
    // The listeners stay after the end, because removing them costs more than they do. They must then hold neither the bytes nor the
    // promise: a request lives as long as its response.
    let onBytes: (bytes: Uint8Array) => void = resolve
    let onError: (error: GatewayError) => void = reject
    const release = (): void => {
      guard.done()
      onBytes = ignore
      onError = ignore
      first = undefined
      rest = undefined
    }

    const onData = (data: Buffer | string): void => {
      // The host may have called setEncoding.
      const chunk = typeof data === 'string' ? Buffer.from(data, req.readableEncoding ?? 'utf8') : data
      size += chunk.length
      if (size > limit) {
        req.pause()
        onError(bodyTooLarge(limit))
        stop()
        return
      }
      guard.bytes += chunk.length
      if (first === undefined) first = chunk
      else if (rest === undefined) rest = [first, chunk]
      else rest.push(chunk)
    }
    const onEnd = (): void => {
      onBytes(rest === undefined ? (first ?? empty) : Buffer.concat(rest, size))
      release()
    }
    const onDisconnect = (cause?: unknown): void => {
      if (req.readableEnded) return
      onError(bodyCutOff(cause))
      stop()
    }
    const guard = guardRate(() => {
      req.pause()
      onError(bodyTooSlow())
      stop()
    })
    const stop = (): void => {
      release()
      req.off('data', onData).off('end', onEnd).off('error', onDisconnect).off('close', onDisconnect)
    }
    req.on('data', onData).on('end', onEnd).on('error', onDisconnect).on('close', onDisconnect)
  })
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

const bodyCutOff = (cause?: unknown): GatewayError =>
  new GatewayError('cancelled', 'The client closed the connection before the request body was complete.', { cause })
