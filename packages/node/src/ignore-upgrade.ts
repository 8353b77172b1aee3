import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { Server as TlsServer } from 'node:tls'

/** Headers that Node keeps of one request, where the server does not say otherwise. */
const defaultMaxHeaders = 2000

/** Whether a request asks for a WebSocket: of the protocols it offers (RFC 9110, 7.8), the only one that is served. */
export const asksForWebSocket = ({ headers }: IncomingMessage): boolean =>
  (headers.upgrade ?? '').split(',').some((protocol) => protocol.trim().toLowerCase() === 'websocket')

/**
 * Serves a request as if it had not asked for an upgrade, which a server may do (RFC 9110, 7.8). Java's HttpClient offers `h2c` with every first
 * request.
 *
 * Node has detached its parser from a connection whose request asks for an upgrade, before the body. So the request's head is put back in front of
 * what came after it, without the offer, and the connection is handed to the server again.
 *
 * @param listener the server that emitted the event, if it is known
 * @returns false where that is not possible: no server with a request listener is known, or Node did not keep all headers
 */
export function ignoreUpgrade(listener: unknown, req: IncomingMessage, socket: HttpSocket, head: Buffer): boolean {
  const server = [listener, socket.server].find(isServer)
  if (server === undefined || server.listenerCount('request') === 0) return false
  // Without a header that it dropped, the body would begin or end elsewhere.
  if (req.rawHeaders.length / 2 >= (server.maxHeadersCount || defaultMaxHeaders)) return false
  const onError = (): void => void socket.destroy()
  socket.on('error', onError)
  whenAnswered(socket, () => {
    socket.off('error', onError)
    // Set for the pause between requests, by a parser that is no longer there to take it back.
    socket.setTimeout?.(0)
    socket.unshift(Buffer.concat([Buffer.from(headWithoutUpgrade(req), 'latin1'), head]))
    // A server over TLS takes connections as HTTP once they are secured.
    server.emit(server instanceof TlsServer ? 'secureConnection' : 'connection', socket)
  })
  return true
}

/** A connection with what Node's HTTP server keeps on it. */
type HttpSocket = Duplex & {
  readonly server?: unknown
  /** The response that is being sent. */
  readonly _httpMessage?: ServerResponse | null
  setTimeout?(ms: number): unknown
}

/** Calls back once the responses to earlier requests are sent: a client may send several requests at once. */
function whenAnswered(socket: HttpSocket, callback: () => void): void {
  if (socket.destroyed) return
  const pending = socket._httpMessage
  if (pending === undefined || pending === null) callback()
  else pending.once('close', () => whenAnswered(socket, callback))
}

const isServer = (candidate: unknown): candidate is Server =>
  typeof candidate === 'object' && candidate !== null && 'emit' in candidate && 'maxHeadersCount' in candidate

/** Headers that belong to the offer alone. */
const offers: ReadonlySet<string> = new Set(['upgrade', 'http2-settings'])

/** The request's head as it came, in the bytes that Node reads as Latin-1. */
function headWithoutUpgrade({ method, url, httpVersion, rawHeaders }: IncomingMessage): string {
  let text = `${method} ${url} HTTP/${httpVersion}\r\n`
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] as string
    let value = rawHeaders[at + 1] as string
    const lower = name.toLowerCase()
    if (offers.has(lower)) continue
    if (lower === 'connection') {
      value = value
        .split(',')
        .filter((option) => !offers.has(option.trim().toLowerCase()))
        .join(',')
        .trim()
      if (value === '') continue
    }
    text += `${name}: ${value}\r\n`
  }
  return `${text}\r\n`
}
