import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http'

/** What is left of a request this small is read by node itself, and the connection serves on. */
const smallBytes = 64 * 1024
/** How much of a refused body is thrown away, and for how long, so that its client comes to reading the answer. */
const maxBytes = 16 * 1024 * 1024
const maxMs = 2000

/** Whether a request that is answered before its end has so much left to come that its connection is better closed. */
export function mustLinger(req: IncomingMessage, status: number): boolean {
  if (req.httpVersionMajor !== 1) return false
  // Request timeout: what is left, however little, is not going to come.
  if (status === 408) return true
  const length = req.headers['content-length']
  if (length !== undefined) return Number(length) > smallBytes
  return req.headers['transfer-encoding'] !== undefined
}

/**
 * Sends a whole answer while the request is still coming, then closes. Closing at once would make the kernel reset the
 * connection over the unread bytes, and many clients would see a reset in place of the answer. So the complete answer
 * goes out first, and `end` waits until the client has stopped sending, within bounds.
 */
export function linger(
  req: IncomingMessage,
  res: ServerResponse,
  status: number,
  headers: OutgoingHttpHeaders,
  body: string | Uint8Array | null,
): void {
  res.writeHead(status, { ...headers, connection: 'close' })
  if (body === null) res.flushHeaders()
  else res.write(body)

  let left = maxBytes
  const onData = (chunk: Buffer | string): void => {
    left -= chunk.length
    if (left < 0) stop()
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
