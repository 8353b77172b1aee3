/** What happens when a request cannot be carried whole: nothing, a report in `modelgate-loss`, or a 400. */
export type OnLoss = 'ignore' | 'warn' | 'reject'

/** Who calls: what `auth` returns for a good credential. */
export interface Identity {
  /** Stable id of the caller, for metering and for what is stored for it. Not empty. */
  readonly id: string
  /** Model names this caller may use (`name` or `prefix*`). Default: all. */
  readonly models?: readonly string[]
  /**
   * What this caller may ask for with the header `modelgate-on-loss`, call by call. Default: what is configured and
   * everything stricter.
   */
  readonly onLoss?: readonly OnLoss[]
  readonly [key: string]: unknown
}
