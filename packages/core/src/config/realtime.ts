import type { Signal } from '../base/async.ts'
import type { Reply } from '../http/inbound.ts'
import type { TransportResponse } from '../http/transport.ts'
import type { FinishEvent } from './plugin.ts'

/** The request for a WebSocket to an upstream. */
export interface RealtimeTransportRequest {
  /** URL with `http:` or `https:`, which correspond to `ws:` and `wss:`. */
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  /** Largest accepted message in bytes. */
  readonly messageBytes: number
  /** Aborted when the client disconnects or a time limit ends the attempt. */
  readonly signal: Signal
}

/**
 * Opens a WebSocket. Resolves to the open socket, paused until the client is connected, or to the HTTP response that rejected the upgrade.
 * Rejects if no response arrives. Redirects are not followed.
 */
export type RealtimeTransport<Socket> = (
  request: RealtimeTransportRequest,
) => Promise<{ readonly socket: Socket } | { readonly refusal: TransportResponse }>

/** The end of a session. */
export interface RealtimeEnding {
  readonly outcome: FinishEvent['outcome']
  /** The internal error; never sent to the client. */
  readonly error?: unknown
}

/** A session with a connected upstream, for the adapter that owns the sockets. */
export interface RealtimeSession<Socket> {
  readonly upstream: Socket
  /** Headers of the 101 response to the client. */
  readonly headers: Readonly<Record<string, string>>
  /** The accepted subprotocol. Undefined: the client offered none. */
  readonly protocol: string | undefined
  /** Returns whether a text message of the upstream can be sent unread, such as long audio. All others must pass through `readUpstream`. */
  passesUnread(message: Uint8Array): boolean
  /** Reads the usage from a message of the upstream. Returns the text to send to the client, without secrets of the upstream. */
  readUpstream(text: string): string
  /**
   * Checks a message of the client before it is sent to the upstream. Returns an error event for the client if the message names a model
   * that the caller may not use; the message must then not be sent. Absent for callers that may use all models.
   */
  readonly checkClient?: (text: string, isBinary: boolean) => string | undefined
  /** Must be called when the upstream's first message arrives. */
  begun(): void
  /** Returns the upstream's close reason for the client: without host and keys, at most 123 bytes. */
  closeReason(reason: string): string
  /** Milliseconds without a message from either side until the session must be closed. */
  readonly idleMs: number
  /** Milliseconds for which the client may read nothing while messages are pending, until the session must be closed. */
  readonly clientStallMs: number
  /** Milliseconds between pings to each side. */
  readonly heartbeatMs: number
  /** Largest message in bytes, in both directions. */
  readonly messageBytes: number
  /** Aborted when the gateway shuts down: both sockets must be closed with 1001. */
  readonly signal: Signal
  /** Must be called after both sockets have closed. Later calls do nothing. */
  settle(ending: RealtimeEnding): void
}

/** A session to serve, or the HTTP response that rejects the client's upgrade. */
export type RealtimeOpening<Socket> =
  | { readonly ok: true; readonly session: RealtimeSession<Socket> }
  | { readonly ok: false; readonly reply: Reply }
