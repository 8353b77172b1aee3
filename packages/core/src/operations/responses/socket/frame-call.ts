import type { Signal } from '../../../base/async.ts'
import { GatewayError } from '../../../base/errors.ts'
import { editJson } from '../../../base/json/edit.ts'
import { type JsonObject, scanJson } from '../../../base/json/json.ts'
import type { RequestBody } from '../../../formats/request-body.ts'
import type { Inbound } from '../../../http/inbound.ts'
import { handleGenerate } from '../../generate.ts'
import type { Handler, HandlerConfig, RoutedCall } from '../../route.ts'
import type { ConnectionRecords } from '../records.ts'
import type { CreateFrame } from './client-frames.ts'
import { connectionMembers } from './client-frames.ts'
import type { ConnectionState } from './connection-state.ts'
import { handlePrewarm } from './prewarm.ts'
import type { SocketTurn, UpstreamSockets } from './upstream-sockets.ts'

/** The request of a message: a POST to the path of the upgrade, with the headers of the upgrade. */
export class FrameInbound implements Inbound {
  readonly method = 'POST'
  readonly path: string
  readonly query = ''
  readonly signal: Signal
  readonly #upgrade: Inbound
  // Released once read, since the request lasts as long as its response.
  #bytes: Uint8Array | undefined

  /** @param upgrade the request that opened the connection */
  constructor(upgrade: Inbound, bytes: Uint8Array, signal: Signal) {
    this.path = upgrade.path
    this.signal = signal
    this.#upgrade = upgrade
    this.#bytes = bytes
  }

  header(name: string): string | undefined {
    return name === 'content-type' ? 'application/json' : this.#upgrade.header(name)
  }

  async read(limit: number): Promise<Uint8Array> {
    const bytes = this.#bytes ?? new Uint8Array(0)
    this.#bytes = undefined
    // The limit may be lower than when the connection was opened.
    if (bytes.length > limit)
      throw new GatewayError('request_too_large', `The message is larger than the limit of ${limit} bytes.`)
    return bytes
  }

  turn(): Promise<void> {
    return this.#upgrade.turn?.() ?? new Promise((resolve) => setTimeout(resolve, 0))
  }
}

/**
 * Returns the handler of a message's call: that of a POST, with the state of the connection.
 *
 * @param upstreams Undefined: upstreams are called over HTTP
 */
export const frameHandler =
  (
    { streamId = '', generates }: CreateFrame,
    state: ConnectionState,
    upstreams: UpstreamSockets | undefined,
  ): Handler =>
  (call) => {
    const { snapshot, shared, route, params, codec, inbound, record, transport, signal, end } = call
    const turn: SocketTurn = { lane: streamId, owner: record.identity?.id ?? '', continuation: undefined }
    const framed: RoutedCall = {
      snapshot: withConnection(snapshot, turn, state),
      shared,
      route,
      params,
      codec,
      inbound,
      record,
      // A configured transport or `fetch` sends every call itself.
      transport: snapshot.transport === undefined ? (upstreams?.transportFor(turn, transport) ?? transport) : transport,
      signal,
      end,
      // The connection may keep the response, so the whole request is needed.
      readBody: async (validate) => requestOf(await call.readBody(validate)),
    }
    return generates ? handleGenerate(framed) : handlePrewarm(framed)
  }

/** Adds the responses that only the connection knows to a caller's records. */
const withConnection = (snapshot: HandlerConfig, turn: SocketTurn, state: ConnectionState): HandlerConfig => ({
  ...snapshot,
  keepsResponses: true,
  async recordsOf(identity) {
    const records = await snapshot.recordsOf(identity)
    const connection: ConnectionRecords = {
      ...state.recordsFor(turn.lane, records.owner),
      continues(continuation) {
        turn.continuation = continuation
      },
    }
    return { ...records, connection }
  },
})

/** Returns the request of a message: without the members that belong to the connection, and streamed. */
function requestOf({ text, members, value }: RequestBody): RequestBody {
  const edited = editJson(text, members, { stream: true }, connectionMembers)
  const body: JsonObject = { ...value, stream: true }
  for (const member of connectionMembers) if (member !== 'stream') delete body[member]
  return {
    bytes: new TextEncoder().encode(edited),
    text: edited,
    members: scanJson(edited, Number.POSITIVE_INFINITY).members,
    value: body,
    fields: body,
  }
}
