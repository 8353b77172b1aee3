import type { Socket } from 'node:net'
import { GatewayError, type Signal, type TransportRequest, type TransportResponse } from '@modelgate/core'
import type { Dispatcher } from 'undici'
import { decoded, encodingsOf } from './decode-stream.ts'
import type { PendingResponse } from './skip-continue.ts'

/** What an exchange must know of the connection it runs on. */
export interface Connection extends PendingResponse {
  socket: Socket | undefined
  /** Answers it has given before this one. */
  answers: number
  /** What its socket died of. */
  failure: Error | undefined
}

/** Bytes held for a reader that does not come: then the upstream has to wait. */
const highWaterMark = 64 * 1024

/**
 * One upstream call: undici's handler, the transport's response and the iterator over its body in one object, because one is
 * allocated for each call. It uses the dispatch handler interface that undici 7 and 8 both publish (`onRequestStart`, …).
 */
export class Exchange implements Dispatcher.DispatchHandler, TransportResponse, AsyncIterableIterator<Uint8Array> {
  status = 0
  resent = false
  connection: Connection | undefined
  readonly #signal: Signal
  readonly #resolve: (response: TransportResponse) => void
  readonly #reject: (error: Error) => void
  /** Sends the call again on a fresh connection; undefined if that is not wanted. */
  #resend: ((exchange: Exchange) => void) | undefined
  /** The call is on its way, on `connection`. */
  #sent = false
  #headers: IncomingHeaders = {}
  #controller: Dispatcher.DispatchController | undefined
  #begun = false
  /** The response is a 408 for an idle connection: the call is sent again after it. */
  #isTimedOut = false
  /** The last byte is in, or none will come any more. */
  #over = false
  #error: Error | undefined
  #chunks: Uint8Array[] = []
  #size = 0
  /** Whoever waits for the next chunk (`next`), or for all of them (`bytes`). */
  #reader: Reader | undefined
  #collector: Collector | undefined
  #encodings: readonly string[] = []
  /** Until a connection must stand. */
  #connectTimer: ReturnType<typeof setTimeout> | undefined

  constructor(
    request: TransportRequest,
    resolve: (response: TransportResponse) => void,
    reject: (error: Error) => void,
    resend: ((exchange: Exchange) => void) | undefined,
  ) {
    // Not the request: its body would be held as long as a stream runs.
    this.#signal = request.signal
    this.#resolve = resolve
    this.#reject = reject
    this.#resend = resend
    request.signal.addEventListener('abort', this)
    const { connectMs } = request
    if (connectMs !== undefined) this.#connectTimer = setTimeout(() => this.#cancel(noConnection(connectMs)), connectMs)
  }

  /** The signal's abort. An object as listener saves a closure, and is what removes it again. */
  handleEvent(): void {
    this.#cancel(
      Object.assign(new Error('The call was aborted.', { cause: this.#signal.reason }), { code: 'ABORT_ERR' }),
    )
  }

  // ---- what undici calls ----

  onRequestStart(controller: Dispatcher.DispatchController): void {
    clearTimeout(this.#connectTimer)
    if (this.#over) controller.abort(this.#error ?? leftEarly())
    else {
      this.#sent = true
      this.#controller = controller
      if (this.connection !== undefined) this.connection.isPending = true
    }
  }

  onResponseStarted(): void {
    this.#begun = true
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: IncomingHeaders): void {
    if (status < 200) return
    if (status === 408 && this.#resend !== undefined && this.#isOnIdleConnection(headers)) {
      this.#isTimedOut = true
      return
    }
    this.status = status
    this.#headers = headers
    this.#resend = undefined
    this.#encodings = encodingsOf(headerOf(headers, 'content-encoding'))
    this.#resolve(this)
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#over || this.#isTimedOut) return
    this.#chunks.push(chunk)
    this.#size += chunk.length
    if (this.#reader !== undefined) {
      // Not at once: what else came in the same packet goes along, and so does the end.
      if (this.#chunks.length === 1) queueMicrotask(() => this.#hand())
      return
    }
    if (this.#collector !== undefined) {
      this.#collector.onData?.()
      if (this.#size > this.#collector.limit) this.#cancel(tooLarge(this.#collector.limit))
      return
    }
    if (this.#size >= highWaterMark) controller.pause()
  }

  onResponseEnd(): void {
    if (this.#isTimedOut && !this.#over) {
      this.#sendAgain()
      return
    }
    // An answer without a length ends with its connection; undici takes a reset for such an end.
    const failure = this.connection?.failure
    if (failure !== undefined) {
      this.#fail(failure)
      return
    }
    if (this.connection !== undefined) this.connection.answers++
    this.#end(undefined)
  }

  onResponseError(_controller: Dispatcher.DispatchController | null, error: Error): void {
    this.#fail(error)
  }

  // ---- what the gateway calls ----

  /** undici reports a body that ends before its terminating chunk or its content-length as an error. */
  get delimited(): boolean {
    return (
      headerOf(this.#headers, 'content-length') !== undefined ||
      headerOf(this.#headers, 'transfer-encoding')?.toLowerCase().includes('chunked') === true
    )
  }

  header(name: string): string | undefined {
    // What is handed over is decoded: its encoding and its length on the wire are no longer true.
    if (this.#encodings.length > 0 && (name === 'content-encoding' || name === 'content-length')) return undefined
    return headerOf(this.#headers, name)
  }

  bytes(limit: number, onData?: () => void): Promise<Uint8Array> {
    if (this.#encodings.length > 0) return collect(this.stream(), limit, onData)
    if (this.#size > limit || Number(headerOf(this.#headers, 'content-length') ?? 0) > limit) {
      this.#cancel(tooLarge(limit))
      return Promise.reject(tooLarge(limit))
    }
    if (this.#over) return this.#error === undefined ? Promise.resolve(this.#take()) : Promise.reject(this.#error)
    return new Promise((resolve, reject) => {
      this.#collector = { limit, onData, resolve, reject }
      this.#unpause()
    })
  }

  stream(): AsyncIterable<Uint8Array> {
    return this.#encodings.length > 0 ? decoded(this, this.#encodings) : this
  }

  discard(): void {
    this.#chunks = []
    this.#size = 0
    if (!this.#over) this.#cancel(leftEarly())
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  next(): Promise<IteratorResult<Uint8Array, undefined>> {
    if (this.#size > 0) {
      const value = this.#take()
      this.#unpause()
      return Promise.resolve({ done: false, value })
    }
    if (this.#error !== undefined) return Promise.reject(this.#error)
    if (this.#over) return Promise.resolve({ done: true, value: undefined })
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

  // ---- inside ----

  #fail(error: Error): void {
    if (this.#over) return
    if (this.#isTimedOut || (!this.#begun && isStale(error, this.connection))) {
      if (this.#sendAgain()) return
    }
    this.#end(error)
  }

  /**
   * A 408 that closes a used connection is about the connection: the server took it for idle while the call was on its way. RFC 9110
   * (15.5.9) lets a client repeat the call on another one.
   */
  #isOnIdleConnection(headers: IncomingHeaders): boolean {
    const isUsed = this.connection !== undefined && this.connection.answers > 0
    return isUsed && headerOf(headers, 'connection')?.toLowerCase().includes('close') === true
  }

  /** Whether the call is sent once more, on a fresh connection. */
  #sendAgain(): boolean {
    const resend = this.#resend
    if (resend === undefined) return false
    this.#resend = undefined
    this.#isTimedOut = false
    this.#begun = false
    this.resent = true
    this.#sent = false
    this.connection = undefined
    resend(this)
    return true
  }

  /** Everything that is here, in one piece: an upstream's many small writes often come in one packet. */
  #take(): Uint8Array {
    const chunks = this.#chunks
    const first = chunks[0]
    const all = chunks.length === 1 && first !== undefined ? first : Buffer.concat(chunks, this.#size)
    this.#chunks = []
    this.#size = 0
    return all
  }

  /** Gives the reader what has come. */
  #hand(): void {
    const reader = this.#reader
    if (reader === undefined || this.#size === 0) return
    this.#reader = undefined
    reader.resolve({ done: false, value: this.#take() })
  }

  #unpause(): void {
    if (!this.#over) this.#controller?.resume()
  }

  #cancel(error: Error): void {
    if (this.#over) return
    this.#chunks = []
    this.#size = 0
    this.#end(error)
    // Not by undici's own abort, which opens a new connection in place of the one it closes.
    if (this.#sent) this.connection?.socket?.destroy(error)
  }

  #end(error: Error | undefined): void {
    this.#over = true
    this.#error = error
    clearTimeout(this.#connectTimer)
    this.#signal.removeEventListener('abort', this)
    if (this.status === 0) {
      const failure = error ?? new Error('The upstream ended its answer before it began.')
      this.#reject(this.resent ? Object.assign(failure, { resent: true }) : failure)
      return
    }
    // What came just before is still the reader's.
    if (this.#size > 0) this.#hand()
    const reader = this.#reader
    const collector = this.#collector
    this.#reader = undefined
    this.#collector = undefined
    if (error === undefined) {
      reader?.resolve({ done: true, value: undefined })
      collector?.resolve(this.#take())
    } else {
      reader?.reject(error)
      collector?.reject(error)
    }
  }
}

/** Names in lower case. A header that came more than once is an array. */
type IncomingHeaders = Readonly<Record<string, string | string[] | undefined>>

const headerOf = (headers: IncomingHeaders, name: string): string | undefined => {
  const value = headers[name]
  return Array.isArray(value) ? value.join(', ') : value
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
 * The keep-alive race: the upstream closed an idle connection while our request was on its way. Only then may the call
 * be sent again: the connection had answered before, and not one byte of this answer came.
 */
function isStale(error: Error & { code?: string }, connection: Connection | undefined): boolean {
  if (connection === undefined || connection.answers === 0) return false
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
  new GatewayError('upstream_bad_response', `The upstream's answer is larger than the limit of ${limit} bytes.`, {
    hints: { hopeless: true, ours: true },
  })

const noConnection = (ms: number): Error =>
  Object.assign(new Error(`No connection stood within ${ms} ms.`), { code: 'UND_ERR_CONNECT_TIMEOUT' })

const leftEarly = (): Error => Object.assign(new Error('The answer was not read to its end.'), { code: 'ABORT_ERR' })
