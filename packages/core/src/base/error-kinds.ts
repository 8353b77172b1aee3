/** Targets at which a call may be retried after an error: the same target and others, other targets only, or none. */
export type RetryScope = 'same-target' | 'other-target' | 'none'

/** Properties of one kind of error. Formats add their own names and statuses, see `error.ts` in the folder of each format. */
export interface ErrorKindProperties {
  /** HTTP status, unless the client's format has another one for the kind. */
  readonly status: number
  /** Targets at which the gateway may retry the call. Default 'none': every target would fail in the same way. */
  readonly retry?: Exclude<RetryScope, 'none'>
  /** The circuit breaker counts the error against the target. Default: the request, the caller or the key caused it. */
  readonly blamesTarget?: true
  /** Another key of the same upstream may succeed. */
  readonly otherKey?: true
  /** The upstream has too many calls (its 429, 503 or 529). Clients retry such errors themselves. */
  readonly isOverload?: true
  /** 'later': responses name a wait even if none is known. 'never': they ask SDKs not to retry. Default: the SDK decides by status. */
  readonly clientRetry?: 'later' | 'never'
  /** The upstream received the request and may bill it, although no complete response arrived. */
  readonly mayBeBilled?: true
  /** The request itself is at fault: the details of an upstream's error are for the client. */
  readonly aboutRequest?: true
  /** Under a 403, an upstream that reports this kind has accepted the credentials. */
  readonly credentialsAccepted?: true
}

/** Infers the kinds from the keys and gives all rows the same type. */
const defineErrorKinds = <Kind extends string>(
  kinds: Readonly<Record<Kind, ErrorKindProperties>>,
): Readonly<Record<Kind, ErrorKindProperties>> => kinds

/** Every kind of error, and how the gateway handles it. */
export const errorKinds = defineErrorKinds({
  invalid_request: { status: 400, aboutRequest: true, credentialsAccepted: true },
  unsupported_media_type: { status: 415 },
  method_not_allowed: { status: 405 },
  // Targets differ in what they accept: a request that is too large for one may fit another.
  request_too_large: { status: 413, retry: 'other-target', aboutRequest: true },
  context_length_exceeded: { status: 400, retry: 'other-target', aboutRequest: true, credentialsAccepted: true },
  authentication: { status: 401, clientRetry: 'never' },
  permission: { status: 403 },
  not_found: { status: 404, aboutRequest: true },
  model_not_found: { status: 404, aboutRequest: true },
  conflict: { status: 409, retry: 'same-target', aboutRequest: true },
  rate_limited: {
    status: 429,
    retry: 'same-target',
    otherKey: true,
    isOverload: true,
    clientRetry: 'later',
    credentialsAccepted: true,
  },
  quota_exceeded: {
    status: 429,
    retry: 'other-target',
    otherKey: true,
    clientRetry: 'never',
    credentialsAccepted: true,
  },
  overloaded: { status: 503, retry: 'same-target', blamesTarget: true, isOverload: true, clientRetry: 'later' },
  // A service of the gateway itself does not respond, such as the store of tokens.
  unavailable: { status: 503, clientRetry: 'later' },
  // The client sent its request too slowly. A 408 of an upstream is an `upstream_timeout`.
  timeout: { status: 408 },
  internal: { status: 500, retry: 'other-target' },
  not_implemented: { status: 501 },
  upstream_auth: { status: 502, retry: 'other-target', blamesTarget: true, otherKey: true, clientRetry: 'never' },
  upstream_error: { status: 502, retry: 'same-target', blamesTarget: true },
  upstream_bad_response: { status: 502, retry: 'same-target', blamesTarget: true, mayBeBilled: true },
  upstream_truncated: { status: 502, retry: 'same-target', blamesTarget: true, mayBeBilled: true },
  upstream_unreachable: { status: 502, retry: 'same-target', blamesTarget: true },
  // As the upstream reported it (408, 504). After a time limit of the gateway's own, an attempt goes on at other targets only, see
  // `AttemptFailure`.
  upstream_timeout: { status: 504, retry: 'same-target', blamesTarget: true, mayBeBilled: true },
  upstream_connect_timeout: { status: 504, retry: 'same-target', blamesTarget: true },
  upstream_idle_timeout: { status: 502, retry: 'other-target', blamesTarget: true, mayBeBilled: true },
  upstream_total_timeout: { status: 504, retry: 'other-target', blamesTarget: true, mayBeBilled: true },
  cancelled: { status: 499, mayBeBilled: true },
})

/** The kind of an error, from which its status, its retries and its name in each format follow. */
export type ErrorKind = keyof typeof errorKinds
