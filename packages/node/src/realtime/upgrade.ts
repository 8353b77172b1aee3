import { type IncomingMessage, STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import type { Gateway, Reply } from '@modelgate/core'
import { adapterFunctions } from '@modelgate/core/adapter'
import { pathOf } from '../server/inbound.ts'
import { createDial, type DialTls } from './dial.ts'
import { ignoreUpgrade, requestsWebSocket } from './ignore-upgrade.ts'
import { serveRealtime } from './session.ts'

/** Options of `nodeUpgrade`. */
export interface UpgradeOptions {
  /** Path prefix under which the host mounts the gateway (`/ai`), if the gateway has no `basePath`. Default: none. */
  basePath?: string
  /** TLS options, for realtime upstreams behind a private certificate authority. */
  tls?: DialTls
}

/** Milliseconds for a client to close its connection after a response other than 101. */
const closeMs = 5000

/**
 * Creates a listener for a server's `upgrade` event that serves realtime sessions, and the gateway's other paths in plain HTTP.
 * Upgrades on other paths are left to the server's other `upgrade` listeners, and get a 404 if there are none. Other protocols
 * (`Upgrade: h2c`) are ignored: the server's request listener serves such a request. Call `gateway.close()` before
 * `server.close()`, which waits for sessions without ending them.
 */
export function nodeUpgrade(
  gateway: Gateway,
  options: UpgradeOptions = {},
): (req: IncomingMessage, socket: Duplex, head: Buffer) => void {
  const { basePath = '', tls } = options
  const dial = createDial(tls)
  const adapter = adapterFunctions(gateway)
  return function (this: unknown, req, socket, head) {
    const url = pathBelow(pathOf(req.url ?? '/'), basePath)
    const match = url === undefined ? null : adapter.match('GET', url.split('?', 1)[0] ?? url)
    if (match === null && hasOtherListeners(this)) return
    if (!requestsWebSocket(req) && ignoreUpgrade(this, req, socket, head)) return
    // Without a listener, the error of a client that disconnects would end the process.
    const onError = (): void => void socket.destroy()
    socket.on('error', onError)
    const response =
      url !== undefined && match?.route.operation === 'realtime'
        ? serveRealtime(adapter, dial, req, socket, head, url)
        : plainResponse(gateway, req, url ?? '/')
    response.then(
      (reply) => {
        if (reply !== undefined) send(socket, reply)
      },
      () => send(socket, { status: 500, headers: {}, body: null }),
    )
  }
}

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
