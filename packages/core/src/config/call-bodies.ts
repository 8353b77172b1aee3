/** Bounds of the bodies that a plugin receives. */
export interface BodyLimits {
  /** Most bytes that are kept of one body. Default: 65536. */
  readonly maxBodyBytes?: number
  /** Most bytes that all running calls hold together. Bodies beyond it are not kept (`'no-memory'`). Default: 33554432 (32 MiB). */
  readonly maxRunningBytes?: number
}

/**
 * The bodies of one call, for `Plugin.onBodies`. They are copies within `Plugin.bodyLimits`: the event never holds a larger body. Credentials
 * are masked.
 */
export interface CallBodies {
  readonly requestId: string
  /** Body of the client's request. Absent: it was not read, or has no body. */
  readonly request?: CapturedBody
  /** Body of the response that the client received. Absent: the client disconnected before it began. */
  readonly response?: CapturedBody
  /** Upstream calls, in order of their start. If there are more than four, the first three and the last one. */
  readonly attempts: readonly CapturedAttempt[]
  /** Bytes of memory that this event holds. */
  readonly heldBytes: number
}

/** The bodies of one upstream call. */
export interface CapturedAttempt {
  /** Index in `FinishEvent.attempts`. */
  readonly index: number
  /** Path of the request, without its host and query. Credentials are masked. Undefined: the request was not sent. */
  readonly path: string | undefined
  /** Absent: no body was sent. */
  readonly request?: CapturedBody
  /** Absent: no response arrived. */
  readonly response?: CapturedBody
}

/**
 * What is kept of a body. `'text'`: its text. `'form'`: the fields of an upload as JSON, with name, type and size of each file. `'binary'`: its
 * type and size. `'secret'`: nothing, because it is a credential that the provider issues. `'no-memory'`: nothing, because running calls hold
 * `BodyLimits.maxRunningBytes`.
 */
export type CapturedBodyKind = 'text' | 'form' | 'binary' | 'secret' | 'no-memory'

/** A copy of one body, of limited size. */
export interface CapturedBody {
  readonly kind: CapturedBodyKind
  /** Media type as its sender states it. Undefined: it states none. */
  readonly contentType: string | undefined
  /** Bytes of the whole body, as far as it was sent or received. */
  readonly size: number
  /** The text ends before the body does. */
  readonly isCut: boolean
  /** The middle of long base64 is left out of the text. */
  readonly isShortened: boolean
  /** The whole body arrived or was sent. */
  readonly isComplete: boolean
  /**
   * Returns the text with `***` in place of credentials: those of the client, of this call and of all upstreams, and values that look like
   * one. The middle of long base64 is replaced by `…[5120 more characters]`. Empty for other kinds than `'text'` and `'form'`. Each
   * call masks it.
   */
  text(): string
}
