import type { Socket } from 'node:net'

/** What is known of the response that a connection waits for. */
export interface PendingResponse {
  /** A request has been sent, and nothing but `100 Continue` has come. */
  isPending: boolean
}

const start = Buffer.from('HTTP/1.1 100')
const headEnd = Buffer.from('\r\n\r\n')

/** More than any interim response needs. */
const maxHead = 16 * 1024

/**
 * Removes `100 Continue` in front of a response from what undici reads. RFC 9110 (15.2) tells clients to accept it unasked; undici
 * closes the connection on it. All other bytes pass as they are.
 */
export function skipContinue(socket: Socket, response: PendingResponse): void {
  const read = socket.read.bind(socket)
  let held: Buffer | undefined
  const next = (size?: number): Buffer | null => {
    for (;;) {
      const chunk = read(size) as Buffer | null
      if (chunk === null || !response.isPending) return chunk
      let bytes = held === undefined ? chunk : Buffer.concat([held, chunk])
      held = undefined
      while (isContinue(bytes)) {
        const end = bytes.indexOf(headEnd)
        if (end < 0) break
        bytes = bytes.subarray(end + headEnd.length)
      }
      if (bytes.length === 0) continue
      if (mayBeContinue(bytes) && bytes.length < maxHead) {
        held = bytes
        continue
      }
      response.isPending = false
      return bytes
    }
  }
  socket.read = next
}

const isContinue = (bytes: Buffer): boolean =>
  bytes.length >= start.length && bytes.subarray(0, start.length).equals(start)

/** Also for bytes that are only the beginning of one. */
const mayBeContinue = (bytes: Buffer): boolean => {
  const length = Math.min(bytes.length, start.length)
  return bytes.subarray(0, length).equals(start.subarray(0, length))
}
