// `@modelgate/core/adapter`: the functions of a gateway that adapters of hosts need. They may change in any minor version.
import type { RealtimeOpening, RealtimeTransport } from '../config/realtime.ts'
import type { ResponsesSocketOpening, UpstreamDial } from '../config/responses-socket.ts'
import type { Inbound, Reply } from '../http/inbound.ts'
import type { Transport } from '../http/transport.ts'
import type { RouteMatch } from '../operations/route.ts'
import type { Gateway } from './gateway.ts'

/** The functions of a gateway for adapters: they work on `Inbound` and `Reply` instead of `Request` and `Response`. */
export interface AdapterFunctions {
  /**
   * Returns the route of a method and path; null if the gateway does not serve the path. A known path with a wrong method matches, and gets a 405.
   *
   * @param sharesRoot the host has pages of its own beside the gateway's paths, and mounts the gateway without a prefix: paths that hosts often
   *   have do not match. Default: false
   */
  match(method: string, path: string, sharesRoot?: boolean): RouteMatch | null
  /** Returns the route that an upgrade of this path reaches. `route.upgrade` names what it opens; null: the gateway does not serve the path. */
  matchUpgrade(path: string, sharesRoot?: boolean): RouteMatch | null
  /**
   * Handles a request. Never rejects: every error is a reply.
   *
   * @param transport sends the upstream calls; default: the one that `gateway.fetch` uses
   */
  handle(inbound: Inbound, transport?: Transport): Promise<Reply>
  /**
   * Opens a realtime session for an upgrade request on a path that `matchUpgrade` reports as `realtime`. Connects to the upstream with
   * `dial` first: accept the client only after that. If the client's first message names the model, the result is a pending session,
   * which connects after that message. Never rejects: an error is a reply to send in place of the 101.
   */
  realtime<Socket>(inbound: Inbound, dial: RealtimeTransport<Socket>): Promise<RealtimeOpening<Socket>>
  /**
   * Opens a connection for an upgrade request on a path that `matchUpgrade` reports as `responses`. Never rejects: an error is a reply
   * to send in place of the 101.
   *
   * @param inbound kept as long as the connection: it should hold the headers only
   * @param transport sends the upstream calls; default: the one that `gateway.fetch` uses
   * @param dial opens WebSockets to upstreams that serve responses on them; default: none, so that all are called over HTTP
   */
  responses(inbound: Inbound, transport?: Transport, dial?: UpstreamDial): Promise<ResponsesSocketOpening>
  /**
   * Resolves when the modules that calls can need have been loaded, or when the first call has stopped the loading. A server that waits for
   * it before it listens has a fast first call. Never rejects.
   */
  loaded(): Promise<void>
}

/** The member that holds the functions. Its symbol is registered, because an application may load the ESM and the CommonJS build. */
const key = Symbol.for('modelgate.adapter')

/**
 * Returns the functions of a gateway that adapters of hosts need. It accepts gateways of the ESM and the CommonJS build of this
 * package, and copies with other members (`{ ...gateway, fetch }`).
 *
 * @throws TypeError if the argument is not a gateway
 */
export function adapterFunctions(gateway: Gateway): AdapterFunctions {
  const functions = (gateway as { readonly [key]?: AdapterFunctions } | null | undefined)?.[key]
  if (functions === undefined)
    throw new TypeError(
      'This is not a gateway. Pass the return value of createGateway(), from the same version of @modelgate/core.',
    )
  return functions
}

/** Sets the functions that `adapterFunctions` returns for an object, and returns the object: for wrapped gateways, and for fakes in tests. */
export function setAdapterFunctions<G extends object>(gateway: G, functions: AdapterFunctions): G {
  return Object.assign(gateway, { [key]: functions })
}
