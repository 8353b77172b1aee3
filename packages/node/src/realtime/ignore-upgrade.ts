import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { Server as TlsServer } from 'node:tls'

/** Default of `server.maxHeadersCount`. */
const defaultMaxHeaders = 2000

/** Returns whether a request offers WebSocket, the only protocol served, among those of its `Upgrade` header (RFC 9110, 7.8). */
export const requestsWebSocket = ({ headers }: IncomingMessage): boolean =>
  (headers.upgrade ?? '').split(',').some((protocol) => protocol.trim().toLowerCase() === 'websocket')

/**
 * Serves a request as if it had no `Upgrade` header, which RFC 9110 (7.8) allows. Java's HttpClient offers `h2c` with every first
 * request.
 *
 * Node detaches its parser from the connection before the body of such a request. So the request's head is put back in front of the
 * unread bytes without the upgrade headers, and the connection is passed to the server again.
 *
 * @param listener the server that emitted the event, if known
 * @returns false if that is not possible: no server with a request listener is known, or Node did not keep all headers
 */
export function ignoreUpgrade(listener: unknown, req: IncomingMessage, socket: HttpSocket, head: Buffer): boolean {
  const server = [listener, socket.server].find(isServer)
  if (server === undefined || server.listenerCount('request') === 0) return false
  // Node may have dropped a header that decides where the body starts or ends.
  if (req.rawHeaders.length / 2 >= (server.maxHeadersCount || defaultMaxHeaders)) return false
  const onError = (): void => void socket.destroy()
  socket.on('error', onError)
  afterPendingResponses(socket, () => {
    socket.off('error', onError)
    // Set by the detached parser for the pause between requests, and cleared by nobody else.
    socket.setTimeout?.(0)
    socket.unshift(Buffer.concat([Buffer.from(headWithoutUpgrade(req), 'latin1'), head]))
    // A TLS server treats a connection as HTTP after the event `secureConnection`.
    server.emit(server instanceof TlsServer ? 'secureConnection' : 'connection', socket)
  })
  return true
}

/** A connection with the fields that Node's HTTP server sets on it. */
type HttpSocket = Duplex & {
  readonly server?: unknown
  /** The response being sent. */
  readonly _httpMessage?: ServerResponse | null
  setTimeout?(ms: number): unknown
}

/** Calls back once the responses to earlier pipelined requests are sent. */
function afterPendingResponses(socket: HttpSocket, callback: () => void): void {
  if (socket.destroyed) return
  const pending = socket._httpMessage
  if (pending === undefined || pending === null) callback()
  else pending.once('close', () => afterPendingResponses(socket, callback))
}

const isServer = (candidate: unknown): candidate is Server =>
  typeof candidate === 'object' && candidate !== null && 'emit' in candidate && 'maxHeadersCount' in candidate

/** Headers that belong to the upgrade only. */
const upgradeHeaders: ReadonlySet<string> = new Set(['upgrade', 'http2-settings'])

/** Returns the request's head as received, as Latin-1 text. */
function headWithoutUpgrade({ method, url, httpVersion, rawHeaders }: IncomingMessage): string {
  let text = `${method} ${url} HTTP/${httpVersion}\r\n`
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] as string
    let value = rawHeaders[at + 1] as string
    const lower = name.toLowerCase()
    if (upgradeHeaders.has(lower)) continue
    if (lower === 'connection') {
      value = value
        .split(',')
        .filter((option) => !upgradeHeaders.has(option.trim().toLowerCase()))
        .join(',')
        .trim()
      if (value === '') continue
    }
    text += `${name}: ${value}\r\n`
  }
  return `${text}\r\n`
}
