import type { Signal } from '../../../base/async.ts'
import { concatBytes } from '../../../base/bytes.ts'
import { GatewayError } from '../../../base/errors.ts'
import type { UpstreamSocket } from '../../../config/responses-socket.ts'
import { abortError, type TransportResponse } from '../../../http/transport.ts'
import { isInformational, readRefusal, readUpstreamMessage } from './upstream-messages.ts'

/** Bytes that wait to be read, above which the upstream is not read. */
const highWater = 1024 * 1024
const lowWater = 256 * 1024

/** How a request on a WebSocket began. */
export type SocketResult =
  | { readonly response: TransportResponse; readonly code: string | undefined }
  /** The WebSocket closed before a message of the response. */
  | { readonly lost: Error }

/** Creates the error of a WebSocket that was closed. */
export const connectionLost = (): Error =>
  Object.assign(new Error('The WebSocket to the upstream was closed.'), { code: 'ECONNRESET' })

/** One response: its messages become the server-sent events of a stream. */
export class RunningResponse {
  readonly #socket: UpstreamSocket
  readonly #signal: Signal
  /** Called once. `isWhole`: no further message of the response can arrive. */
  readonly #onEnd: (isWhole: boolean) => void
  readonly #events: Uint8Array[] = []
  #waitingBytes = 0
  #isPaused = false
  #hasBegun = false
  #isEnded = false
  #failure: Error | undefined
  #refusal: Uint8Array | undefined
  #wake: (() => void) | undefined

  constructor(socket: UpstreamSocket, signal: Signal, onEnd: (isWhole: boolean) => void) {
    this.#socket = socket
    this.#signal = signal
    this.#onEnd = onEnd
    signal.addEventListener('abort', this)
  }

  /** Listener of the signal. */
  handleEvent(): void {
    this.fail(abortError())
  }

  /**
   * Reads a message. Returns the id of the response if it has been completed.
   *
   * @param previousId the response before this one
   */
  push(data: Uint8Array, previousId?: string): string | undefined {
    if (this.#isEnded) return undefined
    const { type, event, isTerminal, completed } = readUpstreamMessage(data, !this.#hasBegun)
    // Some upstreams end a response twice. The second end must not be taken for this response.
    if (!this.#hasBegun && completed !== undefined && completed === previousId) return undefined
    const isError = type === 'error'
    if (isError && !this.#hasBegun) this.#refusal = data
    else this.#add(event)
    // The response may still be refused.
    if (!this.#hasBegun && isInformational(type)) return undefined
    this.#hasBegun = true
    // After an error within a response, some upstreams send its failed state and some do not.
    if (isError || isTerminal) this.#end(isTerminal || this.#refusal !== undefined)
    this.#wakeUp()
    return completed
  }

  #add(event: Uint8Array): void {
    this.#events.push(event)
    this.#waitingBytes += event.length
    if (this.#isPaused || this.#waitingBytes <= highWater) return
    this.#isPaused = true
    this.#socket.pause()
  }

  fail(error: Error): void {
    if (this.#isEnded) return
    this.#failure = error
    this.#end(false)
    this.#wakeUp()
  }

  /** Waits for the first message. */
  async begin(): Promise<SocketResult> {
    if (this.#signal.aborted) this.handleEvent()
    while (!this.#hasBegun && this.#failure === undefined) await this.#untilWoken()
    if (this.#refusal !== undefined) return refusalResult(this.#refusal)
    if (!this.#hasBegun) {
      const failure = this.#failure ?? connectionLost()
      if (this.#signal.aborted) throw failure
      return { lost: failure }
    }
    return { response: this.#response(), code: undefined }
  }

  #response(): TransportResponse {
    const stream = (): AsyncIterable<Uint8Array> => ({
      [Symbol.asyncIterator]: () => ({ next: () => this.#next(), return: async () => this.#discard() }),
    })
    return {
      status: 200,
      delimited: true,
      header: (name) => (name === 'content-type' ? 'text/event-stream; charset=utf-8' : undefined),
      async bytes(limit, onData) {
        const chunks: Uint8Array[] = []
        let size = 0
        for await (const chunk of stream()) {
          onData?.()
          size += chunk.length
          if (size > limit) throw tooLarge(limit)
          chunks.push(chunk)
        }
        return concatBytes(chunks)
      },
      stream,
      discard: () => void this.#discard(),
    }
  }

  async #next(): Promise<IteratorResult<Uint8Array>> {
    while (this.#events.length === 0 && !this.#isEnded) await this.#untilWoken()
    const value = this.#events.shift()
    if (value === undefined) {
      if (this.#failure !== undefined) throw this.#failure
      return { done: true, value: undefined }
    }
    this.#waitingBytes -= value.length
    if (this.#isPaused && this.#waitingBytes <= lowWater) this.#resume()
    return { done: false, value }
  }

  #discard(): IteratorReturnResult<undefined> {
    this.#events.length = 0
    this.#end(false)
    return { done: true, value: undefined }
  }

  /** @param isWhole the WebSocket can be used for the next request */
  #end(isWhole: boolean): void {
    if (this.#isEnded) return
    this.#isEnded = true
    this.#signal.removeEventListener('abort', this)
    if (this.#isPaused) this.#resume()
    this.#onEnd(isWhole)
  }

  #resume(): void {
    this.#isPaused = false
    this.#socket.resume()
  }

  #untilWoken(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve
    })
  }

  #wakeUp(): void {
    this.#wake?.()
    this.#wake = undefined
  }
}

function refusalResult(data: Uint8Array): SocketResult {
  const { status, headers, body, code } = readRefusal(data)
  const response: TransportResponse = {
    status,
    delimited: true,
    header: (name) => headers[name],
    async bytes(limit) {
      if (body.length > limit) throw tooLarge(limit)
      return body
    },
    async *stream() {
      yield body
    },
    discard() {},
  }
  return { response, code }
}

const tooLarge = (limit: number): GatewayError =>
  new GatewayError('upstream_bad_response', `The upstream's response is larger than ${limit} bytes.`, {
    hints: { neverRetry: true, ours: true },
  })
