import type { GatewayConfig } from '../config/config.ts'
import type { Explanation } from '../config/explanation.ts'
import type { Identity } from '../config/identity.ts'
import type { GatewayStatus } from '../config/plugin.ts'
import type { ModelDescription } from '../formats/model-card.ts'
import type { Route } from '../operations/route.ts'

/** Options of `gateway.explain`. */
export interface ExplainOptions {
  /**
   * Replaces the values that a target's `defaults` and `overrides` put into a body by a placeholder, as in explanations over
   * HTTP. Set it if readers of the explanation must not see the configuration. Default: false.
   */
  readonly hideConfigured?: boolean
}

/** The return value of `createGateway`: a frozen object of bound functions. */
export interface Gateway {
  /**
   * Handles any request. An unknown path gets a JSON 404. It accepts the arguments of the global `fetch`, so an SDK can use it as its
   * `fetch`, and a runtime as its handler (`export default { fetch: gateway.fetch }`). Rejects only for arguments that are not a
   * request and, as `fetch` does, with the reason of an aborted `init.signal`.
   */
  fetch(input: Request | URL | string, init?: RequestInit): Promise<Response>
  /**
   * Rejects a WebSocket upgrade on hosts that cannot hold sockets: 426 if the same path accepts POST, 501 for realtime, 404
   * otherwise. With sockets, see `nodeUpgrade` of `@modelgate/node`.
   */
  upgrade(request: Request): Promise<Response>
  /**
   * Explains a generation request: the targets in order, the request for each with secrets masked, and the losses. No upstream is
   * called. Authenticates as the call itself does, and rejects with the GatewayError that would reject the call.
   */
  explain(input: Request | URL | string, init?: RequestInit, options?: ExplainOptions): Promise<Explanation>
  /** Every method and path of the active configuration, for printing. */
  readonly routes: readonly Route[]
  /** False with `auth: 'none'`: calls need no credential. */
  readonly requiresCredential: boolean
  /** Returns the state of the gateway and its upstreams. Calls no upstream. */
  status(): GatewayStatus
  /**
   * Describes models by their names: operations, reasoning efforts, and prices if a plugin knows them. Checks no permission and calls no
   * upstream. Names without a route are left out.
   */
  describeModels(names: readonly string[]): Promise<readonly ModelDescription[]>
  /**
   * Replaces the active configuration at once. New calls use the new one; active calls and realtime sessions end under the one they
   * began with. It keeps stored responses if the new configuration has no store, the health of upstreams with unchanged name,
   * address and credentials, and the state of plugins and of `auth` that are passed again (limits of platform tokens). `onStart` is
   * called for new plugins.
   *
   * @throws TypeError for an invalid configuration, as `createGateway` does, and any error of an `onStart`: the current configuration
   * stays active. Error after `close()`.
   */
  reconfigure<const U extends string, I extends Identity = Identity>(config: GatewayConfig<U, I>): void
  /** Rejects new calls (503), waits up to `graceMs` (default 30 s) for the active ones, then aborts them. */
  close(options?: { graceMs?: number }): Promise<void>
  /** The same as `close()`, for `await using gateway = createGateway(…)`. */
  [Symbol.asyncDispose](): Promise<void>
}
