import type { Signal } from '../base/async.ts'
import type { GatewayError } from '../base/errors.ts'
import type { Reply } from '../http/inbound.ts'
import type { TransportResponse } from '../http/transport.ts'
import type { FinishEvent } from './finish-event.ts'

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

/** How a client's WebSocket is accepted. */
export interface RealtimeAcceptance {
  /** Headers of the 101 response to the client. */
  readonly headers: Readonly<Record<string, string>>
  /** The accepted subprotocol. Undefined: the client offered none. */
  readonly protocol: string | undefined
  /** Largest message in bytes, in both directions. */
  readonly messageBytes: number
  /** Aborted when the gateway shuts down: the sockets must be closed with 1001. */
  readonly signal: Signal
}

/** A close that the gateway decides. */
export interface RealtimeClosing {
  /** An event for the client, to send before the close. Undefined: the protocol has none. */
  readonly event?: string | undefined
  readonly code: number
  /** At most 123 bytes. */
  readonly reason: string
}

/** The end of a session that the gateway decides, because the caller may use no more. */
export interface RealtimeCut {
  /** How the client must be closed. The upstream must be closed with 1001. */
  readonly closing: RealtimeClosing
  /** The ending to settle the session with. */
  readonly ending: RealtimeEnding
}

/** What must happen with a client's message. */
export type ClientMessage =
  /** The upstream receives this text. If it is the same text, the message is sent as it is. */
  | { readonly forward: string }
  /** The message must not be sent. The client receives this error event. */
  | { readonly reply: string }
  /** The message must not be sent. Both connections must be closed. */
  | { readonly close: RealtimeClosing }

/** A session with a connected upstream, for the adapter that owns the sockets. */
export interface RealtimeSession<Socket> extends RealtimeAcceptance {
  readonly upstream: Socket
  /** Returns whether a text message of the upstream can be sent unread, such as long audio. All others must pass through `readUpstream`. */
  passesUnread(message: Uint8Array): boolean
  /** Binary messages of the upstream hold JSON, and must be read as text is. */
  readonly readsBinary: boolean
  /** Reads the usage from a message of the upstream. Returns the text to send to the client, without secrets of the upstream. */
  readUpstream(text: string): string
  /** Reads a message of the client before it is sent to the upstream. Absent: all messages are sent unchanged. */
  readonly readClient?: (text: string, isBinary: boolean) => ClientMessage
  /** Resolves if the session must end before either side closes it. */
  readonly cut: Promise<RealtimeCut>
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
  /** Must be called after both sockets have closed. Later calls do nothing. */
  settle(ending: RealtimeEnding): void
}

/** The result of a client's first message: a session, or the close that rejects the client. */
export type RealtimeConnection<Socket> =
  | {
      readonly session: RealtimeSession<Socket>
      /** The first message for the upstream. */
      readonly first: string
    }
  | { readonly closing: RealtimeClosing }

/** A session whose model is named by the client's first message. The client must be accepted first. */
export interface PendingSession<Socket> extends RealtimeAcceptance {
  /** Milliseconds until the first message must have arrived. */
  readonly firstMessageMs: number
  /** Largest first message in bytes. The client must be closed with 1009 while it sends a larger one. */
  readonly firstMessageBytes: number
  /**
   * Connects to the upstream of the model that the first message names. Must be called once. Never rejects. Abort the signal of the
   * `Inbound` if the client disconnects meanwhile.
   */
  connect(text: string, isBinary: boolean): Promise<RealtimeConnection<Socket>>
  /** Ends the call of a client without a first message. Must not be called after `connect`. Returns how to close the client's socket. */
  fail(error: GatewayError): RealtimeClosing
}

/** A session to serve, one that waits for the client's first message, or the HTTP response that rejects the client's upgrade. */
export type RealtimeOpening<Socket> =
  | { readonly ok: true; readonly session: RealtimeSession<Socket>; readonly pending?: undefined }
  | { readonly ok: true; readonly pending: PendingSession<Socket>; readonly session?: undefined }
  | { readonly ok: false; readonly reply: Reply }
