import { type IncomingMessage, STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import type { Gateway, Reply } from '@modelgate/core'
import { asksForWebSocket, ignoreUpgrade } from './ignore-upgrade.ts'
import { pathOf } from './inbound.ts'
import { serveRealtime } from './realtime.ts'
import { createDial, type DialTls } from './realtime-dial.ts'

/** What `nodeUpgrade` takes. */
export interface UpgradeOptions {
  /** Path prefix under which the host mounts the gateway (`/ai`), where the gateway itself has no `basePath`. Default: none. */
  basePath?: string
  /** Certificates and the like, for realtime upstreams behind a private CA. */
  tls?: DialTls
}

/** A refused client that does not close is not waited for any longer. */
const farewellMs = 5000

/**
 * A listener for a server's `upgrade` event: serves realtime sessions, answers the gateway's other paths in plain HTTP.
 * Upgrades on paths that are not the gateway's are left to the server's other listeners, and answered 404 if there are
 * none. Offers of other protocols (`Upgrade: h2c`) are ignored: the server's request listener serves such a request. Call
 * `gateway.close()` before `server.close()`: the latter waits for sessions without ending them.
 */
export function nodeUpgrade(
  gateway: Gateway,
  options: UpgradeOptions = {},
): (req: IncomingMessage, socket: Duplex, head: Buffer) => void {
  const { basePath = '', tls } = options
  const dial = createDial(tls)
  return function (this: unknown, req, socket, head) {
    const url = below(pathOf(req.url ?? '/'), basePath)
    const found = url === undefined ? null : gateway.match('GET', url.split('?', 1)[0] ?? url)
    if (found === null && othersListen(this)) return
    if (!asksForWebSocket(req) && ignoreUpgrade(this, req, socket, head)) return
    // A client that leaves while it is refused is no event; unheard, it would end the process.
    const onError = (): void => void socket.destroy()
    socket.on('error', onError)
    const answer =
      url !== undefined && found?.route.operation === 'realtime'
        ? serveRealtime(gateway, dial, req, socket, head, url)
        : plainAnswer(gateway, req, url ?? '/')
    answer.then(
      (reply) => {
        if (reply !== undefined) send(socket, reply)
      },
      () => send(socket, { status: 500, headers: {}, body: null }),
    )
  }
}

/** What remains of a URL below the prefix; undefined if it is not below it. */
function below(url: string, basePath: string): string | undefined {
  const prefix = basePath.endsWith('/') ? basePath.slice(0, -1) : basePath
  if (prefix === '') return url
  return url.startsWith(`${prefix}/`) ? url.slice(prefix.length) : undefined
}

/** Whether the server that emitted the event has listeners beside this one. Unknown where one was called by hand: then it was meant. */
const othersListen = (server: unknown): boolean =>
  typeof server === 'object' &&
  server !== null &&
  'listenerCount' in server &&
  typeof server.listenerCount === 'function' &&
  Number(server.listenerCount('upgrade')) > 1

async function plainAnswer(gateway: Gateway, req: IncomingMessage, url: string): Promise<Reply> {
  // The host is whatever the client wrote, and may make no address at all; the path alone decides.
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
  const lines = head(status, { ...headers, 'content-length': String(bytes.length) })
  const timer = setTimeout(() => socket.destroy(), farewellMs)
  socket.once('close', () => clearTimeout(timer))
  // Unread bytes would hide that the client has closed.
  socket.resume()
  socket.end(Buffer.concat([Buffer.from(lines, 'latin1'), bytes]))
}

function head(status: number, headers: Readonly<Record<string, string>>): string {
  let text = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? 'Unknown'}\r\n`
  for (const [name, value] of Object.entries(headers)) if (name !== 'connection') text += `${name}: ${value}\r\n`
  return `${text}connection: close\r\n\r\n`
}

function headersOf(req: IncomingMessage): [string, string][] {
  return Object.entries(req.headers).flatMap(([name, value]): [string, string][] =>
    value === undefined ? [] : [[name, Array.isArray(value) ? value.join(', ') : value]],
  )
}
