import { createCanceller, type Signal } from '../../../base/async.ts'
import type { UpstreamDial } from '../../../config/responses-socket.ts'
import { abortError, type Transport, type TransportRequest, type TransportResponse } from '../../../http/transport.ts'
import type { Continuation } from '../records.ts'
import { connectUpstream, type UpstreamConnection } from './upstream-connection.ts'
import { type SocketRequest, socketRequest } from './upstream-messages.ts'
import { processQuota, type UpstreamQuota } from './upstream-quota.ts'

/** Open WebSockets to upstreams for one client: as many as responses of a client can run at a time. */
const maxConnections = 16
/** Milliseconds for a WebSocket to open, unless the configuration limits the connection. After that the request is sent over HTTP. */
const defaultConnectMs = 10_000

/** Headers of a single call. A WebSocket is opened without them, and serves calls with different ones. */
const perCallHeaders: ReadonlySet<string> = new Set([
  'content-type',
  'content-length',
  'accept',
  'accept-encoding',
  'traceparent',
  'tracestate',
  'baggage',
])

/** One request of the client, from its arrival to the response. */
export interface SocketTurn {
  readonly lane: string
  /** Id of the caller, whose open WebSockets are limited. */
  readonly owner: string
  /** Set if the connection completed the input of the request. */
  continuation: Continuation | undefined
}

/**
 * The WebSockets to upstreams that one client's WebSocket holds: one for each lane, URL and credential (docs/decisions/0054). They are a
 * transport: the rest of the gateway sees responses of HTTP. A request is sent over HTTP where no WebSocket can be opened, and where the
 * one of its lane is busy.
 */
export class UpstreamSockets {
  readonly #dial: UpstreamDial
  readonly #quota: UpstreamQuota
  readonly #limits: { readonly messageBytes: number; readonly heartbeatMs: number }
  /** The least recently used first. Undefined while a WebSocket is being opened. */
  readonly #connections = new Map<string, UpstreamConnection | undefined>()
  /** Addresses that no WebSocket could be opened to. They are not tried again. */
  readonly #refused = new Set<string>()
  #isClosed = false

  /** @param limits `messageBytes` of one message of an upstream, `heartbeatMs` between pings */
  constructor(
    dial: UpstreamDial,
    limits: { readonly messageBytes: number; readonly heartbeatMs: number },
    quota: UpstreamQuota = processQuota,
  ) {
    this.#dial = dial
    this.#limits = limits
    this.#quota = quota
  }

  /** Returns the transport of one request. `inner` sends what no WebSocket can. */
  transportFor(turn: SocketTurn, inner: Transport): Transport {
    return (request) => (request.webSocket === true ? this.#send(request, turn, inner) : inner(request))
  }

  /** Closes all WebSockets. */
  close(): void {
    this.#isClosed = true
    for (const connection of this.#connections.values()) connection?.close()
    this.#connections.clear()
  }

  async #send(request: TransportRequest, turn: SocketTurn, inner: Transport): Promise<TransportResponse> {
    const { signal } = request
    const body = textOf(request.body)
    const address = addressOf(request)
    if (body === undefined || this.#refused.has(address)) return await inner(request)
    const message = socketRequest(body, turn.continuation)
    const key = `${turn.lane}\n${address}`
    // The second connection replaces one that has reached its age, or whose state the upstream has lost.
    for (let tries = 0; tries < 2; tries++) {
      const isFresh = this.#connections.get(key) === undefined
      const connection = await this.#connectionFor(key, address, turn.owner, request)
      if (connection === undefined) break
      const result = await sendOn(connection, message, signal)
      if ('lost' in result) {
        this.#connections.delete(key)
        // A host between gateway and upstream may open WebSockets and pass nothing.
        if (isFresh) this.#refused.add(address)
        if (request.resend === false) throw result.lost
        return await sentAgain(inner, request)
      }
      if (result.code !== 'websocket_connection_limit_reached') {
        // The input is large, and the response may last.
        if (result.response.status < 400) turn.continuation = undefined
        return result.response
      }
      connection.close()
      this.#connections.delete(key)
    }
    return await inner(request)
  }

  /** Returns the open connection of a lane, or a new one; undefined if the request must be sent over HTTP. */
  async #connectionFor(
    key: string,
    address: string,
    owner: string,
    request: TransportRequest,
  ): Promise<UpstreamConnection | undefined> {
    const known = this.#connections.get(key)
    if (known?.isClosed === true) this.#connections.delete(key)
    else if (known !== undefined) {
      if (known.isBusy) return undefined
      // The latest one is removed last.
      this.#connections.delete(key)
      this.#connections.set(key, known)
      return known
    } else if (this.#connections.has(key)) return undefined
    if (this.#isClosed || !this.#makeRoom()) return undefined
    const release = this.#quota.take(owner)
    if (release === undefined) return undefined
    this.#connections.set(key, undefined)
    const connection = await this.#open(request, release)
    if (this.#isClosed) connection?.close()
    if (connection === undefined || this.#isClosed) {
      this.#connections.delete(key)
      if (request.signal.aborted) throw abortError()
      if (!this.#isClosed) this.#refused.add(address)
      return undefined
    }
    this.#connections.set(key, connection)
    return connection
  }

  /** Closes connections that are not in use, the least recently used first, until another one may be opened. */
  #makeRoom(): boolean {
    for (const [key, connection] of this.#connections) {
      if (this.#connections.size < maxConnections) return true
      if (connection === undefined || (connection.isBusy && !connection.isClosed)) continue
      connection.close()
      this.#connections.delete(key)
    }
    return this.#connections.size < maxConnections
  }

  /**
   * Never rejects.
   *
   * @param release called once, when the WebSocket has closed or could not be opened
   */
  async #open(
    { url, headers, signal, connectMs }: TransportRequest,
    release: () => void,
  ): Promise<UpstreamConnection | undefined> {
    let isReleased = false
    const releaseOnce = (): void => {
      if (!isReleased) release()
      isReleased = true
    }
    const canceller = createCanceller()
    const onAbort = (): void => canceller.abort(signal.reason)
    const timer = setTimeout(onAbort, connectMs ?? defaultConnectMs)
    if (signal.aborted) onAbort()
    else signal.addEventListener('abort', onAbort)
    try {
      const opening = { url, headers: connectionHeaders(headers), signal: canceller, ...this.#limits }
      const connection = await connectUpstream(this.#dial, opening, releaseOnce)
      if (connection === undefined) releaseOnce()
      return connection
    } catch {
      releaseOnce()
      return undefined
    } finally {
      clearTimeout(timer)
      signal.removeEventListener('abort', onAbort)
    }
  }
}

/** Sends only what the upstream does not know yet, if its WebSocket still has the conversation. */
async function sendOn(
  connection: UpstreamConnection,
  message: SocketRequest,
  signal: Signal,
): ReturnType<UpstreamConnection['send']> {
  const continuing = message.continuing(connection.latestId)
  if (continuing !== undefined) {
    const result = await connection.send(continuing, signal)
    if ('lost' in result || result.code !== 'previous_response_not_found') return forgetFailed(connection, result)
  }
  return forgetFailed(connection, await connection.send(message.whole(), signal))
}

function forgetFailed<R extends Awaited<ReturnType<UpstreamConnection['send']>>>(
  connection: UpstreamConnection,
  result: R,
): R {
  if ('response' in result && result.response.status >= 400) connection.forget()
  return result
}

/** Sends a request again over HTTP, and says so. */
async function sentAgain(inner: Transport, request: TransportRequest): Promise<TransportResponse> {
  try {
    const response = await inner(request)
    return {
      status: response.status,
      resent: true,
      ...(response.delimited === undefined ? {} : { delimited: response.delimited }),
      header: (name) => response.header(name),
      bytes: (limit, onData) => response.bytes(limit, onData),
      stream: () => response.stream(),
      discard: () => response.discard(),
    }
  } catch (error) {
    throw error instanceof Error ? Object.assign(error, { resent: true }) : error
  }
}

const connectionHeaders = (headers: TransportRequest['headers']): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => !perCallHeaders.has(name.toLowerCase())))

/** The URL and everything that authenticates the gateway: a WebSocket never serves calls with other credentials. */
const addressOf = ({ url, headers }: TransportRequest): string =>
  `${url}\n${JSON.stringify(Object.entries(connectionHeaders(headers)).sort())}`

const decoder = new TextDecoder()

function textOf(body: TransportRequest['body']): string | undefined {
  if (typeof body === 'string') return body
  return body instanceof Uint8Array ? decoder.decode(body) : undefined
}
