/**
 * Stores responses between calls: a key-value store with a time to live, such as Redis. Values contain prompts and responses. A value may
 * be evicted at any time; clients then receive 404 for that response. Each promise is awaited for at most `limits.callbackMs`.
 *
 * @example
 * const store: ResponseStore = {
 *   get: async (key) => (await redis.get(key)) ?? undefined,
 *   set: async (key, value, ttlMs) => void (await redis.set(key, value, { PX: ttlMs })),
 *   delete: async (key) => void (await redis.del(key)),
 * }
 */
export interface ResponseStore {
  /** Returns a value; undefined or null if there is none. Any other value counts as a failure of the store. */
  get(key: string): string | undefined | Promise<string | undefined>
  /**
   * Stores a value. Throws or rejects if it cannot: the failure is logged, and the response to the client contains `store: false`.
   *
   * @param ttlMs milliseconds after which the value may be removed
   * @param owner id of the identity that the value belongs to, so that a bounded store can divide its space among owners
   */
  set(key: string, value: string, ttlMs: number, owner?: string): void | Promise<void>
  /**
   * Deletes a value, if it exists.
   *
   * @param owner the owner that was passed to `set`
   */
  delete(key: string, owner?: string): void | Promise<void>
}

/** Reason of a cooldown. */
export type CooldownReason = 'failing' | 'rate_limited' | 'quota_exceeded' | 'refused'

/** A time during which a target or a key is not used. */
export interface Cooldown {
  /** End of the cooldown in milliseconds since 1970. */
  readonly until: number
  readonly reason: CooldownReason
}

/**
 * Stores the cooldowns of targets and keys: the only state of upstreams that several processes of one service need to share.
 *
 * It is read synchronously several times per call. An implementation for several processes reads from its own copy, which it updates in
 * the background. If it throws, or returns a promise or another value that is not a Cooldown, the failure is logged once a minute and the
 * target counts as ready. Ids are names of the configuration (`upstream/model`, `upstream#2`) and contain no secrets.
 */
export interface HealthState {
  /** Returns the cooldown of a target or key; undefined if it has none. */
  read(id: string): Cooldown | undefined
  /** Stores a cooldown; undefined ends it. Not awaited. */
  write(id: string, cooldown: Cooldown | undefined): void
}
