import type { Signal } from '../base/async.ts'
import type { Reply } from '../http/inbound.ts'
import type { TransportResponse } from '../http/transport.ts'
import type { FinishEvent } from './plugin.ts'

/** One WebSocket to an upstream, as the gateway asks for it. */
export interface RealtimeTransportRequest {
  /** `http:` or `https:`; the scheme of WebSockets follows from it. */
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  /** Largest message to take, in bytes. */
  readonly messageBytes: number
  /** Aborted when the client has left or the upstream takes too long: give the attempt up. */
  readonly signal: Signal
}

/**
 * Opens a WebSocket: the open socket (paused: what comes before the client is there must wait), or the plain HTTP answer
 * that came in its place. Rejects if no answer could be had. Redirects are not followed.
 */
export type RealtimeTransport<Socket> = (
  request: RealtimeTransportRequest,
) => Promise<{ readonly socket: Socket } | { readonly refusal: TransportResponse }>

/** How a session ended. */
export interface RealtimeEnding {
  readonly outcome: FinishEvent['outcome']
  /** What went wrong, in process terms; never sent to the client. */
  readonly error?: unknown
}

/** A session whose upstream is there: what whoever owns the sockets has to know and to tell. */
export interface RealtimeSession<Socket> {
  readonly upstream: Socket
  /** Headers of the 101 to the client. */
  readonly headers: Readonly<Record<string, string>>
  /** The subprotocol to answer. Undefined: none was offered. */
  readonly protocol: string | undefined
  /** Whether a text message of the upstream is content that needs no look: long pieces of sound. All others go through `readUpstream`. */
  passesUnread(message: Uint8Array): boolean
  /** Reads the usage in passing; returns the text to send on, which is the same unless it holds secrets of the upstream. */
  readUpstream(text: string): string
  /**
   * Present for callers that may use some models only: checks a message of the client before it is passed on. Returns the error event to send back
   * in its place where it names another model.
   */
  readonly checkClient?: (text: string, isBinary: boolean) => string | undefined
  /** To be called with the upstream's first message. */
  begun(): void
  /** An upstream's close reason, fit for the client: no host, no key, at most 123 bytes. */
  closeReason(reason: string): string
  /** Milliseconds without a message from either side until the session is ended. */
  readonly idleMs: number
  /** Milliseconds for which the client may take nothing while there are messages for it, until the session is ended. */
  readonly clientStallMs: number
  /** Milliseconds between pings to each side. */
  readonly heartbeatMs: number
  /** Largest message in bytes, in both directions. */
  readonly messageBytes: number
  /** Aborted when the gateway stops: both sides are to be closed with 1001. */
  readonly signal: Signal
  /** To be called once both sockets are gone. Later calls do nothing. */
  settle(ending: RealtimeEnding): void
}

/** A session to serve, or the plain HTTP answer to the client's upgrade. */
export type RealtimeOpening<Socket> =
  | { readonly ok: true; readonly session: RealtimeSession<Socket> }
  | { readonly ok: false; readonly reply: Reply }
