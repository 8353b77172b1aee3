import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import type { FakeProvider } from '../provider/provider.ts'
import { FaultError } from '../wire/faults.ts'

/** Options of `listen`. */
export interface ListenOptions {
  /** Port. Default 0: any free port. */
  port?: number
  /** Default `127.0.0.1`. */
  host?: string
  /** Handler of the server's `upgrade` event: `createResponsesSockets(provider).upgrade`. Default: none. */
  upgrade?: (request: IncomingMessage, socket: Duplex, head: Uint8Array) => void
}

/** A fake provider on a socket. */
export interface ListeningProvider {
  /** Base URL with `/v1`, for OpenAI clients. */
  readonly url: string
  /** Base URL without a path, for Anthropic clients. */
  readonly origin: string
  readonly port: number
  /** Returns the number of open connections. */
  connections(): Promise<number>
  /** Stops listening, so that new connections are refused; calls in progress continue. */
  refuse(): Promise<void>
  /** Listens again on the same port after `refuse`. */
  accept(): Promise<void>
  /** Stops and breaks the calls in progress. */
  close(): Promise<void>
  /** The same as `close()`, for `await using`. */
  [Symbol.asyncDispose](): Promise<void>
}

/**
 * Serves a provider over HTTP/1.1 on Node (also Bun and Deno). Faults that break a connection break the socket: a reset is a real
 * TCP reset. Rejects if the port is not available.
 */
export async function listen(provider: FakeProvider, options: ListenOptions = {}): Promise<ListeningProvider> {
  // Imported here, so that the rest of this package loads without Node.
  const { createServer } = await import('node:http')
  const host = options.host ?? '127.0.0.1'
  const server = createServer((incoming, outgoing) => {
    serve(provider, incoming, outgoing).catch((error: unknown) => {
      outgoing.destroy(error instanceof Error ? error : undefined)
    })
  })
  server.keepAliveTimeout = 60_000
  const upgraded = new Set<Duplex>()
  const { upgrade } = options
  if (upgrade !== undefined)
    server.on('upgrade', (request, socket, head) => {
      upgraded.add(socket)
      socket.on('close', () => upgraded.delete(socket))
      upgrade(request, socket, head)
    })
  const bind = (port: number): Promise<number> =>
    new Promise((resolve, reject) => {
      server.once('error', reject)
      server.listen(port, host, () => {
        server.off('error', reject)
        const address = server.address()
        resolve(typeof address === 'object' && address ? address.port : port)
      })
    })
  const stop = (): Promise<void> =>
    new Promise((resolve) => {
      if (!server.listening) return resolve()
      server.close(() => resolve())
    })
  const port = await bind(options.port ?? 0)
  const origin = `http://${host.includes(':') ? `[${host}]` : host}:${port}`
  const close = async (): Promise<void> => {
    const stopped = stop()
    server.closeAllConnections()
    // The server no longer manages upgraded connections, but waits for them.
    for (const socket of upgraded) socket.destroy()
    await stopped
  }
  return {
    url: `${origin}/v1`,
    origin,
    port,
    connections: () =>
      new Promise((resolve, reject) => {
        server.getConnections((error, count) => (error ? reject(error) : resolve(count)))
      }),
    async refuse() {
      // `close` would wait for the calls in progress, but the port is free at once.
      void stop()
      server.closeIdleConnections()
      await new Promise((resolve) => setTimeout(resolve, 0))
    },
    async accept() {
      await bind(port)
    },
    close,
    [Symbol.asyncDispose]: close,
  }
}

async function serve(provider: FakeProvider, incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
  const controller = new AbortController()
  outgoing.on('close', () => {
    if (!outgoing.writableFinished)
      controller.abort(new DOMException('The client closed the connection.', 'AbortError'))
  })
  try {
    const response = await provider.fetch(await requestOf(incoming, controller.signal))
    await send(response, outgoing)
  } catch (error) {
    if (controller.signal.aborted) return
    if (!(error instanceof FaultError)) throw error
    const socket = outgoing.socket
    if (!socket) return
    // Data written so far should reach the client before the reset.
    await new Promise((resolve) => setTimeout(resolve, 5))
    socket.resetAndDestroy()
  }
}

async function requestOf(incoming: IncomingMessage, signal: AbortSignal): Promise<Request> {
  const headers = new Headers()
  for (let index = 0; index + 1 < incoming.rawHeaders.length; index += 2) {
    headers.append(incoming.rawHeaders[index] ?? '', incoming.rawHeaders[index + 1] ?? '')
  }
  const method = incoming.method ?? 'GET'
  const parts: Uint8Array[] = []
  for await (const part of incoming) parts.push(part)
  const body = parts.length === 0 || method === 'GET' || method === 'HEAD' ? null : new Blob(parts as BlobPart[])
  // A blob without a type keeps the received content type.
  return new Request(`http://fake.invalid${incoming.url ?? '/'}`, { method, headers, body, signal })
}

async function send(response: Response, outgoing: ServerResponse): Promise<void> {
  const announced = response.headers.get('content-length')
  outgoing.writeHead(response.status, Object.fromEntries(response.headers))
  outgoing.flushHeaders()
  let sent = 0
  if (response.body) {
    for await (const chunk of response.body) {
      if (outgoing.destroyed) break
      sent += chunk.byteLength
      if (!outgoing.write(chunk)) await drained(outgoing)
    }
  }
  if (announced !== null && Number(announced) > sent) {
    // The body is shorter than announced: the client notices at the end of the connection.
    outgoing.socket?.end()
    return
  }
  outgoing.end()
}

function drained(outgoing: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      outgoing.off('drain', done)
      outgoing.off('close', done)
      resolve()
    }
    outgoing.on('drain', done)
    outgoing.on('close', done)
  })
}
