import type { Signal } from '../base/signal.ts'

/** One call to an upstream, as the gateway makes it. */
export interface TransportRequest {
  readonly url: string
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  /** An iterable is sent as it comes; it can be iterated anew if the call must be sent again. */
  readonly body?: string | Uint8Array | AsyncIterable<Uint8Array> | undefined
  /** Milliseconds until a connection must stand. Kept by transports that know when they connect. Default: the transport's own. */
  readonly connectMs?: number
  /**
   * False: it is sent once. Default: a transport may send it again where the connection turns out to have been closed before,
   * and says so in the answer (`resent`), or in what it rejects with.
   */
  readonly resend?: boolean
  /** Aborting it closes the upstream connection at once, before the headers and in mid-body. */
  readonly signal: Signal
}

/** An upstream's answer. Its body is read once, by `bytes` or by iterating `stream`. */
export interface TransportResponse {
  readonly status: number
  /** The call was sent twice. */
  readonly resent?: boolean
  /**
   * A body that is cut short makes reading it fail: its end is marked, by a terminating chunk or a content-length. Default: its end
   * may be a cut, because the connection's end is all that ends it, or because the transport cannot tell.
   */
  readonly delimited?: boolean
  /**
   * A header, by lower-case name. `content-length` is that of the body as it is handed over: undefined where an encoding was undone.
   */
  header(name: string): string | undefined
  /**
   * The whole body; rejects once it exceeds `limit` bytes.
   *
   * @param onData called whenever some of it has come, where the transport can tell
   */
  bytes(limit: number, onData?: () => void): Promise<Uint8Array>
  /** The body as it comes, content-encoding undone. Leaving the loop early closes the connection. */
  stream(): AsyncIterable<Uint8Array>
  /** Throws the body away and frees the connection. */
  discard(): void
}

/**
 * How calls leave the process. Adapters for Node bring one on undici; `fetch` is the transport elsewhere. Redirects are
 * never followed. Timeouts are the caller's business (through `signal`). Rejects if no answer could be had.
 */
export interface Transport {
  (request: TransportRequest): Promise<TransportResponse>
  /**
   * Set by a transport whose promises all reject as soon as the signal is aborted, those of its responses included. Default: the
   * gateway sees to it itself, at the cost of some promises for each call.
   */
  readonly settlesOnAbort?: true
}
