import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { type Canceller, createCanceller, GatewayError } from '@modelgate/core'
import { type WebSocket, WebSocketServer } from 'ws'
import { closeTimeout } from './dial.ts'

/** Maximum bytes from a client before its handshake is complete. Clients should not send any. */
const maxEarlyBytes = 64 * 1024

/** How a client's WebSocket is accepted. */
export interface Acceptance {
  /** The accepted subprotocol. Undefined: the client offered none. */
  readonly protocol: string | undefined
  /** Headers of the 101 response. */
  readonly headers: Readonly<Record<string, string>>
  /** Largest message of the client in bytes. */
  readonly messageBytes: number
}

/** Accepts a client's WebSocket. Calls exactly one of the two functions. Compression is not accepted: it costs memory for each client. */
export function acceptClient(
  req: IncomingMessage,
  socket: Duplex,
  early: Buffer,
  { protocol, headers, messageBytes }: Acceptance,
  { onOpen, onLost }: { onOpen(client: WebSocket): void; onLost(): void },
): void {
  const server = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    maxPayload: messageBytes,
    handleProtocols: () => protocol ?? false,
    // Missing in the types of `ws`.
    ...{ closeTimeout },
  })
  server.on('headers', (lines) => {
    for (const [name, value] of Object.entries(headers)) lines.push(`${name}: ${value}`)
  })
  let accepted = false
  const onClose = (): void => {
    if (!accepted) onLost()
  }
  socket.once('close', onClose)
  server.handleUpgrade(req, socket, early, (client) => {
    accepted = true
    socket.off('close', onClose)
    onOpen(client)
  })
  // `handleUpgrade` does nothing if the client has just disconnected.
  if (!accepted && socket.destroyed) onClose()
}

/** Watches a client until its WebSocket is accepted: detects a disconnect, and buffers early messages. */
export function watchWaitingClient(socket: Duplex, head: Buffer): { readonly signal: Canceller; stop(): Buffer } {
  const signal = createCanceller()
  const chunks: Buffer[] = [head]
  let size = head.length
  const onLeave = (): void =>
    signal.abort(new GatewayError('cancelled', 'The client disconnected before the session was open.'))
  // Only a socket that is read reports that its peer has closed.
  const onData = (chunk: Buffer): void => {
    size += chunk.length
    if (size > maxEarlyBytes) socket.destroy()
    else chunks.push(chunk)
  }
  socket.on('data', onData).on('end', onLeave).on('close', onLeave)
  return {
    signal,
    stop() {
      socket.pause()
      socket.off('data', onData).off('end', onLeave).off('close', onLeave)
      return Buffer.concat(chunks)
    },
  }
}
