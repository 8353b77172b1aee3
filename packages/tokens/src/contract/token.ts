/** A span of time that limits are counted in: a word, or seconds. */
export type Window = 'second' | 'minute' | 'hour' | 'day' | number

/** Part of the calendar, in UTC, weeks from Monday; `total` never begins anew. */
export type Period = 'day' | 'week' | 'month' | 'total'

/**
 * What a token may do within a window, at most. The window slides: two counters stand for it, so that in no span of its
 * length more than about the limit is let in.
 */
export interface Limit {
  /** Model names it holds for, as clients write them; `*` stands for anything. One count for all of them together. Default: all. */
  readonly models?: string | readonly string[]
  /** Default `'minute'`. */
  readonly window?: Window
  readonly requests?: number
  /** Input and output together. */
  readonly tokens?: number
  readonly inputTokens?: number
  readonly outputTokens?: number
  /** Calls running at the same time; the window has no meaning for it. */
  readonly concurrent?: number
}

/** What a token may spend, at most. Exactly one of `money` and `tokens`. */
export interface Budget {
  /** As for `Limit`. */
  readonly models?: string | readonly string[]
  readonly period: Period
  /** In the currency of the prices. */
  readonly money?: number
  /** Input and output together. */
  readonly tokens?: number
}

/** A point in time: milliseconds since 1970, an ISO 8601 text, or a Date. */
export type Time = number | string | Date

/** What a token is issued with. */
export interface TokenSettings {
  /** For people: what it is for. */
  readonly name?: string
  /** The user or team it belongs to, in the host's own words. */
  readonly owner?: string
  /** Model names it may use; `*` stands for anything. Default: all. */
  readonly models?: readonly string[]
  /** Default: never. */
  readonly expiresAt?: Time
  readonly limits?: Limit | readonly Limit[]
  readonly budget?: Budget | readonly Budget[]
  /** Anything else that the host wants to find again; handed to hooks with the identity. */
  readonly metadata?: Readonly<Record<string, unknown>>
}

/** What is told of a token: everything but its secret. Times in milliseconds since 1970. */
export interface Token {
  readonly id: string
  readonly name?: string
  readonly owner?: string
  readonly models?: readonly string[]
  readonly limits: readonly Limit[]
  readonly budgets: readonly Budget[]
  readonly metadata?: Readonly<Record<string, unknown>>
  /** The beginning of its newest secret, to tell tokens apart by eye: `mg-Ab3d`. */
  readonly hint: string
  readonly createdAt: number
  readonly expiresAt?: number
  readonly revokedAt?: number
  readonly rotatedAt?: number
}

/** A secret at rest. */
export interface StoredSecret {
  /** SHA-256 of the secret, as 64 hexadecimal digits. */
  readonly digest: string
  /** An older secret: until when it is still good, in milliseconds since 1970. */
  readonly validUntil?: number
}

/** A token as stores keep it. JSON through and through. */
export interface TokenRecord extends Token {
  /** The newest first. */
  readonly secrets: readonly StoredSecret[]
  /** Raised by one with each change. */
  readonly version: number
}
