/** How much of something a caller has left. */
export interface Left {
  readonly limit: number
  readonly remaining: number
  /** Milliseconds until all of `limit` is there again. */
  readonly resetMs: number
}

/** What a caller has left before it is limited. Told in the client's own headers for that. */
export interface Allowance {
  readonly requests?: Left
  /** Input and output together. */
  readonly tokens?: Left
  readonly inputTokens?: Left
  readonly outputTokens?: Left
}
