import type { PluginHost } from '@modelgate/core'

/** What `console/info.json` tells anybody who asks: no upstream's name, no model's, no secret. */
export interface Info {
  readonly name: 'modelgate'
  /** Of this package. */
  readonly version: string
  readonly healthy: true
  readonly playground: boolean
  /** `POST console/explain` answers: the Playground may show what is behind the gateway. */
  readonly explain: boolean
  readonly endpoints: readonly Endpoint[]
}

export interface Endpoint {
  readonly method: string
  readonly path: string
  readonly operation: string
  /** The format of requests and answers, for generation. */
  readonly format: string
}

/** The gateway's own endpoints. Those of plugins are left out: an administration need not be announced. */
export const endpointsOf = ({ routes }: PluginHost): readonly Endpoint[] =>
  routes
    .filter(({ operation }) => operation !== 'plugin')
    .map(({ method, path, operation, format }) => ({ method, path, operation, format }))
