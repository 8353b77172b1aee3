import type { Reply } from '../http/inbound.ts'

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
