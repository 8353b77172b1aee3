import type { Plugin } from '@modelgate/core'
import type { Authorize } from '../authorization.ts'

/** Part of a usage report that the console reads. The whole report is sent to the page. */
export interface UsageReport {
  readonly from: string
  readonly to: string
  readonly currency?: string
  readonly rows: readonly {
    readonly token: string | null
    readonly name?: string
    readonly model: string
    readonly day: string
    readonly calls: number
    readonly failed?: number
    readonly inputTokens: number
    readonly cachedTokens?: number
    readonly outputTokens: number
    readonly cost: number
    readonly unpriced: number
  }[]
}

/** The functions of `createTokens` that the console calls. */
export interface UsageTokens {
  /** Returns the usage of all tokens. */
  report(
    query: { readonly from?: string; readonly to?: string; readonly token?: string; readonly model?: string },
    options: { readonly signal: { readonly aborted: boolean } },
  ): Promise<UsageReport>
  /** Creates the endpoints to manage tokens. */
  routes(options: { readonly authorize: Authorize; readonly path: string }): Plugin
}

/** Options of the pages of usage and tokens. */
export interface UsageOptions {
  /**
   * Returns whether a request may read the usage of all tokens and manage them, by its method, path and headers. Called for each request to
   * `/console/api/usage` and `/console/api/tokens`. Anything but `true` is a 401. A GatewayError that it throws is sent to the client. Any
   * other error is logged and becomes a 500.
   */
  authorize: Authorize
  /** Result of `createTokens`. */
  tokens: UsageTokens
}
