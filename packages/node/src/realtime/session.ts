import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import type { Canceller, Inbound, PendingSession, RealtimeSession, Reply } from '@modelgate/core'
import type { AdapterFunctions } from '@modelgate/core/adapter'
import type { WebSocket } from 'ws'
import { acceptClient, watchWaitingClient } from './accept-client.ts'
import { createDial, type DialTls } from './dial.ts'
import { clientLeft, connectFirst } from './first-message.ts'
import { relay } from './relay.ts'

/**
 * Opens a realtime session for an upgrade request: connects to the upstream, accepts the client, then relays messages both ways. If the
 * client's first message names the model, accepts the client first.
 *
 * @param url path and query without the host's mount prefix
 * @returns the response to send instead of a 101; undefined if the session is open or the client has disconnected
 */
export async function serveRealtime(
  { realtime }: AdapterFunctions,
  tls: DialTls | undefined,
  req: IncomingMessage,
  socket: Duplex,
  head: Buffer,
  url: string,
): Promise<Reply | undefined> {
  const waiting = watchWaitingClient(socket, head)
  const opening = await realtime(inboundOf(req, url, waiting.signal), createDial(tls))
  const early = waiting.stop()
  if (!opening.ok) return opening.reply
  if (opening.session !== undefined) serveSession(req, socket, early, opening.session)
  else servePending(req, socket, early, opening.pending, waiting.signal)
  return undefined
}

function serveSession(req: IncomingMessage, socket: Duplex, early: Buffer, session: RealtimeSession<WebSocket>): void {
  acceptClient(req, socket, early, session, {
    onOpen: (client) => relay(client, session, socket),
    onLost() {
      session.upstream.on('error', () => {}).terminate()
      session.settle({ outcome: 'aborted' })
    },
  })
}

/**
 * Accepts a client whose first message names the model.
 *
 * @param left aborted when the client disconnects
 */
function servePending(
  req: IncomingMessage,
  socket: Duplex,
  early: Buffer,
  pending: PendingSession<WebSocket>,
  left: Canceller,
): void {
  acceptClient(req, socket, early, pending, {
    onOpen: (client) => connectFirst(client, pending, left, socket),
    onLost: () => void pending.fail(clientLeft()),
  })
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
