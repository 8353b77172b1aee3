import type { Socket } from 'node:net'
import { GatewayError, type Signal, type TransportRequest, type TransportResponse } from '@modelgate/core'
import type { Dispatcher } from 'undici'
import { decoded, encodingsOf } from './decode-stream.ts'
import { findHeader } from './raw-headers.ts'

/** What an exchange must know of the connection it runs on. */
export interface Connection {
  socket: Socket | undefined
  /** Answers it has given before this one. */
  answers: number
  /** What its socket died of. */
  failure: Error | undefined
}

/** Bytes held for a reader that does not come: then the upstream has to wait. */
const highWaterMark = 64 * 1024

/**
 * One call and its answer: undici's handler, the transport's response and the iterator of its body in one object, since
 * one is made for each call.
 *
 * It speaks undici 7's inner handler interface (`onConnect`, `onHeaders`, …), not the newer `onRequestStart` one: that
 * is a layer on top which turns all headers into an object, and costs 3 to 10 µs a call.
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
  #rawHeaders: Buffer[] = []
  #resumeParser: (() => void) | undefined
  #begun = false
  #paused = false
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

  onConnect(disconnect: (error?: Error) => void): void {
    clearTimeout(this.#connectTimer)
    if (this.#over) disconnect(this.#error)
    else this.#sent = true
  }

  onResponseStarted(): void {
    this.#begun = true
  }

  onHeaders(status: number, rawHeaders: Buffer[], resume: () => void): boolean {
    if (status < 200) return true
    this.status = status
    this.#rawHeaders = rawHeaders
    this.#resumeParser = resume
    this.#resend = undefined
    this.#encodings = encodingsOf(findHeader(rawHeaders, 'content-encoding'))
    this.#resolve(this)
    return true
  }

  onData(chunk: Buffer): boolean {
    if (this.#over) return true
    this.#chunks.push(chunk)
    this.#size += chunk.length
    if (this.#reader !== undefined) {
      // Not at once: what else came in the same packet goes along, and so does the end.
      if (this.#chunks.length === 1) queueMicrotask(() => this.#hand())
      return true
    }
    if (this.#collector !== undefined) {
      this.#collector.onData?.()
      if (this.#size > this.#collector.limit) this.#cancel(tooLarge(this.#collector.limit))
      return true
    }
    this.#paused = this.#size >= highWaterMark
    return !this.#paused
  }

  onComplete(): void {
    // An answer without a length ends with its connection; undici takes a reset for such an end.
    const failure = this.connection?.failure
    if (failure !== undefined) {
      this.onError(failure)
      return
    }
    if (this.connection !== undefined) this.connection.answers++
    this.#end(undefined)
  }

  onError(error: Error): void {
    if (this.#over) return
    if (this.#resend !== undefined && !this.#begun && isStale(error, this.connection)) {
      const resend = this.#resend
      this.#resend = undefined
      this.resent = true
      this.#sent = false
      this.connection = undefined
      resend(this)
      return
    }
    this.#end(error)
  }

  // ---- what the gateway calls ----

  /** undici reports a body that ends before its terminating chunk or its content-length as an error. */
  get delimited(): boolean {
    return (
      findHeader(this.#rawHeaders, 'content-length') !== undefined ||
      findHeader(this.#rawHeaders, 'transfer-encoding')?.toLowerCase().includes('chunked') === true
    )
  }

  header(name: string): string | undefined {
    // What is handed over is decoded: its encoding and its length on the wire are no longer true.
    if (this.#encodings.length > 0 && (name === 'content-encoding' || name === 'content-length')) return undefined
    return findHeader(this.#rawHeaders, name)
  }

  bytes(limit: number, onData?: () => void): Promise<Uint8Array> {
    if (this.#encodings.length > 0) return collect(this.stream(), limit, onData)
    if (this.#size > limit || Number(findHeader(this.#rawHeaders, 'content-length') ?? 0) > limit) {
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
    if (!this.#paused || this.#over) return
    this.#paused = false
    this.#resumeParser?.()
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
