import type { ErrorInfo } from '../base/errors.ts'
import type { JsonObject } from '../base/json/json.ts'
import type { Logger } from '../config/config.ts'
import type { Attempt, FinishEvent } from '../config/finish-event.ts'
import type { Plugin } from '../config/plugin.ts'
import type { Inbound, Reply } from '../http/inbound.ts'
import type { Transport } from '../http/transport.ts'
import type { Hosting, Upstream } from '../upstreams/upstream.ts'

/** The bytes that running calls may still hold. */
export interface CaptureMemory {
  left: number
}

/** Settings of the captures of all calls under one configuration. */
export interface CaptureSettings {
  /** Those with `onBodies`. */
  readonly plugins: readonly Plugin[]
  readonly maxBodyBytes: number
  readonly memory: CaptureMemory
  /** All whose credentials are masked. */
  readonly upstreams: readonly Upstream[]
  readonly logger: Logger
}

/** The part of a request that its body is read from. */
export type BodySource = Pick<Inbound, 'header' | 'read' | 'stream' | 'openSpool' | 'turn'>

/** A request for a target, as far as a capture has to know it. */
export interface CapturableRequest {
  readonly lane: { readonly form?: JsonObject | undefined }
  readonly hosting?: Hosting | undefined
}

/** The methods of a stream that return bytes for the client. */
export interface ClientBytes {
  take(): Uint8Array | undefined
  heartbeat(): Uint8Array
  fail(error: ErrorInfo): Uint8Array
}

/**
 * Copies the bodies of one call for plugins with `onBodies`. Every body is copied where it passes: none is read twice, and none is held. Calls
 * have a capture only if a plugin asks for bodies.
 */
export interface CallCapture {
  /** Returns a source whose body is copied as it is read. */
  watchRequest(source: BodySource): BodySource
  /** Sets the fields of an upload, which represent the client's request. */
  setForm(fields: JsonObject): void
  /** The responses of this call contain credentials. Must be called before the first attempt. */
  withholdResponses(): void
  /**
   * Returns a transport, and a request, whose bodies are copied.
   *
   * @param index of the attempt in the call record
   */
  watchAttempt<R extends CapturableRequest>(
    index: number,
    upstream: Upstream,
    request: R,
    transport: Transport,
  ): { readonly request: R; readonly transport: Transport }
  /** Copies the bytes that the stream returns from now on. */
  watchStream(stream: ClientBytes, contentType: string): void
  /** Copies the bytes of a streamed body from now on. */
  watchBytes(body: AsyncIterable<Uint8Array>, contentType: string): void
  /** Copies a whole response. Does nothing for a streamed one, which is watched. */
  setReply(reply: Reply): void
  /**
   * Ends the capture: what arrives later is ignored. Sends the bodies to the plugins in a microtask, so that the error event of a failed
   * stream, which follows the end of its call, is included.
   *
   * @param isReported false: `onFinish` was not called, so bodies are sent only if the request was read
   */
  finish(outcome: FinishEvent['outcome'], attempts: readonly Attempt[], isReported: boolean): void
}
