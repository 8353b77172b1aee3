/** Loss policy for requests that a translation cannot preserve completely: ignore, report in `modelgate-loss`, or reject with 400. */
export type OnLoss = 'ignore' | 'warn' | 'reject'

/**
 * The caller of a request, as returned by `auth`. Further members are passed to plugins and to the functions of the configuration.
 *
 * @example { id: 'team-42', models: ['gpt-*'], plan: 'pro' }
 */
export interface Identity {
  /** Stable, non-empty id of the caller. Usage and stored responses belong to it. */
  readonly id: string
  /** Models that the caller may use. A `*` matches any text. Default: all. */
  readonly models?: readonly string[]
  /**
   * Loss policies that the caller may request with the header `modelgate-on-loss`. Default: the configured policy and stricter ones.
   */
  readonly onLoss?: readonly OnLoss[]
  readonly [key: string]: unknown
}
