import type { Socket } from 'node:net'
import { GatewayError, type Signal, type TransportRequest, type TransportResponse } from '@modelgate/core'
import { decodeStream, encodingsOf } from '../body/content-encoding.ts'
import type { PendingResponse } from './skip-continue.ts'

/** State of the connection that an exchange runs on. */
export interface Connection extends PendingResponse {
  socket: Socket | undefined
  /** Complete responses received on this connection. */
  responses: number
  /** The socket's error. */
  failure: Error | undefined
}

/** Unread bytes above which the connection is paused. */
const highWaterMark = 64 * 1024

/**
 * One upstream call: undici's handler, the transport's response and the iterator over its body in one object, because one is
 * allocated for each call. Its two subclasses differ in the handler interface that they offer to undici:
 *
 *     undici 7 ── RawExchange ────────┐
 *                                     ├─ Exchange ─ TransportResponse ─ gateway
 *     undici 8 ── ControllerExchange ─┘
 */
export abstract class Exchange implements TransportResponse, AsyncIterableIterator<Uint8Array> {
  status = 0
  resent = false
  connection: Connection | undefined
  readonly #signal: Signal
  readonly #resolve: (response: TransportResponse) => void
  readonly #reject: (error: Error) => void
  /** Sends the call again on a fresh connection; undefined if it must not be sent again. */
  #resend: ((exchange: Exchange) => void) | undefined
  /** The request is being sent or has been sent, on `connection`. */
  #isSent = false
  /** The first byte of a response has arrived. */
  #hasResponse = false
  /** The response is a 408 for an idle connection: the call is sent again after it. */
  #isTimedOut = false
  /** The body is complete, or the call has failed. */
  #isOver = false
  #error: Error | undefined
  #chunks: Uint8Array[] = []
  #size = 0
  /** The pending promise of `next`, and that of `bytes`. */
  #reader: Reader | undefined
  #collector: Collector | undefined
  #encodings: readonly string[] = []
  /** Ends the call if there is no connection in time. */
  #connectTimer: ReturnType<typeof setTimeout> | undefined

  constructor(
    request: TransportRequest,
    resolve: (response: TransportResponse) => void,
    reject: (error: Error) => void,
    resend: ((exchange: Exchange) => void) | undefined,
  ) {
    // Only the signal: a reference to the request would keep its body in memory as long as a stream runs.
    this.#signal = request.signal
    this.#resolve = resolve
    this.#reject = reject
    this.#resend = resend
    request.signal.addEventListener('abort', this)
    const { connectMs } = request
    if (connectMs !== undefined)
      this.#connectTimer = setTimeout(() => this.#cancel(connectTimeout(connectMs)), connectMs)
  }

  /** Called when the signal is aborted. The object itself is the listener, which saves a closure. */
  handleEvent(): void {
    this.#cancel(
      Object.assign(new Error('The call was aborted.', { cause: this.#signal.reason }), { code: 'ABORT_ERR' }),
    )
  }

  // ---- for the subclasses ----

  /** Returns a response header, repeated ones joined with `, `. @param name in lower case */
  protected abstract findHeader(name: string): string | undefined
  /** Resumes the parser if it is paused. */
  protected abstract resumeParser(): void

  /** @param abort ends the request, if the call is already over */
  protected handleStart(abort: (error: Error) => void): void {
    clearTimeout(this.#connectTimer)
    if (this.#isOver) abort(this.#error ?? discarded())
    else {
      this.#isSent = true
      if (this.connection !== undefined) this.connection.isPending = true
    }
  }

  /** Called by undici before it parses the headers of a response. */
  onResponseStarted(): void {
    this.#hasResponse = true
  }

  /** Handles the head of a final response, whose headers `findHeader` can find. */
  protected handleHead(status: number): void {
    if (status === 408 && this.#resend !== undefined && this.#isOnIdleConnection()) {
      this.#isTimedOut = true
      return
    }
    this.status = status
    this.#resend = undefined
    this.#encodings = encodingsOf(this.findHeader('content-encoding'))
    this.#resolve(this)
  }

  /** Returns false if the parser must pause. */
  protected handleData(chunk: Buffer): boolean {
    if (this.#isOver || this.#isTimedOut) return true
    this.#chunks.push(chunk)
    this.#size += chunk.length
    if (this.#reader !== undefined) {
      // In a microtask, so that other chunks of the same packet, and the end, are included.
      if (this.#chunks.length === 1) queueMicrotask(() => this.#resolveReader())
      return true
    }
    if (this.#collector !== undefined) {
      this.#collector.onData?.()
      if (this.#size > this.#collector.limit) this.#cancel(tooLarge(this.#collector.limit))
      return true
    }
    return this.#size < highWaterMark
  }

  protected handleEnd(): void {
    if (this.#isTimedOut && !this.#isOver) {
      this.#sendAgain()
      return
    }
    // A response without a length ends with its connection; undici also takes a reset for its end.
    const failure = this.connection?.failure
    if (failure !== undefined) {
      this.handleError(failure)
      return
    }
    if (this.connection !== undefined) this.connection.responses++
    this.#end(undefined)
  }

  protected handleError(error: Error): void {
    if (this.#isOver) return
    if (this.#isTimedOut || (!this.#hasResponse && isStale(error, this.connection))) {
      if (this.#sendAgain()) return
    }
    this.#end(error)
  }

  // ---- called by the gateway ----

  /** True if the end of the body is known: undici then reports an earlier end as an error. */
  get delimited(): boolean {
    return (
      this.findHeader('content-length') !== undefined ||
      this.findHeader('transfer-encoding')?.toLowerCase().includes('chunked') === true
    )
  }

  header(name: string): string | undefined {
    // The body is passed on decoded, so its encoding and its length no longer apply.
    if (this.#encodings.length > 0 && (name === 'content-encoding' || name === 'content-length')) return undefined
    return this.findHeader(name)
  }

  bytes(limit: number, onData?: () => void): Promise<Uint8Array> {
    if (this.#encodings.length > 0) return collect(this.stream(), limit, onData)
    if (this.#size > limit || Number(this.findHeader('content-length') ?? 0) > limit) {
      this.#cancel(tooLarge(limit))
      return Promise.reject(tooLarge(limit))
    }
    if (this.#isOver)
      return this.#error === undefined ? Promise.resolve(this.#takeBytes()) : Promise.reject(this.#error)
    return new Promise((resolve, reject) => {
      this.#collector = { limit, onData, resolve, reject }
      this.#resume()
    })
  }

  stream(): AsyncIterable<Uint8Array> {
    return this.#encodings.length > 0 ? decodeStream(this, this.#encodings) : this
  }

  discard(): void {
    this.#chunks = []
    this.#size = 0
    if (!this.#isOver) this.#cancel(discarded())
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  next(): Promise<IteratorResult<Uint8Array, undefined>> {
    if (this.#size > 0) {
      const value = this.#takeBytes()
      this.#resume()
      return Promise.resolve({ done: false, value })
    }
    if (this.#error !== undefined) return Promise.reject(this.#error)
    if (this.#isOver) return Promise.resolve({ done: true, value: undefined })
    return new Promise((resolve, reject) => {
      this.#reader = { resolve, reject }
    })
  }

  return(): Promise<IteratorResult<Uint8Array, undefined>> {
    const reader = this.#reader
    this.#reader = undefined
    reader?.resolve({ done: true, value: undefined })
    this.discard()
    return Promise.resolve({ done: true, value: undefined })
  }

  // ---- internal ----

  /**
   * A 408 with `connection: close` on a used connection means that the server closed it as idle while the call was on its way. RFC 9110
   * (15.5.9) allows a client to repeat the call on another connection.
   */
  #isOnIdleConnection(): boolean {
    const isUsed = this.connection !== undefined && this.connection.responses > 0
    return isUsed && this.findHeader('connection')?.toLowerCase().includes('close') === true
  }

  /** Sends the call once more on a fresh connection. Returns false if it must not be sent again. */
  #sendAgain(): boolean {
    const resend = this.#resend
    if (resend === undefined) return false
    this.#resend = undefined
    this.#isTimedOut = false
    this.#hasResponse = false
    this.resent = true
    this.#isSent = false
    this.connection = undefined
    resend(this)
    return true
  }

  /** Returns and removes all buffered bytes, joined: an upstream's small writes often arrive in one packet. */
  #takeBytes(): Uint8Array {
    const chunks = this.#chunks
    const first = chunks[0]
    const bytes = chunks.length === 1 && first !== undefined ? first : Buffer.concat(chunks, this.#size)
    this.#chunks = []
    this.#size = 0
    return bytes
  }

  /** Passes the buffered bytes to the pending `next`. */
  #resolveReader(): void {
    const reader = this.#reader
    if (reader === undefined || this.#size === 0) return
    this.#reader = undefined
    reader.resolve({ done: false, value: this.#takeBytes() })
  }

  #resume(): void {
    if (!this.#isOver) this.resumeParser()
  }

  #cancel(error: Error): void {
    if (this.#isOver) return
    this.#chunks = []
    this.#size = 0
    this.#end(error)
    // undici's own abort would open a new connection in place of the closed one.
    if (this.#isSent) this.connection?.socket?.destroy(error)
  }

  #end(error: Error | undefined): void {
    this.#isOver = true
    this.#error = error
    clearTimeout(this.#connectTimer)
    this.#signal.removeEventListener('abort', this)
    if (this.status === 0) {
      const failure = error ?? new Error('The upstream ended the connection without a response.')
      this.#reject(this.resent ? Object.assign(failure, { resent: true }) : failure)
      return
    }
    // Bytes that arrived before the end still belong to the reader.
    if (this.#size > 0) this.#resolveReader()
    const reader = this.#reader
    const collector = this.#collector
    this.#reader = undefined
    this.#collector = undefined
    if (error === undefined) {
      reader?.resolve({ done: true, value: undefined })
      collector?.resolve(this.#takeBytes())
    } else {
      reader?.reject(error)
      collector?.reject(error)
    }
  }
}

interface Reader {
  resolve(result: IteratorResult<Uint8Array, undefined>): void
  reject(error: Error): void
}

interface Collector {
  readonly limit: number
  readonly onData: (() => void) | undefined
  resolve(bytes: Uint8Array): void
  reject(error: Error): void
}

/**
 * Detects the keep-alive race: the upstream closed an idle connection while the request was on its way. The connection must have
 * served a response before, and no byte of this response has arrived. Only then may the call be sent again.
 */
function isStale(error: Error & { code?: string }, connection: Connection | undefined): boolean {
  if (connection === undefined || connection.responses === 0) return false
  if (error.code === 'ECONNRESET' || error.code === 'EPIPE') return true
  return error.code === 'UND_ERR_SOCKET' && (error.message === 'other side closed' || error.message === 'closed')
}

async function collect(stream: AsyncIterable<Uint8Array>, limit: number, onData?: () => void): Promise<Uint8Array> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of stream) {
    onData?.()
    size += chunk.length
    if (size > limit) throw tooLarge(limit)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks, size)
}

const tooLarge = (limit: number): GatewayError =>
  new GatewayError('upstream_bad_response', `The upstream's response is larger than the limit of ${limit} bytes.`, {
    hints: { neverRetry: true, ours: true },
  })

const connectTimeout = (ms: number): Error =>
  Object.assign(new Error(`No connection was established within ${ms} ms.`), { code: 'UND_ERR_CONNECT_TIMEOUT' })

const discarded = (): Error =>
  Object.assign(new Error('The response was discarded before its end.'), { code: 'ABORT_ERR' })
