import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http'

/** Node itself reads the rest of a request up to this size, and the connection stays open. */
const smallBytes = 64 * 1024
/** Limits for discarding a rejected body, so that its client reads the response. */
const maxBytes = 16 * 1024 * 1024
const maxMs = 2000

/** Returns whether so much of the request is unread that its connection must be closed after the response. */
export function needsLingeringClose(req: IncomingMessage, status: number): boolean {
  if (req.httpVersionMajor !== 1) return false
  // After a request timeout the rest is not expected to arrive.
  if (status === 408) return true
  const length = req.headers['content-length']
  if (length !== undefined) return Number(length) > smallBytes
  return req.headers['transfer-encoding'] !== undefined
}

/**
 * Sends a whole response while the request is still arriving, then closes the connection. If it were closed at once, the kernel would
 * reset it because of the unread bytes, and many clients would see a reset instead of the response. So the complete response is
 * sent first, and `end` waits until the client stops sending, within limits.
 */
export function sendWithLingeringClose(
  req: IncomingMessage,
  res: ServerResponse,
  status: number,
  headers: OutgoingHttpHeaders,
  body: string | Uint8Array | null,
): void {
  res.writeHead(status, { ...headers, connection: 'close' })
  if (body === null) res.flushHeaders()
  else res.write(body)

  let remaining = maxBytes
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
  const timer = setTimeout(stop, maxMs)
  req.on('data', onData).on('end', stop).on('error', stop).on('close', stop)
  req.resume()
}
