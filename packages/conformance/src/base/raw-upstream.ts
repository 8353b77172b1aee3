import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  request,
  type Server,
  type ServerResponse,
} from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { createFakeProvider, listen } from '@modelgate/testing'
import type { Format } from './recorded-traffic.ts'

/** One call that reached the upstream. */
export interface UpstreamCall {
  /** 1 for the first call of the scene. */
  readonly number: number
  /** Undefined for paths other than generation. */
  readonly format: Format | undefined
  readonly stream: boolean
  readonly method: string
  /** Includes the query. */
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
  /** Sends valid HTTP responses. */
  readonly response: ServerResponse
  /** Sends anything else: raw bytes or a reset. */
  readonly socket: Socket
  /** `performance.now()` when the whole request had been received. */
  readonly at: number
  /** Resolves to `performance.now()` at the end of the connection. */
  readonly closed: Promise<number>
}

export type Play = (call: UpstreamCall) => void | Promise<void>

/** The script of an upstream for calls that contain a marker. */
export interface Scene {
  /** Marker to put into the prompt. */
  readonly marker: string
  readonly calls: readonly UpstreamCall[]
  /** Resolves to the latest call when `count` calls have arrived. Rejects after `withinMs`, 10,000 by default. */
  arrived(count?: number, withinMs?: number): Promise<UpstreamCall>
  /** From now on, calls with the marker get an ordinary response and are not recorded. */
  end(): void
}

/** An upstream of all formats with scripted behaviour. Calls without a marker get a fake provider's response. */
export interface Upstream {
  readonly origin: string
  readonly port: number
  /** Handles calls whose prompt contains the scene's marker with `play`. */
  play(play: Play): Scene
  /**
   * Handles calls to paths with this prefix before their body is read: `body` is empty, and `incoming` is the request.
   * Returns a function that ends it.
   */
  playAt(path: string, play: (call: UpstreamCall, incoming: IncomingMessage) => void | Promise<void>): () => void
  /** Number of all requests, with or without a marker. */
  readonly requests: number
  /** Number of open connections. */
  connections(): Promise<number>
  /** Closes idle connections, which would otherwise stay open for a minute. */
  closeIdle(): void
  close(): Promise<void>
}

const markers = /torture-[0-9a-z]{10}-\d+/

const formatOf = (path: string): Format | undefined => {
  if (path.includes('/chat/completions')) return 'chat'
  if (/\/messages(\?|$)/.test(path)) return 'messages'
  if (/:(stream)?generateContent/i.test(path)) return 'gemini'
  return /\/responses(\?|$)/.test(path) ? 'responses' : undefined
}

async function bodyOf(incoming: IncomingMessage): Promise<Buffer> {
  const parts: Buffer[] = []
  for await (const part of incoming) parts.push(part as Buffer)
  return Buffer.concat(parts)
}

/** @param port port to listen on. Default: a free port */
export async function startUpstream(port = 0): Promise<Upstream> {
  const run = Math.random().toString(36).slice(2, 12).padEnd(10, '0')
  const scenes = new Map<string, { play: Play; calls: UpstreamCall[]; waiting: (() => void)[] }>()
  const places = new Map<string, (call: UpstreamCall, incoming: IncomingMessage) => void | Promise<void>>()
  /** Time of the end of each connection. */
  const ends = new WeakMap<Socket, Promise<number>>()
  let made = 0
  let requests = 0
  const ordinary = await listen(createFakeProvider({ keepRequests: 0 }))

  const callOf = (incoming: IncomingMessage, response: ServerResponse, body: Buffer, number: number): UpstreamCall => ({
    number,
    format: formatOf(incoming.url ?? ''),
    stream: /"stream":\s*true/.test(body.toString('latin1')) || (incoming.url ?? '').includes('streamGenerateContent'),
    method: incoming.method ?? '',
    path: incoming.url ?? '',
    headers: incoming.headers,
    body,
    response,
    socket: incoming.socket,
    at: performance.now(),
    closed: ends.get(incoming.socket) ?? Promise.resolve(performance.now()),
  })

  async function serve(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    requests++
    const place = [...places].find(([path]) => incoming.url?.startsWith(path))
    if (place !== undefined) return place[1](callOf(incoming, response, Buffer.alloc(0), 1), incoming)
    const body = await bodyOf(incoming)
    const marker = markers.exec(`${incoming.url} ${body.toString('latin1')}`)?.[0]
    const scene = marker === undefined ? undefined : scenes.get(marker)
    if (scene === undefined) return answerAsUsual(ordinary.origin, incoming, body, response)
    const call = callOf(incoming, response, body, scene.calls.length + 1)
    scene.calls.push(call)
    for (const wake of scene.waiting.splice(0)) wake()
    return scene.play(call)
  }

  const server: Server = createServer((incoming, response) => {
    // A script may break its connection at any time.
    serve(incoming, response).catch(() => incoming.socket.destroy())
  })
  server.keepAliveTimeout = 60_000
  server.requestTimeout = 0
  server.on('connection', (socket) => {
    socket.on('error', () => {})
    ends.set(socket, new Promise((resolve) => socket.once('close', () => resolve(performance.now()))))
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, '127.0.0.1', resolve)
  })
  const address = server.address() as AddressInfo

  return {
    origin: `http://127.0.0.1:${address.port}`,
    port: address.port,
    play(play) {
      const marker = `torture-${run}-${++made}`
      const scene = { play, calls: [] as UpstreamCall[], waiting: [] as (() => void)[] }
      scenes.set(marker, scene)
      return {
        marker,
        calls: scene.calls,
        async arrived(count = 1, withinMs = 10_000) {
          const until = performance.now() + withinMs
          for (;;) {
            const call = scene.calls[count - 1]
            if (call !== undefined) return call
            const left = until - performance.now()
            if (left <= 0) throw new Error(`${scene.calls.length} of ${count} calls reached the upstream`)
            await new Promise<void>((resolve) => {
              const timer = setTimeout(resolve, left)
              scene.waiting.push(() => {
                clearTimeout(timer)
                resolve()
              })
            })
          }
        },
        end: () => void scenes.delete(marker),
      }
    },
    playAt(path, play) {
      places.set(path, play)
      return () => void places.delete(path)
    },
    get requests() {
      return requests
    },
    connections: () =>
      new Promise((resolve, reject) => {
        server.getConnections((error, count) => (error === null ? resolve(count) : reject(error)))
      }),
    closeIdle: () => server.closeIdleConnections(),
    async close() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()))
      server.closeAllConnections()
      await closed
      await ordinary.close()
    },
  }
}

/** Forwards the call to the fake provider. A connection that the provider breaks is broken here as well. */
function answerAsUsual(
  origin: string,
  incoming: IncomingMessage,
  body: Buffer,
  response: ServerResponse,
): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => resolve()
    const { method, headers } = incoming
    const onward = request(`${origin}${incoming.url}`, { method: method ?? 'GET', headers, agent: false }, (answer) => {
      response.writeHead(answer.statusCode ?? 200, answer.headers)
      answer.once('error', () => incoming.socket.resetAndDestroy())
      answer.pipe(response)
    })
    onward.once('error', () => incoming.socket.resetAndDestroy())
    response.once('close', () => {
      onward.destroy()
      done()
    })
    onward.end(body)
  })
}
