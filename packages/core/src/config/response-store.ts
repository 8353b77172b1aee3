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
