import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import {
  type Canceller,
  createCanceller,
  GatewayError,
  type Inbound,
  type RealtimeSession,
  type RealtimeTransport,
  type Reply,
} from '@modelgate/core'
import type { AdapterFunctions } from '@modelgate/core/adapter'
import { type WebSocket, WebSocketServer } from 'ws'
import { closeTimeout } from './dial.ts'
import { relay } from './relay.ts'

/** Maximum bytes from a client before its handshake is complete. Clients should not send any. */
const maxEarlyBytes = 64 * 1024

/**
 * Opens a realtime session for an upgrade request: connects to the upstream, accepts the client, then relays messages both ways.
 *
 * @param url path and query without the host's mount prefix
 * @returns the response to send instead of a 101; undefined if the session is open or the client has disconnected
 */
export async function serveRealtime(
  { realtime }: AdapterFunctions,
  dial: RealtimeTransport<WebSocket>,
  req: IncomingMessage,
  socket: Duplex,
  head: Buffer,
  url: string,
): Promise<Reply | undefined> {
  const waiting = watchWaitingClient(socket, head)
  const opening = await realtime(inboundOf(req, url, waiting.signal), dial)
  const early = waiting.stop()
  if (!opening.ok) return opening.reply
  accept(req, socket, early, opening.session)
  return undefined
}

function accept(req: IncomingMessage, socket: Duplex, early: Buffer, session: RealtimeSession<WebSocket>): void {
  const server = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    maxPayload: session.messageBytes,
    handleProtocols: () => session.protocol ?? false,
    // Missing in the types of `ws`.
    ...{ closeTimeout },
  })
  server.on('headers', (lines) => {
    for (const [name, value] of Object.entries(session.headers)) lines.push(`${name}: ${value}`)
  })
  let accepted = false
  const onClose = (): void => {
    if (accepted) return
    session.upstream.on('error', () => {}).terminate()
    session.settle({ outcome: 'aborted' })
  }
  socket.once('close', onClose)
  server.handleUpgrade(req, socket, early, (client) => {
    accepted = true
    socket.off('close', onClose)
    relay(client, session, socket)
  })
  // `handleUpgrade` does nothing if the client has just disconnected.
  if (!accepted && socket.destroyed) onClose()
}

/** Watches a client while the upstream is connecting: detects a disconnect, and buffers early messages. */
function watchWaitingClient(socket: Duplex, head: Buffer): { readonly signal: Canceller; stop(): Buffer } {
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

function inboundOf(req: IncomingMessage, url: string, signal: Canceller): Inbound {
  const queryStart = url.indexOf('?')
  return {
    method: req.method ?? 'GET',
    path: queryStart < 0 ? url : url.slice(0, queryStart),
    query: queryStart < 0 ? '' : url.slice(queryStart + 1),
    header(name) {
      const value = req.headers[name]
      return Array.isArray(value) ? value.join(', ') : value
    },
    read: async () => new Uint8Array(0),
    signal,
  }
}
