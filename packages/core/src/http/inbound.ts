import type { Signal } from '../base/async.ts'
import type { Spool } from './spool.ts'

/**
 * A request to the gateway. It wraps a WHATWG `Request` or a Node `IncomingMessage`, which are not converted into each other: to create a
 * Request, a Response and web streams for each call costs more than everything else.
 */
export interface Inbound {
  readonly method: string
  /** The path as received (percent-encoded), without query. It may still contain the host's mount prefix. */
  readonly path: string
  /** The query string as received, without `?`. Empty if there is none. */
  readonly query: string
  /** The server's address as this connection shows it (`https://host`). Default: unknown. */
  readonly origin?: string
  /** Returns a header by its lower-case name. Repeated headers are joined with `, `. */
  header(name: string): string | undefined
  /**
   * Reads the whole body. Rejects with GatewayError `request_too_large` as soon as more than `limit` bytes have arrived, or if the
   * content-length announces more.
   */
  read(limit: number): Promise<Uint8Array>
  /**
   * Reads the body in chunks, for uploads: once, instead of `read`. Fails as `read` does. Default: uploads are read whole, within the
   * limit for other bodies.
   */
  stream?(limit: number): AsyncIterable<Uint8Array>
  /** Opens temporary storage for an upload. Default: uploads stay in memory, within the limit for other bodies. */
  openSpool?(): Spool
  /**
   * Waits for a turn of the event loop before a task of some milliseconds. Other sockets are served first, and between any two such
   * tasks. Default: a timer.
   */
  turn?(): Promise<void>
  /**
   * Counts the tokens of texts with the default tokenizer (o200k_base) in another thread: to load it takes some tenths of a second, each
   * text some milliseconds. Resolves to undefined if the tokenizer is not installed. Default: it is loaded into this thread.
   */
  countTokens?(texts: readonly string[]): Promise<number | undefined>
  /**
   * Watches the client while its response is sent. If bytes are pending and the client reads none for `stallMs` milliseconds, the adapter
   * calls `call.onClientStalled` and closes the connection. Called at most once, before the reply. Default: a streamed body is aborted
   * if it is not pulled for that long, and the host handles whole bodies.
   */
  watchClient?(stallMs: number, call: WatchedCall): void
  /** Aborted if the client disconnects before the reply is finished. */
  readonly signal: Signal
}

/** A call whose client the adapter watches. */
export interface WatchedCall {
  /** Reports that the client has stopped reading. Does nothing once the call is over. */
  onClientStalled(stallMs: number): void
}

/** A response to the client, sent by the adapter. Header names are lower-case. */
export interface Reply {
  readonly status: number
  readonly headers: Record<string, string>
  /**
   * A string or bytes are sent whole, with a content-length. An iterable is sent chunk by chunk, each as soon as it is available, and
   * pulled no faster than the client reads. The adapter calls the iterator's `return` if the client disconnects.
   */
  readonly body: string | Uint8Array | AsyncIterable<Uint8Array> | null
}

/** A chunk of a `PulledBody`, or its end. After a chunk that `isLast`, the body need not be pulled again. */
export type PulledResult =
  | (IteratorYieldResult<Uint8Array> & { readonly isLast?: true })
  | IteratorReturnResult<undefined>

/** Receives the chunks of a `PulledBody`. */
export interface BodySink {
  /** Receives the next chunk, or the end. */
  onResult(result: PulledResult): void
  /** Receives the error that ends the body. */
  onError(error: unknown): void
}

/** A streamed body that can be pulled without a promise per chunk, instead of being iterated. */
export interface PulledBody extends AsyncIterable<Uint8Array> {
  /** Calls the sink once, possibly before this returns. Must not be called again before that. */
  pull(sink: BodySink): void
}

/** A streamed body that the gateway can abort while its reader does not pull it. */
export interface CutBody extends AsyncIterable<Uint8Array> {
  /**
   * Set by the adapter before the first pull. Called at most once: the body is truncated, so the client's connection must not end as if
   * the response were complete.
   */
  onCut: ((error: unknown) => void) | undefined
}

/** Returns whether a name and a value can be sent as a header. An invalid header would fail the call like an error of the other side. */
export const isValidHeader = ([name, value]: readonly [string, unknown]): boolean =>
  /^[!#$%&'*+.^_`|~0-9a-z-]+$/i.test(name) && typeof value === 'string' && /^[\t\x20-\x7e\x80-\xff]*$/.test(value)

/** Prefix of the WebSocket subprotocol that carries a token. */
export const tokenProtocolPrefix = 'openai-insecure-api-key.'

/** Returns the WebSocket subprotocols that a client offers. */
export const offeredProtocols = (inbound: Inbound): readonly string[] =>
  (inbound.header('sec-websocket-protocol') ?? '')
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '')

/** Returns the token among the offered subprotocols: browsers cannot set headers on a WebSocket. */
export const offeredToken = (inbound: Inbound): string | undefined =>
  offeredProtocols(inbound)
    .find((name) => name.startsWith(tokenProtocolPrefix))
    ?.slice(tokenProtocolPrefix.length) || undefined
