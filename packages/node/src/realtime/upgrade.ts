import { type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import { Server as TlsServer } from 'node:tls'
import type { Gateway, Reply, Transport } from '@modelgate/core'
import { adapterFunctions } from '@modelgate/core/adapter'
import { pathOf } from '../server/inbound.ts'
import type { DialTls } from './dial.ts'

/** Options of `nodeUpgrade`. */
export interface UpgradeOptions {
  /** Path prefix under which the host mounts the gateway (`/ai`), if the gateway has no `basePath`. Default: none. */
  basePath?: string
  /** TLS options of the WebSockets to upstreams, for those behind a private certificate authority. */
  tls?: DialTls
  /**
   * Sends the upstream calls of responses over WebSockets. Pass the one that the request listener uses, if you set one there: it then
   * sends all of them, also to upstreams that accept a WebSocket. Default: one `undiciTransport()` shared by the whole process.
   */
  transport?: Transport
}

/** Milliseconds for a client to close its connection after a response other than 101. */
const closeMs = 5000

/**
 * Creates a listener for a server's `upgrade` event that serves realtime sessions and responses over WebSockets, and the gateway's other
 * paths in plain HTTP.
 * Upgrades on other paths are left to the server's other `upgrade` listeners, and get a 404 if there are none. Other protocols
 * (`Upgrade: h2c`) are ignored: the server's request listener serves such a request. Call `gateway.close()` before
 * `server.close()`, which waits for sessions without ending them.
 */
export function nodeUpgrade(
  gateway: Gateway,
  options: UpgradeOptions = {},
): (req: IncomingMessage, socket: Duplex, head: Buffer) => void {
  const { basePath = '', tls, transport } = options
  const adapter = adapterFunctions(gateway)
  return function (this: unknown, req, socket, head) {
    const url = pathBelow(pathOf(req.url ?? '/'), basePath)
    const match = url === undefined ? null : adapter.matchUpgrade(url.split('?', 1)[0] ?? url)
    const upgrade = match?.route.upgrade
    if (match === null && hasOtherListeners(this)) return
    if (!requestsWebSocket(req) && ignoreUpgrade(this, req, socket, head)) return
    // Without a listener, the error of a client that disconnects would end the process.
    const onError = (): void => void socket.destroy()
    socket.on('error', onError)
    const response =
      url === undefined || upgrade === undefined
        ? plainResponse(gateway, req, url ?? '/')
        : upgrade === 'realtime'
          ? loadRealtime().then(({ serveRealtime }) => serveRealtime(adapter, tls, req, socket, head, url))
          : loadResponses().then(({ serveResponses }) =>
              serveResponses(adapter, { transport, tls }, req, socket, head, url),
            )
    response.then(
      (reply) => {
        if (reply !== undefined) send(socket, reply)
      },
      () => send(socket, { status: 500, headers: {}, body: null }),
    )
  }
}

// Loaded by the first WebSocket, because of `ws`: its ten files would delay the start of every server. The socket of an upgrade is not
// read until a listener is added.
const loadRealtime = () => import('./session.ts')
const loadResponses = () => import('./responses.ts')

/** Returns the rest of a URL below the prefix; undefined if it is not below it. */
function pathBelow(url: string, basePath: string): string | undefined {
  const prefix = basePath.endsWith('/') ? basePath.slice(0, -1) : basePath
  if (prefix === '') return url
  return url.startsWith(`${prefix}/`) ? url.slice(prefix.length) : undefined
}

/** Returns whether the server has other `upgrade` listeners. False if the host calls this listener itself, without a server. */
const hasOtherListeners = (server: unknown): boolean =>
  typeof server === 'object' &&
  server !== null &&
  'listenerCount' in server &&
  typeof server.listenerCount === 'function' &&
  Number(server.listenerCount('upgrade')) > 1

async function plainResponse(gateway: Gateway, req: IncomingMessage, url: string): Promise<Reply> {
  // Only the path counts: the Host header comes from the client, and may not form a valid URL.
  const address = `http://localhost${url.startsWith('/') ? url : '/'}`
  const response = await gateway.upgrade(new Request(address, { headers: headersOf(req) }))
  const body = new Uint8Array(await response.arrayBuffer())
  return { status: response.status, headers: Object.fromEntries(response.headers), body }
}

function send(socket: Duplex, { status, headers, body }: Reply): void {
  if (!socket.writable) {
    socket.destroy()
    return
  }
  const bytes = typeof body === 'string' ? Buffer.from(body) : body instanceof Uint8Array ? body : Buffer.alloc(0)
  const lines = responseHead(status, { ...headers, 'content-length': String(bytes.length) })
  const timer = setTimeout(() => socket.destroy(), closeMs)
  socket.once('close', () => clearTimeout(timer))
  // Only a socket that is read reports that its peer has closed.
  socket.resume()
  socket.end(Buffer.concat([Buffer.from(lines, 'latin1'), bytes]))
}

function responseHead(status: number, headers: Readonly<Record<string, string>>): string {
  let text = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? 'Unknown'}\r\n`
  for (const [name, value] of Object.entries(headers)) if (name !== 'connection') text += `${name}: ${value}\r\n`
  return `${text}connection: close\r\n\r\n`
}

function headersOf(req: IncomingMessage): [string, string][] {
  return Object.entries(req.headers).flatMap(([name, value]): [string, string][] =>
    value === undefined ? [] : [[name, Array.isArray(value) ? value.join(', ') : value]],
  )
}

/** Default of `server.maxHeadersCount`. */
const defaultMaxHeaders = 2000

/** Returns whether a request offers WebSocket, the only protocol served, among those of its `Upgrade` header (RFC 9110, 7.8). */
const requestsWebSocket = ({ headers }: IncomingMessage): boolean =>
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
function ignoreUpgrade(listener: unknown, req: IncomingMessage, socket: HttpSocket, head: Buffer): boolean {
  const server = [listener, socket.server].find(isServer)
  if (server === undefined || server.listenerCount('request') === 0) return false
  // Node may have dropped a header that decides where the body starts or ends.
  if (req.rawHeaders.length / 2 >= (server.maxHeadersCount || defaultMaxHeaders)) return false
  const onError = (): void => void socket.destroy()
  socket.on('error', onError)
  afterPendingResponses(socket, () => {
    socket.off('error', onError)
    // Set by the detached parser for the pause between requests, and cleared only here.
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
