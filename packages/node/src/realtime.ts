import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import {
  type Canceller,
  createCanceller,
  type Dial,
  type Gateway,
  GatewayError,
  type Inbound,
  type RealtimeSession,
  type Reply,
} from '@modelgate/core'
import { type WebSocket, WebSocketServer } from 'ws'
import { closeTimeout } from './realtime-dial.ts'
import { relay } from './realtime-relay.ts'

/** What a client may send before it was accepted: it should send nothing at all. */
const earlyBytes = 64 * 1024

/**
 * Opens a realtime session for an upgrade request: the upstream first, then the client, then messages both ways.
 *
 * @param url path and query as the gateway is to see them
 * @returns the answer to send in place of a 101; undefined where the session runs, or the client has left
 */
export async function serveRealtime(
  gateway: Gateway,
  dial: Dial<WebSocket>,
  req: IncomingMessage,
  socket: Duplex,
  head: Buffer,
  url: string,
): Promise<Reply | undefined> {
  const waiting = waitWith(socket, head)
  const opening = await gateway.realtime(inboundOf(req, url, waiting.signal), dial)
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
    // Known to `ws`, not yet to its types.
    ...{ closeTimeout },
  })
  server.on('headers', (lines) => {
    for (const [name, value] of Object.entries(session.headers)) lines.push(`${name}: ${value}`)
  })
  let accepted = false
  const lost = (): void => {
    if (accepted) return
    session.upstream.on('error', () => {}).terminate()
    session.settle({ outcome: 'aborted' })
  }
  socket.once('close', lost)
  server.handleUpgrade(req, socket, early, (client) => {
    accepted = true
    socket.off('close', lost)
    relay(client, session, socket)
  })
  // It refuses without a word where the client has just left.
  if (!accepted && socket.destroyed) lost()
}

/** Watches a client while its upstream is dialled: whether it leaves, and what it sends before its time. */
function waitWith(socket: Duplex, head: Buffer): { readonly signal: Canceller; stop(): Buffer } {
  const signal = createCanceller()
  const chunks: Buffer[] = [head]
  let size = head.length
  const leave = (): void => signal.abort(new GatewayError('cancelled', 'The client left before the session was open.'))
  // A socket that is not read does not notice that its other end is gone.
  const onData = (chunk: Buffer): void => {
    size += chunk.length
    if (size > earlyBytes) socket.destroy()
    else chunks.push(chunk)
  }
  socket.on('data', onData).on('end', leave).on('close', leave)
  return {
    signal,
    stop() {
      socket.pause()
      socket.off('data', onData).off('end', leave).off('close', leave)
      return Buffer.concat(chunks)
    },
  }
}

function inboundOf(req: IncomingMessage, url: string, signal: Canceller): Inbound {
  const mark = url.indexOf('?')
  return {
    method: req.method ?? 'GET',
    path: mark < 0 ? url : url.slice(0, mark),
    query: mark < 0 ? '' : url.slice(mark + 1),
    header(name) {
      const value = req.headers[name]
      return Array.isArray(value) ? value.join(', ') : value
    },
    read: async () => new Uint8Array(0),
    signal,
  }
}
