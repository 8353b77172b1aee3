import type { IncomingMessage, Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import type { WebSocket } from 'ws'
import type { JsonObject } from '../base/json.ts'
import { createLiveSession } from './live-session.ts'
import { createRealtimeSession } from './realtime-session.ts'
import { createTranscriptionSession } from './transcription-session.ts'

/** Options of `createFakeRealtime`. */
export interface FakeRealtimeOptions {
  /** Accepted key in `Authorization`, or in `x-goog-api-key` or `?key=` for the Live API. Default: any key that is not empty. */
  apiKey?: string
  /** Existing model names; others return 404. Default: every name exists. */
  models?: readonly string[]
  /** Milliseconds between the events of a response. Default 0. */
  paceMs?: number
  /** Sends nothing by itself: the test sends every message through the session. Default false. */
  mute?: boolean
}

/** A session on the fake's side, with a test's controls. */
export interface FakeRealtimeSession {
  /** Empty for transcription sessions, and before the setup of the Live API: their messages name the model. */
  readonly model: string
  /** The raw query without `?`. */
  readonly query: string
  /** Headers of the upgrade, by lower-case name. */
  readonly headers: Readonly<Record<string, string>>
  /** The last thousand text messages, as received. */
  readonly received: readonly string[]
  /** Close code and reason; undefined while the session is open. 1006: without a close frame. */
  readonly closed: { readonly code: number; readonly reason: string } | undefined
  /** Bytes sent that the system has not accepted yet. */
  readonly waiting: number
  /** Sends an object as JSON, a string unchanged, bytes as a binary message. Resolves once the system has accepted them. */
  send(message: JsonObject | string | Uint8Array): Promise<void>
  close(code?: number, reason?: string): void
  /** Breaks the connection without a close frame. */
  drop(): void
  ping(): void
  /** Stops reading until `resume`. */
  pause(): void
  resume(): void
}

/** An HTTP response instead of the upgrade. */
export interface RealtimeRefusal {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

/** Realtime sessions as OpenAI serves them, and of Gemini's Live API, on a server's `upgrade` event. */
export interface FakeRealtime {
  /**
   * Handler for `server.on('upgrade', …)`. Accepts `/realtime`, `/v1/realtime` and the path of Gemini's Live API; other paths return 404.
   */
  readonly upgrade: (request: IncomingMessage, socket: Duplex, head: Uint8Array) => void
  /** All sessions since the start, the oldest first. */
  readonly sessions: readonly FakeRealtimeSession[]
  /** Rejects one of the next upgrades for each refusal. */
  refuse(...refusals: readonly RealtimeRefusal[]): void
}

/** A fake provider of realtime sessions on a socket. */
export interface ListeningRealtime extends FakeRealtime {
  /** Base URL with `/v1`, for clients. */
  readonly url: string
  readonly port: number
  /** Returns the number of open connections. */
  connections(): Promise<number>
  /** Stops and breaks the open sessions. */
  close(): Promise<void>
  /** The same as `close()`, for `await using`. */
  [Symbol.asyncDispose](): Promise<void>
}

const wrongKey = JSON.stringify({
  error: {
    message: 'Incorrect API key provided.',
    type: 'invalid_request_error',
    param: null,
    code: 'invalid_api_key',
  },
})
const wrongModel = JSON.stringify({
  error: {
    message: 'The model does not exist or you do not have access to it.',
    type: 'invalid_request_error',
    param: null,
    code: 'model_not_found',
  },
})

/** A model in the URL opens a session with a voice, also with this intent. */
const isTranscription = ({ searchParams }: URL): boolean =>
  searchParams.get('intent') === 'transcription' && !searchParams.has('model')

const livePath = '/ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent'

const isLive = ({ pathname }: URL): boolean => pathname === livePath

/** Creates realtime sessions without a server: they respond to text events and echo binary messages. Node only. */
export async function createFakeRealtime(options: FakeRealtimeOptions = {}): Promise<FakeRealtime> {
  // Imported here, so that the rest of this package loads without Node.
  const { WebSocketServer } = await import('ws')
  const { apiKey, models } = options
  const server = new WebSocketServer({ noServer: true, perMessageDeflate: false, clientTracking: false })
  const sessions: FakeRealtimeSession[] = []
  const refusals: RealtimeRefusal[] = []

  const refusalFor = (request: IncomingMessage, url: URL): RealtimeRefusal | undefined => {
    if (url.pathname !== '/v1/realtime' && url.pathname !== '/realtime' && !isLive(url)) return { status: 404 }
    const standing = refusals.shift()
    if (standing !== undefined) return standing
    // Google checks the key after the setup.
    if (isLive(url)) return undefined
    const authorization = request.headers.authorization ?? ''
    const key = authorization.startsWith('Bearer ') ? authorization.slice(7) : ''
    if (key === '' || (apiKey !== undefined && key !== apiKey)) return { status: 401, body: wrongKey }
    if (isTranscription(url)) return undefined
    const model = url.searchParams.get('model') ?? ''
    if (model === '' || (models !== undefined && !models.includes(model))) return { status: 404, body: wrongModel }
    return undefined
  }

  return {
    sessions,
    refuse: (...more) => void refusals.push(...more),
    upgrade(request, socket, head) {
      const url = new URL(request.url ?? '/', 'http://fake.invalid')
      const refusal = refusalFor(request, url)
      if (refusal === undefined)
        // The types require Node's Buffer, which the bytes of an upgrade always are.
        server.handleUpgrade(request, socket, head as Parameters<typeof server.handleUpgrade>[2], (accepted) => {
          sessions.push(open(accepted, url, request, options))
        })
      else socket.end(plainRefusal(refusal))
    },
  }
}

/** Serves realtime sessions on a port of their own. Rejects if the port is not available. */
export async function listenRealtime(
  options: FakeRealtimeOptions & { port?: number; host?: string } = {},
): Promise<ListeningRealtime> {
  const { createServer } = await import('node:http')
  const { port = 0, host = '127.0.0.1', ...rest } = options
  const fake = await createFakeRealtime(rest)
  const server: Server = createServer((_request, response) => response.writeHead(404).end())
  const sockets = new Set<Duplex>()
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
  })
  server.on('upgrade', fake.upgrade)
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, resolve)
  })
  const address = server.address() as AddressInfo
  const close = (): Promise<void> =>
    new Promise((resolve) => {
      server.close(() => resolve())
      // The server no longer manages upgraded connections, but waits for them.
      for (const socket of sockets) socket.destroy()
    })
  return {
    ...fake,
    url: `http://${host}:${address.port}/v1`,
    port: address.port,
    connections: async () => sockets.size,
    close,
    [Symbol.asyncDispose]: close,
  }
}

/** The provider's side of a session. */
interface Machine {
  readonly model: string
  opening(): readonly JsonObject[]
  /** Returns messages for the client, or how to close its socket. */
  receive(text: string): readonly JsonObject[] | { readonly code: number; readonly reason: string }
  /** Messages are JSON in binary frames, as Google sends them. */
  readonly isBinary: boolean
}

function machineOf(url: URL, request: IncomingMessage, { apiKey, models }: FakeRealtimeOptions): Machine {
  if (isLive(url)) {
    const header = request.headers['x-goog-api-key'] ?? url.searchParams.get('key') ?? ''
    const wrongKey = header === '' || (apiKey !== undefined && header !== apiKey)
    const session = createLiveSession({ models, wrongKey })
    return {
      get model() {
        return session.model
      },
      opening: () => [],
      receive: (text) => session.receive(text),
      isBinary: true,
    }
  }
  const model = url.searchParams.get('model') ?? ''
  const session = isTranscription(url) ? createTranscriptionSession(models) : createRealtimeSession(model)
  return { model, opening: () => session.openingEvents(), receive: (text) => session.receive(text), isBinary: false }
}

function open(socket: WebSocket, url: URL, request: IncomingMessage, options: FakeRealtimeOptions) {
  const { paceMs = 0, mute = false } = options
  const machine = machineOf(url, request, options)
  const received: string[] = []
  let closed: FakeRealtimeSession['closed']
  let last: Promise<unknown> = Promise.resolve()

  const write = (message: JsonObject | string | Uint8Array): Promise<void> =>
    new Promise((resolve, reject) => {
      const isPlain = typeof message === 'string' || message instanceof Uint8Array
      const binary = message instanceof Uint8Array || machine.isBinary
      socket.send(isPlain ? message : JSON.stringify(message), { binary }, (error) =>
        error === undefined || error === null ? resolve() : reject(error),
      )
    })
  const answer = async (events: readonly JsonObject[]): Promise<void> => {
    for (const event of events) {
      if (paceMs > 0) await new Promise((resolve) => setTimeout(resolve, paceMs))
      if (socket.readyState !== socket.OPEN) return
      write(event).catch(() => {})
    }
  }
  const say = (events: readonly JsonObject[]): void => {
    if (mute) return
    last = last.then(() => answer(events))
  }

  socket.on('message', (data: Uint8Array, isBinary) => {
    if (isBinary && !machine.isBinary) {
      write(data).catch(() => {})
      return
    }
    const text = new TextDecoder().decode(data)
    received.push(text)
    if (received.length > 1000) received.shift()
    if (mute) return
    const answered = machine.receive(text)
    if ('code' in answered) last = last.then(() => socket.close(answered.code, answered.reason.slice(0, 120)))
    else say(answered)
  })
  socket.on('error', () => {})
  socket.on('close', (code, reason) => {
    closed = { code, reason: new TextDecoder().decode(reason) }
  })
  say(machine.opening())

  const headers = Object.fromEntries(
    Object.entries(request.headers).map(([name, value]) => [
      name,
      Array.isArray(value) ? value.join(', ') : `${value}`,
    ]),
  )
  const session: FakeRealtimeSession = {
    get model() {
      return machine.model
    },
    query: url.search.slice(1),
    headers,
    received,
    get closed() {
      return closed
    },
    get waiting() {
      return socket.bufferedAmount
    },
    send: write,
    close: (code, reason) => socket.close(code, reason),
    drop: () => socket.terminate(),
    ping: () => socket.ping(),
    pause: () => socket.pause(),
    resume: () => socket.resume(),
  }
  return session
}

/** Returns the HTTP response that refuses an upgrade. */
export function plainRefusal({ status, headers = {}, body = '' }: RealtimeRefusal): string {
  const length = new TextEncoder().encode(body).length
  const all = { 'content-type': 'application/json', ...headers, 'content-length': String(length), connection: 'close' }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  return `HTTP/1.1 ${status} Refused\r\n${lines.join('')}\r\n${body}`
}
