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
