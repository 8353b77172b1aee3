import type { GatewayConfig } from '../config/config.ts'
import type { Explanation } from '../config/explanation.ts'
import type { Identity } from '../config/identity.ts'
import type { Route } from '../operations/route.ts'

/** What `gateway.explain` shows. */
export interface ExplainOptions {
  /**
   * Replaces the values that a target's `defaults` and `overrides` put into a body by a placeholder, as in explanations over
   * HTTP. Set it if you show the explanation to somebody who must not see the configuration. Default: false.
   */
  readonly hideConfigured?: boolean
}

/** What `createGateway` returns: a frozen object of bound functions. */
export interface Gateway {
  /**
   * Answers any request; a path the gateway does not know gets a JSON 404. Takes what the global `fetch` takes, so that it
   * can be given to an SDK in its place, and what runtimes give their handlers (`export default { fetch: gateway.fetch }`).
   * Rejects only for arguments that are no request, and like `fetch` with the reason of `init.signal` once that is aborted.
   */
  fetch(input: Request | URL | string, init?: RequestInit): Promise<Response>
  /**
   * Answers a WebSocket upgrade with a plain response, where there is nobody to hold the sockets: 426 where the same path
   * takes POST, 501 on realtime, 404 elsewhere. With sockets, see `nodeUpgrade` of `@modelgate/node`.
   */
  upgrade(request: Request): Promise<Response>
  /**
   * What a generation request would do: the targets in order, the request each would be sent with secrets masked, and what
   * would be lost. Nobody is called. Rejects with the GatewayError that the call would be refused with. The credential is
   * checked as for the call itself.
   */
  explain(input: Request | URL | string, init?: RequestInit, options?: ExplainOptions): Promise<Explanation>
  /** Every method and path answered, for printing: those of the configuration in force. */
  readonly routes: readonly Route[]
  /**
   * Puts another configuration in place of the one in force, at once: calls that arrive from now on are answered under it, and those
   * that have begun end under the one they began with, realtime sessions included. What this process knows is kept: stored
   * responses where the new one brings no store, the health of upstreams whose name, address and credentials stay, and whatever
   * belongs to the plugins and to `auth` if the same ones are given again (limits of platform tokens). Plugins that are new
   * have their `onStart` called.
   *
   * @throws TypeError for a configuration that cannot be, in the words of `createGateway`, and whatever an `onStart` throws: the
   * old one stays in force. Error after `close()`.
   */
  reconfigure<const U extends string, I extends Identity = Identity>(config: GatewayConfig<U, I>): void
  /** Refuses new calls (503), waits up to `graceMs` (default 30 s) for the running ones, then aborts them. */
  close(options?: { graceMs?: number }): Promise<void>
  /** The same as `close()`, for `await using gateway = createGateway(…)`. */
  [Symbol.asyncDispose](): Promise<void>
}
