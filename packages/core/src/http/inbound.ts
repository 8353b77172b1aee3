import type { Signal } from '../base/async.ts'
import type { Spool } from './spool.ts'

/**
 * The inner currency. A WHATWG `Request` and a Node `IncomingMessage` both satisfy `Inbound` without being converted
 * into each other: building Request, Response and web streams for each call costs more than all the rest.
 */
export interface Inbound {
  readonly method: string
  /** The path as on the wire (percent-encoded), without query. The host's mount prefix may still be on it. */
  readonly path: string
  /** The raw query string without `?`; empty if there is none. */
  readonly query: string
  /** A header's value by its lower-case name; repeated headers are joined with `, `. */
  header(name: string): string | undefined
  /**
   * The whole body. Rejects with GatewayError `request_too_large` as soon as more than `limit` bytes have come (or are
   * announced by Content-Length), without buffering beyond.
   */
  read(limit: number): Promise<Uint8Array>
  /**
   * The body as it comes, for uploads: in place of `read`, once. Fails as `read` does. Absent: uploads are read whole, within
   * the limit for other bodies.
   */
  stream?(limit: number): AsyncIterable<Uint8Array>
  /** A place for an upload that is better not held in memory. Absent: uploads stay in memory, within the limit for other bodies. */
  openSpool?(): Spool
  /**
   * Waits for a turn of its own, before a piece of work that takes some milliseconds: everybody else's sockets are seen to first, and
   * no two such pieces are done without a look at them in between. Absent: a timer has to do.
   */
  turn?(): Promise<void>
  /**
   * Counts the tokens of texts with the default tokenizer (o200k_base), in another thread: loading it takes some tenths of a second, and
   * each text some milliseconds. Resolves to undefined if the tokenizer is not available there. Absent: it is loaded into this thread.
   */
  countTokens?(texts: readonly string[]): Promise<number | undefined>
  /**
   * Watches the client while its response is sent: when there are bytes for it and it takes none for `stallMs`, the adapter calls
   * `call.onClientStalled` and closes the connection. Called once at most, before the reply. Absent: a streamed body is cut when
   * nobody pulls it for that long, and the host looks after whole ones.
   */
  watchClient?(stallMs: number, call: WatchedCall): void
  /** Aborted when the client has left before the reply was finished. */
  readonly signal: Signal
}

/** A call whose client is watched by its adapter. */
export interface WatchedCall {
  /** The client does not read. Does nothing once the call is over. */
  onClientStalled(stallMs: number): void
}

/** What an adapter sends. Header names are lower-case. */
export interface Reply {
  readonly status: number
  readonly headers: Record<string, string>
  /**
   * A string or bytes: sent whole with a content-length. An iterable: sent chunk by chunk, each as soon as it comes,
   * pulled no faster than the client reads; the adapter calls the iterator's `return` if the client leaves.
   */
  readonly body: string | Uint8Array | AsyncIterable<Uint8Array> | null
}

/** Who pulls a body without a promise for each chunk. */
export interface BodySink {
  /** The next chunk, or the end. */
  onResult(result: IteratorResult<Uint8Array>): void
  /** In place of a chunk; nothing follows. */
  onError(error: unknown): void
}

/** A streamed body that can also be pulled without a promise for each chunk: by one way or the other, not both. */
export interface PulledBody extends AsyncIterable<Uint8Array> {
  /** Tells the sink once, perhaps before this returns. Not to be called again before it has. */
  pull(sink: BodySink): void
}

/** A streamed body that the gateway can end although its reader does not pull it. */
export interface CutBody extends AsyncIterable<Uint8Array> {
  /**
   * Set by the adapter, before the first pull. Called once at most: nothing more comes, and what the client has is not whole, so that
   * its connection must not end as if it were.
   */
  onCut: ((error: unknown) => void) | undefined
}

/** Whether a name and a value can be sent as a header. One that cannot would fail the call, and look as if the other side had. */
export const isValidHeader = ([name, value]: readonly [string, unknown]): boolean =>
  /^[!#$%&'*+.^_`|~0-9a-z-]+$/i.test(name) && typeof value === 'string' && /^[\t\x20-\x7e\x80-\xff]*$/.test(value)

/** What a subprotocol begins with that is a token. */
export const tokenProtocolPrefix = 'openai-insecure-api-key.'

/** The subprotocols a client offers. */
export const offeredProtocols = (inbound: Inbound): readonly string[] =>
  (inbound.header('sec-websocket-protocol') ?? '')
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '')

/** A browser cannot set headers on a WebSocket: its token comes as a subprotocol. */
export const offeredToken = (inbound: Inbound): string | undefined =>
  offeredProtocols(inbound)
    .find((name) => name.startsWith(tokenProtocolPrefix))
    ?.slice(tokenProtocolPrefix.length) || undefined
