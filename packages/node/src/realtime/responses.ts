import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import type { Canceller, ClientSocket, Inbound, Reply, ResponsesSocket, Transport } from '@modelgate/core'
import type { AdapterFunctions } from '@modelgate/core/adapter'
import { WebSocket } from 'ws'
import { waitForTurn } from '../scheduling/work-queue.ts'
import { sharedTransport } from '../transport/undici-transport.ts'
import { acceptClient, watchWaitingClient } from './accept-client.ts'
import { createDial, type DialTls } from './dial.ts'
import { createUpstreamDial } from './upstream-dial.ts'
import { maxUnansweredPings, WatchedSocketClient } from './watched-socket-client.ts'

/**
 * Opens a connection on which a client creates responses.
 *
 * @param url path and query without the host's mount prefix
 * @param upstream options of `nodeUpgrade`
 * @returns the response to send instead of a 101; undefined if the connection is open or the client has disconnected
 */
export async function serveResponses(
  { responses }: AdapterFunctions,
  { transport, tls }: { readonly transport?: Transport | undefined; readonly tls?: DialTls | undefined },
  req: IncomingMessage,
  socket: Duplex,
  head: Buffer,
  url: string,
): Promise<Reply | undefined> {
  const waiting = watchWaitingClient(socket, head)
  // A transport of the user may lead through a proxy, which a WebSocket would bypass.
  const dial = transport === undefined ? createUpstreamDial(createDial(tls)) : undefined
  const opening = await responses(inboundOf(req, url, waiting.signal), transport ?? sharedTransport(), dial)
  const early = waiting.stop()
  if (!opening.ok) return opening.reply
  const { socket: served } = opening
  acceptClient(req, socket, early, served, {
    onOpen: (client) => serve(client, served, socket),
    onLost: () => served.closed(),
  })
  return undefined
}

/** Passes messages between a client's WebSocket and the gateway until the WebSocket is closed. */
function serve(client: WebSocket, served: ResponsesSocket, connection: Duplex): void {
  /** Pings since the client's last sign of life. A count, not a time: after a pause of the process no client must count as dead. */
  let unansweredPings = 0
  const onSignOfLife = (): void => {
    unansweredPings = 0
  }
  const heartbeat = setInterval(() => {
    // Pongs of a paused socket are not received, and the watch below covers a client that does not read.
    if (client.readyState !== WebSocket.OPEN || client.isPaused || client.bufferedAmount > 0) return
    if (unansweredPings === maxUnansweredPings) client.terminate()
    else {
      unansweredPings++
      client.ping()
    }
  }, served.heartbeatMs)
  const watch = new WatchedSocketClient(client, connection, served.clientStallMs, () => client.terminate())
  client
    .on('message', (data: Buffer, isBinary) => {
      onSignOfLife()
      served.message(data, isBinary)
    })
    .on('ping', onSignOfLife)
    .on('pong', onSignOfLife)
    // A message that breaks the protocol, or is too large: the WebSocket closes with the code that belongs to it.
    .on('error', () => {})
    .on('close', () => {
      clearInterval(heartbeat)
      watch.stop()
      served.closed()
    })
  served.open(new NodeClientSocket(client))
  // The connection was paused while the client waited.
  client.resume()
}

class NodeClientSocket implements ClientSocket {
  readonly #client: WebSocket

  constructor(client: WebSocket) {
    this.#client = client
  }

  get bufferedAmount(): number {
    return this.#client.bufferedAmount
  }

  send(message: Uint8Array, written?: () => void): void {
    this.#client.send(message, { binary: false }, () => written?.())
  }

  pause(): void {
    this.#client.pause()
  }

  resume(): void {
    this.#client.resume()
  }

  close(code: number, reason: string): void {
    this.#client.close(code, reason)
    // A paused socket would not receive the close frame of its peer.
    this.#client.resume()
  }

  terminate(): void {
    this.#client.terminate()
  }
}

/** Returns the upgrade request. It lasts as long as the connection, so it holds a copy of the headers, and not Node's request. */
function inboundOf({ method = 'GET', headers: received }: IncomingMessage, url: string, signal: Canceller): Inbound {
  const headers = { ...received }
  const queryStart = url.indexOf('?')
  return {
    method,
    path: queryStart < 0 ? url : url.slice(0, queryStart),
    query: queryStart < 0 ? '' : url.slice(queryStart + 1),
    header(name) {
      const value = headers[name]
      return Array.isArray(value) ? value.join(', ') : value
    },
    read: async () => new Uint8Array(0),
    turn: waitForTurn,
    signal,
  }
}
