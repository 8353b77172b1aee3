import { type ErrorKind, errorKinds } from './error-kinds.ts'
import type { JsonObject } from './json/json.ts'
import type { UpstreamFormat } from './names.ts'

/** An error, independent of any format. docs/reference/errors.md lists the status that clients of each format receive. */
export interface ErrorInfo {
  kind: ErrorKind
  /** HTTP status, unless the client's format has another one for the kind (529 for `overloaded` on messages routes). */
  status: number
  message: string
  /** The field at fault, in the client's own notation. */
  param?: string
  /** The sender's machine-readable code, if it sent one (`context_length_exceeded`). */
  code?: string
  /** Seconds until a retry can succeed. */
  retryAfter?: number
  /** Sizes for which the gateway found that a request exceeds a model's limits. */
  contextSize?: ContextSize
  /** The error object as it was received. Sent unchanged to clients of the same format. */
  raw?: { format: UpstreamFormat; value: JsonObject }
}

/** Tokens of a request that is too large for a model. */
export interface ContextSize {
  /** Estimated input tokens. */
  readonly input: number
  /** Requested output tokens. 0: the input alone is too large. */
  readonly output: number
  /** Tokens that the model accepts. */
  readonly limit: number
}

/** Optional properties of a GatewayError, in addition to kind and message. */
export type ErrorDetails = Partial<Omit<ErrorInfo, 'kind' | 'message'>> & {
  cause?: unknown
  /** Response headers that belong to the error (`allow`). */
  headers?: Record<string, string>
  /** The upstream's retry headers. */
  hints?: RetryHints
  /** The caller's remaining quota, if a limit caused the error. */
  allowance?: Allowance
  /** The message for logs, if `message` quotes the request. */
  logMessage?: string
}

/** Retry headers of an upstream, for the gateway's own retries. Clients receive `retryAfter`. */
export interface RetryHints {
  /** Milliseconds to wait before a retry. */
  readonly waitMs?: number
  /** The upstream reported that a retry is of no use. */
  readonly neverRetry?: boolean
  /** The status of the upstream's response. */
  readonly status?: number
  /** A limit of the gateway was exceeded: the upstream is not at fault. */
  readonly ours?: boolean
}

/** The symbol registry is shared by all copies of this package in a process. */
const brand = Symbol.for('modelgate.GatewayError')

/** Another version of this package may define kinds that this one cannot handle. Errors of such kinds are foreign errors. */
const isBranded = (value: unknown): boolean =>
  typeof value === 'object' &&
  value !== null &&
  brand in value &&
  'info' in value &&
  Object.hasOwn(errorKinds, (value as { readonly info: ErrorInfo }).info.kind)

/**
 * An error that is reported to the client. `info` is sent in the format of the client's route; `cause` stays in the process (logger,
 * `onFinish`) and is never sent.
 *
 * Throw it from `auth`, from `admit` of a plugin or from a plugin's route to choose the error that the client receives. The
 * constructor throws a TypeError for an unknown kind.
 *
 * @example throw new GatewayError('rate_limited', 'Too many requests. Try again in 30 seconds.', { retryAfter: 30 })
 */
export class GatewayError extends Error {
  static {
    // Set on the prototype and not declared: a symbol in the types would make the types of the two builds differ.
    Object.defineProperty(GatewayError.prototype, brand, { value: true })
  }

  /** True also for an error that another copy of this package created, such as its CommonJS build next to its ESM build. */
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
  /** The message without values of the request, for logs. Undefined: `message` quotes none. */
  readonly logMessage: string | undefined

  constructor(kind: ErrorKind, message: string, details: ErrorDetails = {}) {
    if (!Object.hasOwn(errorKinds, kind))
      throw new TypeError(`Unknown error kind '${kind}'. Use one of: ${Object.keys(errorKinds).join(', ')}.`)
    const { cause, headers, hints, allowance, logMessage, status, ...rest } = details
    super(message, cause === undefined ? undefined : { cause })
    this.info = { kind, message, status: status ?? errorKinds[kind].status, ...rest }
    this.headers = headers
    this.hints = hints
    this.allowance = allowance
    this.logMessage = logMessage
  }
}

/** Creates the error to throw from an error that was decoded from an upstream's response. */
export const errorFromInfo = ({ kind, message, ...details }: ErrorInfo): GatewayError =>
  new GatewayError(kind, message, details)

/** The state of one of a caller's quotas. */
export interface QuotaState {
  readonly limit: number
  readonly remaining: number
  /** Milliseconds until the whole `limit` is available again. */
  readonly resetMs: number
}

/** A caller's remaining quotas. Sent in the rate limit headers of the client's format. */
export interface Allowance {
  readonly requests?: QuotaState
  /** Input and output together. */
  readonly tokens?: QuotaState
  readonly inputTokens?: QuotaState
  readonly outputTokens?: QuotaState
}

/** Creates the error for a body with more values and names than `limits.values`. */
export const tooManyValues = (limit: number): GatewayError =>
  new GatewayError(
    'invalid_request',
    `The request body contains more than ${limit} values and member names. Send a smaller request.`,
  )
