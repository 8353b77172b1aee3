import { newId } from '../base/bytes.ts'
import { GatewayError } from '../base/errors.ts'
import { idHeaders } from '../calls/reply.ts'
import type { ResponsesSocketOpening } from '../config/responses-socket.ts'
import type { ResponseStore } from '../config/stores.ts'
import { type Inbound, offeredToken } from '../http/inbound.ts'
import { checkHandshake, chooseProtocol } from '../operations/realtime/handshake.ts'
import { ConnectionState } from '../operations/responses/socket/connection-state.ts'
import { ResponsesConnection, type SocketHost } from '../operations/responses/socket/socket.ts'
import { boundedStore } from '../operations/responses/store.ts'
import type { Route, RouteMatch } from '../operations/route.ts'
import { authenticate } from './authenticate.ts'
import type { ConfigSnapshot } from './snapshot.ts'

/** The largest conversation is this share of all conversations that connections keep. */
const largestConversation = 1 / 2

/** The open WebSockets of a gateway on which clients create responses. */
export class ResponsesSockets {
  readonly #open = new Set<ResponsesConnection>()
  #memory: ResponseStore | undefined
  #draining: GatewayError | undefined

  /**
   * Opens a connection for an upgrade request of an authenticated caller.
   *
   * @throws GatewayError for a handshake or a caller that is rejected
   */
  async open(
    inbound: Inbound,
    { config, shared }: ConfigSnapshot,
    host: Pick<SocketHost, 'run' | 'reject' | 'dial'>,
  ): Promise<ResponsesConnection> {
    const { limits } = shared
    checkHandshake(inbound)
    await authenticate(config.auth, inbound, upgradeAccess, limits.callbackMs, inbound.signal)
    // The gateway may have begun to shut down meanwhile.
    if (this.#draining !== undefined) throw this.#draining
    const protocol = chooseProtocol(inbound)
    this.#memory ??= boundedStore({ maxChars: limits.socketStateChars }, largestConversation)
    const id = newId('ws_')
    const connection: ResponsesConnection = new ResponsesConnection({
      ...host,
      upgrade: withoutHandshake(inbound),
      headers: idHeaders(id),
      protocol,
      limits,
      state: new ConnectionState(this.#memory, id),
      onClosed: () => void this.#open.delete(connection),
    })
    this.#open.add(connection)
    return connection
  }

  /** Closes idle connections at once, and each other one when its running calls have ended. */
  drain(error: GatewayError): void {
    this.#draining = error
    for (const connection of [...this.#open]) connection.drain(error)
  }
}

/** As for a realtime session: browsers send no preflight, and may send the token as a subprotocol. */
const upgradeAccess = { method: 'GET', operation: 'realtime', protocolKey: true } as const satisfies Partial<Route>

/** Headers of the handshake, which do not belong to the requests on the connection. */
const handshakeHeader = /^(?:connection|upgrade|content-.*|transfer-encoding|sec-websocket-.*)$/

/** Returns the upgrade request as the requests on its connection see it. */
function withoutHandshake(inbound: Inbound): Inbound {
  // A token in a header is the same one: two different ones have been rejected.
  const token = offeredToken(inbound)
  const { method, path, query, read, turn, signal } = inbound
  return {
    method,
    path,
    query,
    header(name) {
      if (token !== undefined && name === 'authorization') return `Bearer ${token}`
      return handshakeHeader.test(name) ? undefined : inbound.header(name)
    },
    read,
    ...(turn === undefined ? {} : { turn }),
    signal,
  }
}

/** What a connection needs of the gateway that opens it. */
interface OpeningGateway extends Pick<SocketHost, 'run' | 'reject' | 'dial'> {
  /** The route of the upgrade's path. */
  readonly found: RouteMatch | null
  /** Set if the gateway shuts down. */
  readonly stopped: GatewayError | undefined
}

/** Opens a connection, or returns the reply that rejects it. */
export async function openSocket(
  sockets: ResponsesSockets,
  inbound: Inbound,
  snapshot: ConfigSnapshot,
  { found, stopped, ...host }: OpeningGateway,
): Promise<ResponsesSocketOpening> {
  try {
    if (found?.route.upgrade !== 'responses')
      throw new GatewayError('not_found', 'This path does not support WebSocket.')
    if (stopped !== undefined) throw stopped
    return { ok: true, socket: await sockets.open(inbound, snapshot, host) }
  } catch (cause) {
    const error =
      cause instanceof GatewayError
        ? cause
        : new GatewayError('internal', 'The gateway failed to open the WebSocket.', { cause })
    return { ok: false, reply: host.reject(error) }
  }
}
