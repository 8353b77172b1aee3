import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http'
import type { Reply } from '@modelgate/core'
import { sendStream } from './send-stream.ts'

/**
 * Sends a reply: a whole body in one write with its length, an iterable chunk by chunk.
 *
 * @throws the errors of `writeHead` (an invalid header, headers already sent), before anything is sent
 */
export function sendReply(req: IncomingMessage, res: ServerResponse, { status, headers, body }: Reply): void {
  if (body !== null && typeof body === 'object' && !(body instanceof Uint8Array)) {
    if (!req.complete && req.httpVersionMajor === 1) res.setHeader('connection', 'close')
    sendStream(req, res, status, headers, body)
    return
  }
  // The reply is not used again, so its headers are not copied.
  const head: OutgoingHttpHeaders = headers
  if (!forbidsLength(status)) head['content-length'] = body === null ? 0 : Buffer.byteLength(body)
  const payload = req.method === 'HEAD' ? null : body
  if (!req.complete && needsLingeringClose(req, status)) {
    sendWithLingeringClose(req, res, status, head, payload)
    return
  }
  res.writeHead(status, head)
  if (payload === null) res.end()
  else if (typeof payload === 'string' || payload.length > maxCopiedBytes) res.end(payload)
  // Node sends a Latin-1 string in one write with the head; for bytes it gathers two buffers.
  else res.end(Buffer.from(payload.buffer, payload.byteOffset, payload.length).toString('latin1'), 'latin1')
}

/** Up to this size the copy costs less than a second buffer. */
const maxCopiedBytes = 16 * 1024

/** Statuses whose responses have neither a body nor a content-length. */
const forbidsLength = (status: number): boolean => status === 204 || status === 304

/** Node itself reads the rest of a request up to this size, and the connection stays open. */
const maxUnreadBytes = 64 * 1024
/** Limits for discarding a rejected body, so that its client reads the response. */
const maxDiscardedBytes = 16 * 1024 * 1024
const maxDiscardMs = 2000

/** Returns whether so much of the request is unread that its connection must be closed after the response. */
function needsLingeringClose(req: IncomingMessage, status: number): boolean {
  if (req.httpVersionMajor !== 1) return false
  // After a request timeout the rest is not expected to arrive.
  if (status === 408) return true
  const length = req.headers['content-length']
  if (length !== undefined) return Number(length) > maxUnreadBytes
  return req.headers['transfer-encoding'] !== undefined
}

/**
 * Sends a whole response while the request is still arriving, then closes the connection. If it were closed at once, the kernel would
 * reset it because of the unread bytes, and many clients would see a reset instead of the response. So the complete response is
 * sent first, and `end` waits until the client stops sending, within limits.
 */
function sendWithLingeringClose(
  req: IncomingMessage,
  res: ServerResponse,
  status: number,
  headers: OutgoingHttpHeaders,
  body: string | Uint8Array | null,
): void {
  res.writeHead(status, { ...headers, connection: 'close' })
  if (body === null) res.flushHeaders()
  else res.write(body)

  let remaining = maxDiscardedBytes
  const onData = (chunk: Buffer | string): void => {
    remaining -= chunk.length
    if (remaining < 0) stop()
  }
  const stop = (): void => {
    clearTimeout(timer)
    req.off('data', onData).off('end', stop).off('error', stop).off('close', stop)
    req.pause()
    res.end()
  }
  const timer = setTimeout(stop, maxDiscardMs)
  req.on('data', onData).on('end', stop).on('error', stop).on('close', stop)
  req.resume()
}
