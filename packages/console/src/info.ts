import type { PluginHost } from '@modelgate/core'

/** Response of the public `console/info.json`: no upstream names, no model names, no secrets. */
export interface Info {
  readonly name: 'modelgate'
  /** Version of this package. */
  readonly version: string
  readonly healthy: true
  readonly playground: boolean
  /** True if `POST console/explain` is available: the Playground may show what is behind the gateway. */
  readonly explain: boolean
  /** False: calls need no token. */
  readonly requiresToken: boolean
  /** True if `GET readyz` exists. */
  readonly readiness: boolean
  /** True if the page of recent calls exists; its data require authorization. */
  readonly calls: boolean
  /** True if the pages of usage and tokens exist; their data require authorization. */
  readonly usage: boolean
  /** Address of the documentation. Absent: unknown. */
  readonly documentation?: string
  readonly endpoints: readonly Endpoint[]
}

export interface Endpoint {
  readonly method: string
  readonly path: string
  readonly operation: string
  /** Format of requests and responses, for generation. */
  readonly format: string
}

/**
 * Returns the gateway's own endpoints, without those of families that repeat them. Plugin endpoints are left out: an administration API
 * need not be announced.
 */
export const endpointsOf = ({ routes }: PluginHost): readonly Endpoint[] =>
  routes
    .filter(({ operation, family }) => operation !== 'plugin' && family === undefined)
    .map(({ method, path, operation, format }) => ({ method, path, operation, format }))
