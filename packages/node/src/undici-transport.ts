import type { ConnectionOptions } from 'node:tls'
import type { Transport } from '@modelgate/core'
import { buildConnector, Client, type Dispatcher, Pool } from 'undici'
import { type Connection, Exchange } from './exchange.ts'
import { skipContinue } from './skip-continue.ts'

/** What `undiciTransport` takes. */
export interface UndiciTransportOptions {
  /** Most connections to one origin; further calls wait. Default: no limit. */
  connections?: number
  /** Milliseconds until an attempt to connect is given up. Default: 10 s. */
  connectTimeoutMs?: number
  /** Milliseconds an idle connection is kept, unless the upstream says otherwise. Default: 4 s. */
  keepAliveMs?: number
  /**
   * Sends a call once more, on a fresh connection, if a used connection turned out to be closed and not one byte of an
   * answer came. An upstream that crashes after reading a call could thus see it twice; `false` prevents that, at the
   * price of rare failures. Default true.
   */
  retryStale?: boolean
  /** Certificates and the like, for upstreams behind a private CA. */
  tls?: Pick<ConnectionOptions, 'ca' | 'cert' | 'key' | 'passphrase' | 'pfx' | 'rejectUnauthorized'>
}

/** A transport that owns connections. */
export interface UndiciTransport extends Transport {
  /** Waits for the running calls, then closes all connections. Later calls reject. */
  close(): Promise<void>
  /** The same as `close()`, for `await using`. */
  [Symbol.asyncDispose](): Promise<void>
}

/**
 * Calls upstreams through undici: one pool for each origin, no redirects, no timeouts of its own but the connection's.
 * Rejects with plain errors that carry a `code` (`ECONNREFUSED`, `UND_ERR_CONNECT_TIMEOUT`, `ABORT_ERR`, …).
 */
export function undiciTransport(options: UndiciTransportOptions = {}): UndiciTransport {
  const { connections, connectTimeoutMs = 10_000, keepAliveMs = 4000, retryStale = true, tls } = options
  const connect = buildConnector({ ...tls, timeout: connectTimeoutMs })
  const settings: Client.Options = {
    pipelining: 1,
    keepAliveTimeout: keepAliveMs,
    headersTimeout: 0,
    bodyTimeout: 0,
    connect,
  }
  const pools = new Map<string, Pool>()
  let closed = false

  const poolOf = (origin: string): Pool => {
    const known = pools.get(origin)
    if (known !== undefined) return known
    if (closed) throw Object.assign(new Error('The transport is closed.'), { code: 'ERR_CLOSED' })
    const pool = new Pool(origin, {
      ...settings,
      connections: connections ?? null,
      factory: (_origin, inherited) => trackedClient(origin, inherited, connect),
    })
    pools.set(origin, pool)
    return pool
  }

  const transport: Transport = (request) =>
    new Promise((resolve, reject) => {
      const { url, method, headers, body, signal } = request
      const { origin, path } = splitUrl(url)
      const call: Dispatcher.DispatchOptions = {
        path,
        method,
        // Compression saves nothing between data centres and holds back events.
        headers: 'accept-encoding' in headers ? headers : { ...headers, 'accept-encoding': 'identity' },
        // It takes any iterable; its types say so only of streams. And it takes null for none.
        body: (body ?? null) as string | Uint8Array | null,
      }
      const resend = (exchange: Exchange): void => {
        // Not through the pool: its other connections have most likely died of the same cause.
        const fresh = trackedClient(origin, settings, connect)
        fresh.dispatch({ ...call, reset: true }, exchange)
        void fresh.close()
      }
      const pool = poolOf(origin)
      const exchange = new Exchange(
        request,
        resolve,
        reject,
        retryStale && request.resend !== false ? resend : undefined,
      )
      if (signal.aborted) exchange.handleEvent()
      else pool.dispatch(call, exchange)
    })

  const close = async (): Promise<void> => {
    closed = true
    await Promise.all([...pools.values()].map((pool) => pool.close()))
  }
  return Object.assign(transport, { settlesOnAbort: true as const, close, [Symbol.asyncDispose]: close })
}

/** A client that tells each exchange which connection it runs on. */
function trackedClient(origin: string, options: Client.Options, connect: buildConnector.connector): Client {
  const connection: Connection = { socket: undefined, answers: 0, failure: undefined, isPending: false }
  const client = new Client(origin, {
    ...options,
    connect: (target, callback) =>
      connect(target, (...result) => {
        const [, socket] = result
        connection.socket = socket ?? undefined
        connection.answers = 0
        connection.failure = undefined
        if (socket) skipContinue(socket, connection)
        // First of the socket's listeners, so that the cause is known before undici draws its conclusions.
        socket?.on('error', (error) => {
          connection.failure = error
        })
        callback(...result)
      }),
  })
  const dispatch = client.dispatch.bind(client)
  client.dispatch = (call, handler) => {
    if (handler instanceof Exchange) handler.connection = connection
    return dispatch(call, handler)
  }
  return client
}

function splitUrl(url: string): { origin: string; path: string } {
  const slash = url.indexOf('/', url.indexOf('://') + 3)
  // `new URL` for each call would cost more than the rest of this file.
  if (slash > 0 && url.startsWith('http')) return { origin: url.slice(0, slash), path: url.slice(slash) }
  const { origin, pathname, search } = new URL(url)
  return { origin, path: pathname + search }
}

let shared: UndiciTransport | undefined

/** The process's own transport. Idle connections do not keep a process alive, so nobody has to close it. */
export function sharedTransport(): UndiciTransport {
  shared ??= undiciTransport()
  return shared
}
