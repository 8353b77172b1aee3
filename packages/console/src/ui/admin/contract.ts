/** Use of one limit or budget of a token, as the gateway's API reports it. */
export interface CountUsage {
  readonly of: 'requests' | 'tokens' | 'inputTokens' | 'outputTokens' | 'concurrent' | 'money'
  readonly models?: readonly string[]
  /** A name, or seconds. Absent for concurrent calls. */
  readonly per?: string | number
  readonly limit: number
  readonly used: number
  readonly remaining: number
  /** Milliseconds since 1970. */
  readonly resetsAt?: number
}

/** Sums over finished calls. */
export interface Sums {
  readonly calls: number
  /** Only a ledger knows it. */
  readonly failed?: number
  readonly inputTokens: number
  readonly cachedTokens?: number
  readonly outputTokens: number
  /** In the currency of the prices. */
  readonly cost: number
  /** Calls without a price. */
  readonly unpriced: number
}

/** Times of a token that decide its state, in milliseconds since 1970. */
export interface TokenTimes {
  readonly expiresAt?: number
  readonly revokedAt?: number
  readonly rotatedAt?: number
}
