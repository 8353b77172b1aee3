import { type ErrorKind, errorKinds } from './error-kinds.ts'
import type { JsonObject } from './json/types.ts'
import type { UpstreamFormat } from './names.ts'

/** What went wrong, in no dialect. Which status clients of each format get for it: docs/errors.md. */
/** An error on its way between dialects. */
export interface ErrorInfo {
  kind: ErrorKind
  /** Status for the client, before the dialect's own table (529 for an overloaded messages route, say) has its word. */
  status: number
  message: string
  /** The field at fault, in the client's own notation. */
  param?: string
  /** The sender's machine-readable code, where it gave one (`context_length_exceeded`). */
  code?: string
  /** Seconds after which a retry makes sense. */
  retryAfter?: number
  /** The error object as its format wrote it; the same format writes it back. */
  raw?: { format: UpstreamFormat; value: JsonObject }
}

/** What a GatewayError may carry beside kind and message. */
export type ErrorDetails = Partial<Omit<ErrorInfo, 'kind' | 'message'>> & {
  cause?: unknown
  /** Response headers that belong to the error (`allow`). */
  headers?: Record<string, string>
  /** What the upstream said about trying again. */
  hints?: RetryHints
  /** What the caller has left, where it was limited. */
  allowance?: Allowance
}

/** Retry headers of an upstream, for the gateway's own retries. Clients receive `retryAfter`. */
export interface RetryHints {
  /** Milliseconds to wait. */
  readonly waitMs?: number
  /** It says that trying again is of no use. */
  readonly neverRetry?: boolean
  /** The status it said it with. */
  readonly status?: number
  /** It is a limit of our own that was hit: no fault of the upstream's. */
  readonly ours?: boolean
}

/** The registry of symbols is shared by all copies of this package in a process. */
const brand = Symbol.for('modelgate.GatewayError')

/** A copy of another version may know kinds that this one cannot handle. Its errors of such kinds are foreign errors. */
const isBranded = (value: unknown): boolean =>
  typeof value === 'object' &&
  value !== null &&
  brand in value &&
  'info' in value &&
  Object.hasOwn(errorKinds, (value as { readonly info: ErrorInfo }).info.kind)

/**
 * The one error class: everything the gateway refuses or fails at. `info` is what the client is told, in whatever
 * dialect its route speaks; `cause` stays in the process (logger, onFinish) and is never sent.
 */
export class GatewayError extends Error {
  static {
    // On the prototype, and not declared: a symbol in the types would make those of the two builds differ.
    Object.defineProperty(GatewayError.prototype, brand, { value: true })
  }

  /** True also for an error that another copy of this package created, such as its CommonJS build beside its ESM build. */
  static override [Symbol.hasInstance](value: unknown): boolean {
    // biome-ignore lint/complexity/noThisInStatic: a subclass inherits this method and means itself
    if (this !== GatewayError) return Function.prototype[Symbol.hasInstance].call(this, value)
    return isBranded(value)
  }

  override readonly name = 'GatewayError'
  readonly info: ErrorInfo
  readonly headers: Record<string, string> | undefined
  readonly hints: RetryHints | undefined
  readonly allowance: Allowance | undefined

  constructor(kind: ErrorKind, message: string, details: ErrorDetails = {}) {
    if (!Object.hasOwn(errorKinds, kind))
      throw new TypeError(`Unknown error kind '${kind}'. Use one of: ${Object.keys(errorKinds).join(', ')}.`)
    const { cause, headers, hints, allowance, status, ...rest } = details
    super(message, cause === undefined ? undefined : { cause })
    this.info = { kind, message, status: status ?? errorKinds[kind].status, ...rest }
    this.headers = headers
    this.hints = hints
    this.allowance = allowance
  }
}

/** An error that was read from an answer, as one to throw. */
export const errorFromInfo = ({ kind, message, ...details }: ErrorInfo): GatewayError =>
  new GatewayError(kind, message, details)

/** How much of something a caller has left. */
export interface QuotaState {
  readonly limit: number
  readonly remaining: number
  /** Milliseconds until all of `limit` is there again. */
  readonly resetMs: number
}

/** What a caller has left before it is limited. Told in the client's own headers for that. */
export interface Allowance {
  readonly requests?: QuotaState
  /** Input and output together. */
  readonly tokens?: QuotaState
  readonly inputTokens?: QuotaState
  readonly outputTokens?: QuotaState
}

/** The refusal of a body with more values and names than the limit (`limits.values`). */
export const tooManyValues = (limit: number): GatewayError =>
  new GatewayError(
    'invalid_request',
    `The request body holds more than ${limit} values and names: send less at a time.`,
  )
