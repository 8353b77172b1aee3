import { type Canceller, createCanceller, unref } from '../../../base/async.ts'
import { GatewayError } from '../../../base/errors.ts'
import type { ClientSocket, ResponsesSocket, UpstreamDial } from '../../../config/responses-socket.ts'
import type { Inbound, Reply } from '../../../http/inbound.ts'
import type { Handler } from '../../route.ts'
import { type CreateFrame, FrameError, readClientFrame } from './client-frames.ts'
import type { ConnectionState } from './connection-state.ts'
import { FrameInbound, frameHandler } from './frame-call.ts'
import { errorMessage, ResponseMessages } from './server-events.ts'
import { steerFailed } from './steer.ts'
import { UpstreamSockets } from './upstream-sockets.ts'

/** Responses of one connection that run at the same time. The limits of OpenAI's WebSocket mode, read in November 2026. */
const maxRunning = 16
/** Different names of lanes on one connection. */
const maxLanes = 32
const maxAgeMs = 60 * 60 * 1000

/** Messages that wait for their lane, above which the connection is not read. Their bytes are limited to one message of the largest size. */
const maxWaiting = 16
/** Bytes that wait to be sent to the client, above which responses wait. */
const highWater = 1024 * 1024

/** A message of at least this size is read in its own turn of the event loop. */
const hugeBytes = 1024 * 1024

const goingAway = 1001
const policyViolation = 1008
const internalError = 1011

/** What a connection needs of its gateway. */
export interface SocketHost {
  /** The request that opened the connection, without what belongs to the handshake. */
  readonly upgrade: Inbound
  readonly headers: Readonly<Record<string, string>>
  readonly protocol: string | undefined
  readonly limits: {
    readonly bodyBytes: number
    readonly depth: number
    readonly values: number
    readonly clientStallMs: number
    readonly heartbeatMs: number
    readonly answerBytes: number
  }
  /** Opens WebSockets to upstreams. Undefined: upstreams are called over HTTP. */
  readonly dial: UpstreamDial | undefined
  readonly state: ConnectionState
  /** Runs a call through the whole pipeline. Never rejects. */
  run(inbound: Inbound, handler: Handler): Promise<Reply>
  /** Encodes an error of the connection itself as a reply. */
  reject(error: GatewayError): Reply
  /** Must be called when the connection has closed. */
  onClosed(): void
}

/** The requests of one `stream_id`, which run one after the other. */
interface Lane {
  readonly waiting: CreateFrame[]
  isRunning: boolean
}

/**
 * One client's WebSocket. Each `response.create` is a call of its own, with its own authentication, limits and settlement: the connection
 * only runs the calls of a lane one after the other, and passes the events of their responses on (docs/decisions/0036).
 */
export class ResponsesConnection implements ResponsesSocket {
  readonly headers: ResponsesSocket['headers']
  readonly protocol: string | undefined
  readonly messageBytes: number
  readonly clientStallMs: number
  readonly heartbeatMs: number
  readonly #host: SocketHost
  readonly #upstreams: UpstreamSockets | undefined
  #client: ClientSocket | undefined
  readonly #lanes = new Map<string, Lane>()
  readonly #running = new Set<Canceller>()
  #waitingCount = 0
  #waitingBytes = 0
  /** Messages are read in order, although a huge one waits for its turn. */
  #reading: Promise<void> | undefined
  #isPaused = false
  #isClosed = false
  /** Set once the connection accepts no more requests: how it closes when the running ones have ended. */
  #ending: { readonly error: GatewayError; readonly code: number } | undefined
  #ageTimer: ReturnType<typeof setTimeout> | undefined

  constructor(host: SocketHost) {
    const { headers, protocol, limits } = host
    this.headers = headers
    this.protocol = protocol
    this.messageBytes = limits.bodyBytes
    this.clientStallMs = limits.clientStallMs
    this.heartbeatMs = limits.heartbeatMs
    this.#host = host
    const { heartbeatMs, answerBytes } = limits
    this.#upstreams = host.dial && new UpstreamSockets(host.dial, { messageBytes: answerBytes, heartbeatMs })
  }

  open(client: ClientSocket): void {
    this.#client = client
    if (this.#isClosed) {
      client.terminate()
      return
    }
    this.#ageTimer = setTimeout(() => this.#expire(), maxAgeMs)
    unref(this.#ageTimer)
    if (this.#ending !== undefined) this.#closeIfIdle()
  }

  message(data: Uint8Array, isBinary: boolean): void {
    if (this.#isClosed) return
    if (this.#reading !== undefined || data.length >= hugeBytes) {
      const { upgrade } = this.#host
      this.#pause()
      const turn = (): Promise<void> => upgrade.turn?.() ?? Promise.resolve()
      const reading: Promise<void> = (this.#reading ?? Promise.resolve()).then(turn).then(() => {
        if (this.#reading === reading) this.#reading = undefined
        this.#read(data, isBinary)
        this.#resume()
      })
      this.#reading = reading
      return
    }
    this.#read(data, isBinary)
  }

  closed(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    clearTimeout(this.#ageTimer)
    this.#lanes.clear()
    for (const call of [...this.#running])
      call.abort(new GatewayError('cancelled', 'The client disconnected before the response was complete.'))
    this.#upstreams?.close()
    this.#host.state.clear()
    this.#host.onClosed()
  }

  /** Accepts no more requests, and closes the connection when the running ones have ended. */
  drain(error: GatewayError): void {
    this.#end(error, goingAway)
  }

  #expire(): void {
    const error = new GatewayError(
      'invalid_request',
      'Responses websocket connection limit reached (60 minutes). Create a new websocket connection to continue.',
      { code: 'websocket_connection_limit_reached' },
    )
    if (this.#ending === undefined) this.#sendError(error, undefined)
    this.#end(error, goingAway)
  }

  #end(error: GatewayError, code: number): void {
    this.#ending ??= { error, code }
    // Requests that have not begun are rejected at once.
    for (const [name, lane] of this.#lanes)
      for (const frame of lane.waiting.splice(0)) {
        this.#countWaiting(frame, -1)
        this.#sendError(error, name === '' ? undefined : name)
      }
    this.#resume()
    this.#closeIfIdle()
  }

  #closeIfIdle(): void {
    if (this.#ending !== undefined && this.#running.size === 0 && !this.#isClosed)
      this.#client?.close(this.#ending.code, reasonOf(this.#ending.error))
  }

  #read(data: Uint8Array, isBinary: boolean): void {
    if (this.#isClosed) return
    try {
      if (isBinary)
        throw new FrameError(new GatewayError('invalid_request', 'Binary messages are not supported. Send JSON text.'))
      const frame = readClientFrame(data, this.#host.limits)
      if (frame.type === 'create') this.#enqueue(frame)
      else if (frame.type === 'steer') this.#sendPaced(steerFailed(frame.event))
    } catch (error) {
      if (error instanceof FrameError) this.#sendError(error.error, error.streamId)
      else
        this.#sendError(
          new GatewayError('internal', 'The gateway failed to read the message.', { cause: error }),
          undefined,
        )
    }
  }

  #enqueue(frame: CreateFrame): void {
    if (this.#ending !== undefined) {
      this.#sendError(this.#ending.error, frame.streamId)
      return
    }
    const lane = this.#laneOf(frame.streamId)
    lane.waiting.push(frame)
    this.#countWaiting(frame, 1)
    this.#start()
    if (this.#hasMuchWaiting()) this.#pause()
  }

  #laneOf(streamId: string | undefined): Lane {
    const name = streamId ?? ''
    const known = this.#lanes.get(name)
    if (known !== undefined) return known
    if (streamId !== undefined && this.#lanes.size - (this.#lanes.has('') ? 1 : 0) >= maxLanes)
      throw new FrameError(
        new GatewayError(
          'invalid_request',
          `This WebSocket connection has reached its maximum number of distinct stream IDs (${maxLanes}). Reuse an existing stream_id or open a new WebSocket connection.`,
          { param: 'stream_id', code: 'websocket_stream_limit_reached' },
        ),
        streamId,
      )
    const lane: Lane = { waiting: [], isRunning: false }
    this.#lanes.set(name, lane)
    return lane
  }

  #countWaiting({ bytes }: CreateFrame, by: 1 | -1): void {
    this.#waitingCount += by
    this.#waitingBytes += by * bytes.length
  }

  #hasMuchWaiting(): boolean {
    return this.#waitingCount >= maxWaiting || this.#waitingBytes >= this.messageBytes
  }

  /** Starts the first request of each lane that runs none, as far as the limit of the connection allows. */
  #start(): void {
    for (const lane of this.#lanes.values()) {
      if (this.#running.size >= maxRunning) return
      if (lane.isRunning) continue
      const frame = lane.waiting.shift()
      if (frame === undefined) continue
      this.#countWaiting(frame, -1)
      lane.isRunning = true
      const signal = createCanceller()
      this.#running.add(signal)
      void this.#run(frame, signal).then(() => {
        lane.isRunning = false
        this.#running.delete(signal)
        if (this.#isClosed) return
        this.#start()
        this.#resume()
        this.#closeIfIdle()
      })
    }
  }

  /** Runs one call and sends its response. Never rejects. */
  async #run(frame: CreateFrame, signal: Canceller): Promise<void> {
    const { upgrade, state } = this.#host
    const { streamId } = frame
    try {
      const reply = await this.#host.run(
        new FrameInbound(upgrade, frame.bytes, signal),
        frameHandler(frame, state, this.#upstreams),
      )
      if (reply.status >= 400) {
        state.evict(streamId ?? '', frame.previousResponseId)
        this.#sendPaced(errorMessage(reply, streamId))
        if (reply.status === 401) this.#end(credentialRevoked(), policyViolation)
        return
      }
      await this.#sendResponse(reply, streamId)
    } catch {
      // A response that was cut must not look complete.
      this.#client?.close(internalError, 'The response was cut off.')
    }
  }

  async #sendResponse({ headers, body }: Reply, streamId: string | undefined): Promise<void> {
    if (body === null || typeof body === 'string' || body instanceof Uint8Array)
      throw new TypeError('A response over a WebSocket is a stream')
    const messages = new ResponseMessages(streamId, headers)
    for await (const chunk of body) {
      // Leaving the loop ends the call.
      if (this.#isClosed) return
      for (const message of messages.push(chunk)) {
        const written = this.#send(message)
        if (written !== undefined) await written
      }
    }
  }

  /** Sends a message. Resolves at once unless the client reads too slowly. */
  #send(message: Uint8Array): Promise<void> | undefined {
    const client = this.#client
    if (client === undefined || this.#isClosed) return undefined
    if (client.bufferedAmount < highWater) {
      client.send(message)
      return undefined
    }
    return new Promise((resolve) => client.send(message, resolve))
  }

  #sendError(error: GatewayError, streamId: string | undefined): void {
    this.#sendPaced(errorMessage(this.#host.reject(error), streamId))
  }

  /** Sends a message that answers one of the client. A client that does not read its answers is not read either. */
  #sendPaced(message: Uint8Array): void {
    const client = this.#client
    if (client === undefined || this.#isClosed) return
    if (client.bufferedAmount < highWater) {
      client.send(message)
      return
    }
    this.#pause()
    client.send(message, () => this.#resume())
  }

  #pause(): void {
    if (this.#isPaused || this.#isClosed) return
    this.#isPaused = true
    this.#client?.pause()
  }

  #resume(): void {
    if (!this.#isPaused || this.#isClosed || this.#reading !== undefined || this.#hasMuchWaiting()) return
    this.#isPaused = false
    this.#client?.resume()
  }
}

const credentialRevoked = (): GatewayError =>
  new GatewayError('authentication', 'The credential of this connection is no longer accepted.')

/** A close frame holds 123 bytes of text. */
const reasonOf = ({ message }: GatewayError): string => message.slice(0, 120)
