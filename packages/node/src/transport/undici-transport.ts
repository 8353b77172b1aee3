import type { ConnectionOptions } from 'node:tls'
import type { Transport } from '@modelgate/core'
import { buildConnector, Client, type Dispatcher, Pool } from 'undici'
import { ControllerExchange } from './controller-exchange.ts'
import type { Connection, Exchange } from './exchange.ts'
import { RawExchange, supportsRawHandlers } from './raw-exchange.ts'
import { skipContinue } from './skip-continue.ts'

/** Options of `undiciTransport`. */
export interface UndiciTransportOptions {
  /** Maximum number of connections to one origin; further calls wait. Default: no limit. */
  connections?: number
  /** Milliseconds until an attempt to connect fails. Default: 10 s. */
  connectTimeoutMs?: number
  /** Milliseconds for which an idle connection is kept, unless the upstream sends its own time. Default: 4 s. */
  keepAliveMs?: number
  /**
   * Sends a call once more on a fresh connection if a used connection turns out to be closed before any byte of a response. An
   * upstream that crashes after reading a call may then receive it twice; `false` prevents that, and rarely a call fails instead.
   * Default true.
   */
  retryStale?: boolean
  /** TLS options, for upstreams behind a private certificate authority. */
  tls?: Pick<ConnectionOptions, 'ca' | 'cert' | 'key' | 'passphrase' | 'pfx' | 'rejectUnauthorized'>
}

/** A transport with its own connections. */
export interface UndiciTransport extends Transport {
  /** Waits for running calls, then closes all connections. Later calls reject. */
  close(): Promise<void>
  /** The same as `close()`, for `await using`. */
  [Symbol.asyncDispose](): Promise<void>
}

/**
 * Creates a transport that calls upstreams through undici: one pool for each origin, HTTP/1.1, no redirects, no timeout of its own
 * except for connecting. Calls reject with an Error that has a `code` (`ECONNREFUSED`, `UND_ERR_CONNECT_TIMEOUT`, `ABORT_ERR`, …).
 */
export function undiciTransport(options: UndiciTransportOptions = {}): UndiciTransport {
  return createTransport(options, supportsRawHandlers() ? RawExchange : ControllerExchange)
}

/** @param HandlingExchange with the handler interface that undici calls */
export function createTransport(
  options: UndiciTransportOptions,
  HandlingExchange: typeof RawExchange | typeof ControllerExchange,
): UndiciTransport {
  const { connections, connectTimeoutMs = 10_000, keepAliveMs = 4000, retryStale = true, tls } = options
  const connect = buildConnector({ ...tls, timeout: connectTimeoutMs, allowH2: false })
  const settings: Client.Options = {
    pipelining: 1,
    // undici 8 would offer HTTP/2, where one connection carries many calls: ending one call would end them all.
    allowH2: false,
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
    const pool: Pool = new Pool(origin, {
      ...settings,
      connections: connections ?? null,
      factory: (_origin, inherited) => {
        const client = createTrackedClient(origin, inherited, connect)
        // With a limit, a waiting call may get the client after this event.
        if (connections === undefined) forgetWhenClosed(client, pool)
        return client
      },
    })
    pools.set(origin, pool)
    return pool
  }

  const transport: Transport = (request) =>
    new Promise((resolve, reject) => {
      const { url, method, headers, body, signal } = request
      const { origin, path } = splitUrl(url)
      const pool = poolOf(origin)
      const resend = (exchange: Exchange): void => {
        // Outside the pool, whose other idle connections are probably closed as well.
        const fresh = createTrackedClient(origin, settings, connect)
        fresh.dispatch({ ...call, reset: true }, exchange)
        void fresh.close()
      }
      const exchange = new HandlingExchange(
        request,
        resolve,
        reject,
        retryStale && request.resend !== false ? resend : undefined,
      )
      const call: ExchangeOptions = {
        exchange,
        path,
        method,
        // Compression gains nothing between data centres and delays events.
        headers: 'accept-encoding' in headers ? headers : { ...headers, 'accept-encoding': 'identity' },
        // undici accepts any iterable, and null for no body; its types allow only streams.
        body: (body ?? null) as string | Uint8Array | null,
      }
      if (signal.aborted) exchange.handleEvent()
      else pool.dispatch(call, exchange)
    })

  const close = async (): Promise<void> => {
    closed = true
    await Promise.all([...pools.values()].map((pool) => pool.close()))
  }
  return Object.assign(transport, { settlesOnAbort: true as const, close, [Symbol.asyncDispose]: close })
}

/** Dispatch options that carry the exchange: undici 7 wraps handlers, but passes the options to the client unchanged. */
interface ExchangeOptions extends Dispatcher.DispatchOptions {
  readonly exchange: Exchange
}

/** Creates an undici client that gives each exchange its connection. */
function createTrackedClient(origin: string, options: Client.Options, connect: buildConnector.connector): Client {
  const connection: Connection = { socket: undefined, responses: 0, failure: undefined, isPending: false }
  const client = new Client(origin, {
    ...options,
    connect: (target, callback) =>
      connect(target, (...result) => {
        const [, socket] = result
        connection.socket = socket ?? undefined
        connection.responses = 0
        connection.failure = undefined
        if (socket) skipContinue(socket, connection)
        // The first listener of the socket, so that the error is known before undici handles it.
        socket?.on('error', (error) => {
          connection.failure = error
        })
        callback(...result)
      }),
  })
  const dispatch = client.dispatch.bind(client)
  const dispatchOnConnection: Client['dispatch'] = (call, handler) => {
    ;(call as ExchangeOptions).exchange.connection = connection
    return dispatch(call, handler)
  }
  client.dispatch = dispatchOnConnection
  return client
}

/**
 * Removes a client from its pool when its connection has closed and it has no call. Otherwise a pool keeps as many clients as it ever had
 * connections at the same time, 6 kB each. On this event, undici's pool removes clients whose connection fails.
 */
function forgetWhenClosed(client: Client, pool: Pool): void {
  client.on('disconnect', (origin, _targets, error) => {
    if (client.stats.size === 0 && !client.closed && !client.destroyed)
      pool.emit('connectionError', origin, [pool, client], error)
  })
}

function splitUrl(url: string): { origin: string; path: string } {
  const slash = url.indexOf('/', url.indexOf('://') + 3)
  // `new URL` for each call costs more than the rest of this file.
  if (slash > 0 && url.startsWith('http')) return { origin: url.slice(0, slash), path: url.slice(slash) }
  const { origin, pathname, search } = new URL(url)
  return { origin, path: pathname + search }
}

let shared: UndiciTransport | undefined

/** Returns the default transport of this process. Idle connections do not keep the process alive, so it need not be closed. */
export function sharedTransport(): UndiciTransport {
  shared ??= undiciTransport()
  return shared
}
