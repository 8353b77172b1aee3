/** Length of the window of a limit: a name, or seconds. */
export type Window = 'second' | 'minute' | 'hour' | 'day' | number

/** Calendar period of a budget, in UTC, with weeks from Monday. `total` never resets. */
export type Period = 'day' | 'week' | 'month' | 'total'

/**
 * Maximum use of a token within a window. The window slides; two counters approximate it, so that in every span of its length about the
 * limit is admitted at most.
 */
export interface Limit {
  /** Names of the models that the limit counts, as clients send them; `*` matches anything. All of them share one count. Default: all. */
  readonly models?: string | readonly string[]
  /** Default: `'minute'`. */
  readonly window?: Window
  readonly requests?: number
  /** Input and output tokens together. */
  readonly tokens?: number
  readonly inputTokens?: number
  readonly outputTokens?: number
  /** Calls that run at the same time. The window does not apply to it. */
  readonly concurrent?: number
}

/** Maximum that a token may spend in a period. Has exactly one of `money` and `tokens`. */
export interface Budget {
  /** As for `Limit`. */
  readonly models?: string | readonly string[]
  readonly period: Period
  /** In the currency of the prices. */
  readonly money?: number
  /** Input and output tokens together. */
  readonly tokens?: number
}

/** A point in time: milliseconds since 1970, an ISO 8601 text, or a Date. */
export type Time = number | string | Date

/** Settings of a token to issue. */
export interface TokenSettings {
  /** Name for people, such as the token's purpose. */
  readonly name?: string
  /** The user or team that the token belongs to. Any text of the host. */
  readonly owner?: string
  /** Names of the models that the token may use; `*` matches anything. Default: all. */
  readonly models?: readonly string[]
  /** Default: never. */
  readonly expiresAt?: Time
  readonly limits?: Limit | readonly Limit[]
  readonly budget?: Budget | readonly Budget[]
  /** Data of the host. Plugin hooks receive it with the identity. */
  readonly metadata?: Readonly<Record<string, unknown>>
}

/** Limits and budgets of an owner, which all its tokens and identities share. */
export interface OwnerSettings {
  readonly limits?: Limit | readonly Limit[] | undefined
  readonly budget?: Budget | readonly Budget[] | undefined
  /** Parts of each budget at which `onThreshold` is called: more than 0, at most 1. Default: those of `createTokens`. */
  readonly thresholds?: readonly number[] | undefined
}

/** An owner with limits or budgets. It survives JSON unchanged. */
export interface Owner {
  readonly owner: string
  readonly limits: readonly Limit[]
  readonly budgets: readonly Budget[]
  readonly thresholds?: readonly number[]
  /** Milliseconds since 1970. */
  readonly updatedAt: number
}

/** An issued token, without its secret. Times are in milliseconds since 1970. */
export interface Token {
  readonly id: string
  readonly name?: string
  readonly owner?: string
  readonly models?: readonly string[]
  readonly limits: readonly Limit[]
  readonly budgets: readonly Budget[]
  readonly metadata?: Readonly<Record<string, unknown>>
  /** First characters of the newest secret, so that people can tell tokens apart: `mg-Ab3d`. */
  readonly hint: string
  readonly createdAt: number
  readonly expiresAt?: number
  readonly revokedAt?: number
  readonly rotatedAt?: number
}

/** A secret as stores keep it. */
export interface StoredSecret {
  /** SHA-256 of the secret, as 64 hexadecimal digits. */
  readonly digest: string
  /** Only for secrets that `rotate` replaced: end of their validity, in milliseconds since 1970. */
  readonly validUntil?: number
}

/** A token as stores keep it. It survives JSON unchanged. */
export interface TokenRecord extends Token {
  /** The newest secret is first. */
  readonly secrets: readonly StoredSecret[]
  /** Increased by one with each change. */
  readonly version: number
  /** Owners that the token had before, one for each change, the newest last; null: none. Redis stores counters by owner. */
  readonly formerOwners?: readonly (string | null)[]
}
