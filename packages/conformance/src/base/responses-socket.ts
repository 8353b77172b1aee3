import type OpenAI from 'openai'
import { ResponsesWS } from 'openai/resources/responses/ws'

type ClientEvent = Parameters<ResponsesWS['send']>[0]
type CreateEvent = Extract<ClientEvent, { type: 'response.create' }>
export type SocketBody = Omit<CreateEvent, 'type'> & { generate?: boolean; stream_id?: string }

/** An `error` message. */
export interface SocketError {
  readonly type: 'error'
  readonly status?: number
  readonly stream_id?: string
  readonly error: {
    readonly type: string
    readonly code: string | null
    readonly message: string
    readonly param: string | null
  }
  readonly headers?: Readonly<Record<string, string>>
}

/** A message of the server. */
export interface SocketEvent {
  readonly type: string
  readonly stream_id?: string
  readonly sequence_number?: number
  readonly delta?: unknown
  readonly item?: OpenAI.Responses.ResponseOutputItem
  readonly response?: OpenAI.Responses.Response
  readonly headers?: Readonly<Record<string, string>>
}

/** The messages that answer one request. */
export interface Turn {
  readonly events: readonly SocketEvent[]
  /** Text of all deltas. */
  readonly text: string
  /** The response of the terminal event. Absent after an error. */
  readonly response?: OpenAI.Responses.Response
  readonly error?: SocketError
}

const terminal: readonly string[] = ['response.completed', 'response.incomplete', 'response.failed']

/** OpenAI's own client of a WebSocket of `/v1/responses`, which collects the messages for each request. */
export class SocketClient {
  readonly ws: ResponsesWS
  readonly events: (SocketEvent | SocketError)[] = []
  readonly closed: Promise<{ readonly code: number; readonly reason: string }>
  #wake: (() => void)[] = []
  #isClosed = false

  constructor(client: OpenAI) {
    this.ws = new ResponsesWS(client)
    this.ws.on('event', (event) => this.#add(event as unknown as SocketEvent))
    // The messages themselves are in the events.
    this.ws.on('error', () => {})
    this.closed = new Promise((resolve) =>
      this.ws.on('close', (code, reason) => {
        this.#isClosed = true
        this.#wakeAll()
        resolve({ code, reason: String(reason) })
      }),
    )
  }

  #add(event: SocketEvent): void {
    this.events.push(event)
    this.#wakeAll()
  }

  #wakeAll(): void {
    for (const wake of this.#wake.splice(0)) wake()
  }

  send(body: SocketBody): void {
    this.ws.send({ type: 'response.create', ...body } as ClientEvent)
  }

  sendRaw(text: string): void {
    this.ws.sendRaw(text)
  }

  /** Sends a request and waits for its terminal message. */
  async ask(body: SocketBody): Promise<Turn> {
    const from = this.events.length
    this.send(body)
    return await this.turn(from, body.stream_id)
  }

  /** Waits for the next terminal message of a lane, and returns the lane's messages up to it. */
  async turn(from: number, streamId?: string): Promise<Turn> {
    for (let at = from; ; at++) {
      while (at >= this.events.length) {
        if (this.#isClosed) throw new Error('The connection closed before the end of the response.')
        await new Promise<void>((resolve) => this.#wake.push(resolve))
      }
      const event = this.events[at]
      if (event === undefined || event.stream_id !== streamId) continue
      const events = this.events.slice(from, at + 1).filter((one) => one.stream_id === streamId) as SocketEvent[]
      const text = events
        .map(({ type, delta }) => (type === 'response.output_text.delta' ? String(delta) : ''))
        .join('')
      if (event.type === 'error') {
        const error = event as SocketError
        // An error within a stream is followed by the failed response.
        if (error.status !== undefined) return { events, text, error }
        const failed = await this.turn(at + 1, streamId)
        return { ...failed, events: [...events, ...failed.events], text, error }
      }
      const { response } = event as SocketEvent
      if (terminal.includes(event.type) && response !== undefined) return { events, text, response }
    }
  }

  close(): void {
    this.ws.close()
  }

  /** Breaks the connection without a closing handshake. */
  terminate(): void {
    const { socket } = this.ws as unknown as { socket: { platformSocket?: { terminate(): void }; terminate?(): void } }
    if (socket.platformSocket !== undefined) socket.platformSocket.terminate()
    else socket.terminate?.()
  }
}
