import type { ErrorInfo, ErrorKind } from './formats/ir.ts'
import type { Allowance } from './plugin.ts'

/** The status each kind of error has before a dialect's own table has its word. */
export const statusOf: Readonly<Record<ErrorKind, number>> = {
  invalid_request: 400,
  unsupported_media_type: 415,
  method_not_allowed: 405,
  request_too_large: 413,
  context_length_exceeded: 400,
  authentication: 401,
  permission: 403,
  not_found: 404,
  model_not_found: 404,
  conflict: 409,
  rate_limited: 429,
  quota_exceeded: 429,
  overloaded: 503,
  unavailable: 503,
  timeout: 408,
  internal: 500,
  not_implemented: 501,
  upstream_auth: 502,
  upstream_error: 502,
  upstream_bad_response: 502,
  upstream_truncated: 502,
  upstream_unreachable: 502,
  upstream_timeout: 504,
  upstream_connect_timeout: 504,
  upstream_idle_timeout: 502,
  upstream_total_timeout: 504,
  cancelled: 499,
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

/** An upstream's word on trying again, for the gateway's own retries; clients are told `retryAfter`. */
export interface RetryHints {
  /** Milliseconds to wait. */
  readonly waitMs?: number
  /** It says that trying again is of no use. */
  readonly hopeless?: boolean
  /** The status it said it with. */
  readonly status?: number
  /** It is a limit of our own that was hit: no fault of the upstream's. */
  readonly ours?: boolean
}

/**
 * The one error class: everything the gateway refuses or fails at. `info` is what the client is told, in whatever
 * dialect its route speaks; `cause` stays in the process (logger, onFinish) and is never sent.
 */
export class GatewayError extends Error {
  override readonly name = 'GatewayError'
  readonly info: ErrorInfo
  readonly headers: Record<string, string> | undefined
  readonly hints: RetryHints | undefined
  readonly allowance: Allowance | undefined

  constructor(kind: ErrorKind, message: string, details: ErrorDetails = {}) {
    const { cause, headers, hints, allowance, status, ...rest } = details
    super(message, cause === undefined ? undefined : { cause })
    this.info = { kind, message, status: status ?? statusOf[kind], ...rest }
    this.headers = headers
    this.hints = hints
    this.allowance = allowance
  }
}

/** An error that was read from an answer, as one to throw. */
export const errorOf = ({ kind, message, ...details }: ErrorInfo): GatewayError =>
  new GatewayError(kind, message, details)
