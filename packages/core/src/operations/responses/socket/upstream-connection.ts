import { type Signal, unref } from '../../../base/async.ts'
import type { UpstreamDial, UpstreamSocket, UpstreamSocketRequest } from '../../../config/responses-socket.ts'
import { readUpstreamMessage } from './upstream-messages.ts'
import { connectionLost, RunningResponse, type SocketResult } from './upstream-response.ts'

/**
 * Milliseconds without a response after which a WebSocket is closed. The next request of an agent follows within seconds, while its tools
 * run. Later ones open a new WebSocket and send their whole conversation, which costs less than thousands of unused connections.
 */
const idleMs = 60_000

/**
 * Opens a WebSocket to an upstream. Resolves to undefined if the upstream refuses it.
 *
 * @param onClosed called once when the WebSocket has closed, on either side
 */
export async function connectUpstream(
  dial: UpstreamDial,
  request: Omit<UpstreamSocketRequest, 'onMessage' | 'onClose'>,
  onClosed: () => void,
): Promise<UpstreamConnection | undefined> {
  const connection = new UpstreamConnection(onClosed)
  const socket = await dial({
    ...request,
    onMessage: (data) => connection.read(data),
    onClose: () => connection.lose(),
  })
  if (socket === undefined) return undefined
  connection.attach(socket)
  return connection
}

/** One WebSocket to an upstream, on which one response runs at a time. */
export class UpstreamConnection {
  /** The latest response of the WebSocket, which the next request on it can continue. */
  latestId: string | undefined
  isClosed = false
  #socket: UpstreamSocket | undefined
  #running: RunningResponse | undefined
  #idleTimer: ReturnType<typeof setTimeout> | undefined
  readonly #onClosed: () => void

  constructor(onClosed: () => void) {
    this.#onClosed = onClosed
  }

  attach(socket: UpstreamSocket): void {
    this.#socket = socket
    if (this.isClosed) socket.terminate()
  }

  get isBusy(): boolean {
    return this.#running !== undefined
  }

  /** Sends a request. Resolves with the first message of its response. Rejects on abort, which also closes the WebSocket. */
  async send(message: string, signal: Signal): Promise<SocketResult> {
    if (this.#socket === undefined || this.isClosed) return { lost: connectionLost() }
    clearTimeout(this.#idleTimer)
    const running = new RunningResponse(this.#socket, signal, (isWhole) => this.#end(running, isWhole))
    this.#running = running
    this.#socket.send(message)
    return await running.begin()
  }

  read(data: Uint8Array): void {
    const running = this.#running
    if (running === undefined) {
      // Between two responses only an error is sent: the WebSocket is about to be closed.
      if (readUpstreamMessage(data, true).type === 'error') this.close()
      return
    }
    const completed = running.push(data, this.latestId)
    if (completed !== undefined) this.latestId = completed
  }

  /** Called when the WebSocket has closed. */
  lose(): void {
    if (this.isClosed) return
    this.isClosed = true
    clearTimeout(this.#idleTimer)
    this.#running?.fail(connectionLost())
    this.#onClosed()
  }

  close(): void {
    if (this.isClosed) return
    this.#socket?.terminate()
    this.lose()
  }

  /** The upstream forgets the response that a failed request continued. */
  forget(): void {
    this.latestId = undefined
  }

  #end(running: RunningResponse, isWhole: boolean): void {
    if (this.#running !== running) return
    this.#running = undefined
    // Its remaining messages would be taken for those of the next response.
    if (!isWhole) this.close()
    else if (!this.isClosed) {
      this.#idleTimer = setTimeout(() => this.close(), idleMs)
      unref(this.#idleTimer)
    }
  }
}
