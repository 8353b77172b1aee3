import type { Socket } from 'node:net'

/** State of the response that a connection waits for. */
export interface PendingResponse {
  /** A request has been sent, and nothing but `100 Continue` has arrived. */
  isPending: boolean
}

const continueStart = Buffer.from('HTTP/1.1 100')
const headEnd = Buffer.from('\r\n\r\n')

/** Larger than the head of any interim response. */
const maxHeadBytes = 16 * 1024

/**
 * Hides an unrequested `100 Continue` in front of a response from undici. RFC 9110 (15.2) requires clients to accept it; undici closes
 * the connection. All other bytes pass unchanged.
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
      if (mayBecomeContinue(bytes) && bytes.length < maxHeadBytes) {
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
  bytes.length >= continueStart.length && bytes.subarray(0, continueStart.length).equals(continueStart)

/** Also true for a prefix of one. */
const mayBecomeContinue = (bytes: Buffer): boolean => {
  const length = Math.min(bytes.length, continueStart.length)
  return bytes.subarray(0, length).equals(continueStart.subarray(0, length))
}
