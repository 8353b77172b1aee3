import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http'
import type { Reply } from '@modelgate/core'
import { linger, mustLinger } from './linger.ts'
import { sendStream } from './send-stream.ts'

/**
 * Sends a reply: a whole body in one write with its length, an iterable chunk by chunk. Throws only what `writeHead`
 * throws (a header that cannot be sent, headers already out), before anything is sent.
 */
export function sendReply(req: IncomingMessage, res: ServerResponse, { status, headers, body }: Reply): void {
  if (body !== null && typeof body === 'object' && !(body instanceof Uint8Array)) {
    if (!req.complete && req.httpVersionMajor === 1) res.setHeader('connection', 'close')
    sendStream(req, res, status, headers, body)
    return
  }
  // The reply is ours from here on; a copy of its headers would be one more object for each call.
  const head: OutgoingHttpHeaders = headers
  if (!isBodyless(status)) head['content-length'] = body === null ? 0 : Buffer.byteLength(body)
  const payload = req.method === 'HEAD' ? null : body
  if (!req.complete && mustLinger(req, status)) {
    linger(req, res, status, head, payload)
    return
  }
  res.writeHead(status, head)
  if (payload === null) res.end()
  else if (typeof payload === 'string' || payload.length > smallBytes) res.end(payload)
  // As text of one byte each, it leaves in one write with the head; bytes make Node gather two buffers.
  else res.end(Buffer.from(payload.buffer, payload.byteOffset, payload.length).toString('latin1'), 'latin1')
}

/** Up to here copying costs less than a second buffer. */
const smallBytes = 16 * 1024

/** Statuses that may not even say a length. */
const isBodyless = (status: number): boolean => status === 204 || status === 304
