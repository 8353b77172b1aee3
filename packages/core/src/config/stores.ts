/**
 * Where responses are kept between calls: a key-value store with a time to live, as Redis is one. Values hold prompts and
 * answers. Anything may be forgotten at any time; clients are then told that the response is not there. Each promise is awaited for
 * `limits.callbackMs` at most.
 */
export interface ResponseStore {
  /** The value, or undefined where there is none (any more). Null counts as undefined; anything else is a failure of the store. */
  get(key: string): string | undefined | Promise<string | undefined>
  /**
   * @param ttlMs milliseconds after which the value may be forgotten
   * @param owner id of the identity that the value belongs to, so that a bounded store can share its room among owners
   * @throws (or rejects) if it cannot be kept: that is logged, and the client told `store: false`
   */
  set(key: string, value: string, ttlMs: number, owner?: string): void | Promise<void>
  /** @param owner as `set` received it */
  delete(key: string, owner?: string): void | Promise<void>
}

/** Why a target or a key is left alone. */
export type CooldownReason = 'failing' | 'rate_limited' | 'quota_exceeded' | 'refused'

/** A target or a key that is left alone for a while. */
export interface Cooldown {
  /** Until when, in milliseconds since 1970. */
  readonly until: number
  readonly reason: CooldownReason
}

/**
 * Where it stands which targets and keys rest: all that the processes of one service need to know of each other's upstreams.
 * It is asked on the way of each call and must answer at once: an implementation for several processes answers from a copy of its own
 * and hears of changes in the background. Where it throws, or returns a promise or any value that is not a Cooldown, that is logged once a
 * minute and the target is taken to be ready. Ids are names from the configuration (`upstream/model`,
 * `upstream#2`); they hold no secrets.
 */
export interface HealthState {
  read(id: string): Cooldown | undefined
  /** `undefined`: it rests no longer. */
  write(id: string, rest: Cooldown | undefined): void
}
