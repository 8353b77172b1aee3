import type { Reply } from '../http/inbound.ts'
import type { RealtimeTransportRequest } from './realtime.ts'

/** A client's WebSocket, as an adapter presents it to the gateway. */
export interface ClientSocket {
  /** Bytes that wait to be sent. */
  readonly bufferedAmount: number
  /**
   * Sends a text message in UTF-8.
   *
   * @param written called once: when the message has been passed to the operating system, or when it cannot be sent any more
   */
  send(message: Uint8Array, written?: () => void): void
  /** Stops reading messages. Messages that have already been read may still arrive. */
  pause(): void
  /** Reads messages again. */
  resume(): void
  /** Starts the closing handshake. */
  close(code: number, reason: string): void
  /** Closes the connection at once. */
  terminate(): void
}

/** A WebSocket to an upstream, as an adapter presents it to the gateway. */
export interface UpstreamSocket {
  /** Sends a text message. */
  send(message: string): void
  /** Stops reading messages. Messages that have already been read may still arrive. */
  pause(): void
  /** Reads messages again. */
  resume(): void
  /** Closes the connection at once. */
  terminate(): void
}

/** The request for a WebSocket to an upstream, with what to call for its events. */
export interface UpstreamSocketRequest extends RealtimeTransportRequest {
  /** Milliseconds between pings. A socket without a sign of life for several pings must be closed. */
  readonly heartbeatMs: number
  /** Must be called with each message, in order. */
  onMessage(data: Uint8Array): void
  /** Must be called once, when an open socket has closed. */
  onClose(): void
}

/**
 * Opens a WebSocket to an upstream. Resolves to undefined if the upstream responds otherwise than with 101. Rejects if no response
 * arrives, or as soon as the signal is aborted.
 */
export type UpstreamDial = (request: UpstreamSocketRequest) => Promise<UpstreamSocket | undefined>

/** A WebSocket on which a client creates responses (`/v1/responses`), for the adapter that owns the connection. */
export interface ResponsesSocket {
  /** Headers of the 101 response. */
  readonly headers: Readonly<Record<string, string>>
  /** The accepted subprotocol. Undefined: the client offered none. */
  readonly protocol: string | undefined
  /** Largest message of the client in bytes. The adapter closes the connection on a larger one (1009). */
  readonly messageBytes: number
  /** Milliseconds for which the client may read nothing while messages are pending, until its connection must be closed. */
  readonly clientStallMs: number
  /** Milliseconds between pings. */
  readonly heartbeatMs: number
  /** Must be called once, when the connection is open. */
  open(client: ClientSocket): void
  /** Must be called with each message of the client, in order. */
  message(data: Uint8Array, isBinary: boolean): void
  /** Must be called when the connection has closed. Its running calls end as aborted. */
  closed(): void
}

/** A WebSocket to serve, or the HTTP response that rejects the client's upgrade. */
export type ResponsesSocketOpening =
  | { readonly ok: true; readonly socket: ResponsesSocket }
  | { readonly ok: false; readonly reply: Reply }
