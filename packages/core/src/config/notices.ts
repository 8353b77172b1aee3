import type { ErrorKind } from '../base/error-kinds.ts'
import type { Operation } from '../base/names.ts'
import type { Identity } from './identity.ts'

/**
 * An event of the gateway that is not the end of a call to a model; see `Plugin.onNotice`. Never holds content of requests, a
 * credential or a token.
 */
export type GatewayNotice<I extends Identity = Identity> =
  | CallRejected<I>
  | CircuitChanged
  | CooldownStarted
  | Reconfigured
  | DrainStarted

/** A call that ended before its model was known: `onFinish` is not called for it. */
export interface CallRejected<I extends Identity = Identity> {
  readonly kind: 'call-rejected'
  readonly requestId: string
  /** Null: the caller was not authenticated. */
  readonly identity: I | null
  readonly method: string
  /** Path without its query. */
  readonly path: string
  /** Absent: no route matched. */
  readonly operation?: Operation
  readonly status: number
  readonly error: ErrorKind
  /** Message that was sent to the client, without values of its request. */
  readonly message: string
  readonly durationMs: number
}

/** The circuit breaker of a target changed its state. */
export interface CircuitChanged {
  readonly kind: 'circuit-opened' | 'circuit-half-open' | 'circuit-closed'
  readonly upstream: string
  readonly model: string
  /** Milliseconds until the next trial call. Present if opened. */
  readonly forMs?: number
  /** The circuit breaker of one caller: other callers still use the target. */
  readonly oneCaller?: true
}

/** A target or one of its keys receives no calls for some time, because the upstream requested a wait. */
export interface CooldownStarted {
  readonly kind: 'cooldown-started'
  readonly upstream: string
  /** Absent: the cooldown applies to a key, for all models. */
  readonly model?: string
  /** Index of the key in the upstream's list. */
  readonly key?: number
  readonly forMs: number
  /** Kind of the error that caused it. */
  readonly error: ErrorKind
  /** The cooldown applies to one caller: other callers still use the target or key. */
  readonly oneCaller?: true
}

/** `reconfigure` replaced the configuration. */
export interface Reconfigured {
  readonly kind: 'reconfigured'
  readonly upstreams: readonly string[]
}

/** `close` was called: the gateway accepts no new calls. */
export interface DrainStarted {
  readonly kind: 'drain-started'
  readonly activeCalls: number
}
