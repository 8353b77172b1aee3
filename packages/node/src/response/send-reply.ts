import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http'
import type { Reply } from '@modelgate/core'
import { needsLingeringClose, sendWithLingeringClose } from './lingering-close.ts'
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
  else if (typeof payload === 'string' || payload.length > smallBytes) res.end(payload)
  // Node sends a Latin-1 string in one write with the head; for bytes it gathers two buffers.
  else res.end(Buffer.from(payload.buffer, payload.byteOffset, payload.length).toString('latin1'), 'latin1')
}

/** Up to this size the copy costs less than a second buffer. */
const smallBytes = 16 * 1024

/** Statuses whose responses have neither a body nor a content-length. */
const forbidsLength = (status: number): boolean => status === 204 || status === 304
