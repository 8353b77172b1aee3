import { monotonicNow } from '../base/async.ts'
import type { TransportResponse } from '../http/transport.ts'

/** Returns bytes as a stream of one chunk. */
export async function* oneChunk(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes
}

/** Returns the content type in lower case; '' if the upstream states none. */
export const contentTypeOf = (response: TransportResponse): string =>
  (response.header('content-type') ?? '').toLowerCase()

export const isJson = (response: TransportResponse): boolean => contentTypeOf(response).includes('json')

/**
 * Creates a stream that the first pull opens, so that the wait for the upstream's headers has the same limit as the wait for its first
 * event.
 */
export const lazyStream = (open: () => Promise<AsyncIterable<Uint8Array>>): AsyncIterable<Uint8Array> =>
  new LazyStream(open)

/** Can be iterated once. */
class LazyStream implements AsyncIterableIterator<Uint8Array> {
  // Dropped after its call: it holds the request, and a stream may last long.
  #open: (() => Promise<AsyncIterable<Uint8Array>>) | undefined
  #opened: AsyncIterator<Uint8Array> | undefined
  #left = false

  constructor(open: () => Promise<AsyncIterable<Uint8Array>>) {
    this.#open = open
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  next(): Promise<IteratorResult<Uint8Array>> {
    return this.#opened === undefined ? this.#first() : this.#opened.next()
  }

  async return(): Promise<IteratorResult<Uint8Array>> {
    this.#left = true
    await this.#opened?.return?.()
    return { done: true, value: undefined }
  }

  async #first(): Promise<IteratorResult<Uint8Array>> {
    const opening = this.#open?.()
    this.#open = undefined
    if (opening === undefined) return { done: true, value: undefined }
    const opened = (await opening)[Symbol.asyncIterator]()
    this.#opened = opened
    if (!this.#left) return opened.next()
    await opened.return?.()
    return { done: true, value: undefined }
  }
}

/** The result of a pull: bytes, the end, or a timeout (`tick`). */
export type PumpItem = Uint8Array | 'end' | 'tick'

export interface PumpWaiter {
  onItem(item: PumpItem): void
  onError(error: unknown): void
}

/**
 * Pulls from a source with a time limit for each pull. After a timeout, the next call resumes the same pull, so no bytes are lost. One timer
 * serves a whole stream; it is not re-armed for each chunk.
 */
export interface Pump {
  /** See TransportResponse. Set once the response has begun. */
  delimited: boolean
  /** Rejects as the source does. */
  next(timeoutMs: number): Promise<PumpItem>
  /**
   * Does the same without a promise: calls the waiter once, perhaps before this returns. One waiter at a time.
   *
   * @param deadline by `monotonicNow`
   */
  listen(deadline: number, waiter: PumpWaiter): void
  /** Stops the timer and closes the source. A pending `next` resolves to the end. */
  close(): void
  /** Reads the rest for at most `limitMs`, so that the connection can be used again, then closes. */
  drain(limitMs: number): void
}

export const createPump = (source: AsyncIterable<Uint8Array>): Pump => new SourcePump(source)

class SourcePump implements Pump {
  delimited = false
  readonly #iterator: AsyncIterator<Uint8Array>
  #pulling = false
  #arrived: { readonly value: PumpItem } | { readonly error: unknown } | undefined
  #waiter: PumpWaiter | undefined
  #deadline = 0
  #timer: ReturnType<typeof setTimeout> | undefined
  #timerAt = 0
  #over = false

  constructor(source: AsyncIterable<Uint8Array>) {
    this.#iterator = source[Symbol.asyncIterator]()
  }

  next(timeoutMs: number): Promise<PumpItem> {
    return new Promise((onItem, onError) => this.listen(monotonicNow() + timeoutMs, { onItem, onError }))
  }

  listen(deadline: number, waiter: PumpWaiter): void {
    this.#waiter = waiter
    const arrived = this.#arrived
    if (arrived !== undefined) {
      this.#arrived = undefined
      this.#deliver(arrived)
      return
    }
    if (this.#over) {
      this.#deliver({ value: 'end' })
      return
    }
    this.#deadline = deadline
    if (!this.#pulling) {
      this.#pulling = true
      this.#iterator.next().then(this.#onItem, this.#onError)
    }
    // Bytes that are already there arrive before this microtask, and need no timer.
    if (this.#timer === undefined || this.#timerAt > this.#deadline) queueMicrotask(() => this.#arm())
  }

  close(): void {
    this.#disarm()
    if (this.#over) return
    this.#over = true
    // A failure while closing has no receiver.
    this.#iterator.return?.().catch(() => {})
    // The waiter gets the end at once: a source may close slowly, or never.
    if (this.#waiter !== undefined) this.#deliver({ value: 'end' })
  }

  drain(limitMs: number): void {
    const until = monotonicNow() + limitMs
    const step = (item: PumpItem): Promise<void> | undefined => {
      if (item !== 'end' && item !== 'tick' && monotonicNow() < until)
        return this.next(until - monotonicNow()).then(step)
      this.close()
      return undefined
    }
    this.next(limitMs)
      .then(step)
      .catch(() => this.close())
  }

  // Made once for a stream, not for each chunk: thousands of streams wait at the same time, and every minor collection copies
  // their young objects.
  readonly #onItem = (result: IteratorResult<Uint8Array>): void => {
    // A host's source may return anything. An exception here would be an unhandled rejection, and the stream would never end.
    if (typeof result !== 'object' || result === null) {
      this.#onError(new TypeError('The iterator of the body returned a value that is not an object.'))
      return
    }
    const { done, value } = result
    this.#pulling = false
    if (done === true) this.#over = true
    this.#deliver({ value: done === true ? 'end' : value })
  }
  readonly #onError = (error: unknown): void => {
    this.#pulling = false
    this.#over = true
    this.#deliver({ error })
  }

  #deliver(item: { readonly value: PumpItem } | { readonly error: unknown }): void {
    const waiter = this.#waiter
    if (waiter === undefined) {
      this.#arrived = item
      return
    }
    this.#waiter = undefined
    if ('error' in item) waiter.onError(item.error)
    else waiter.onItem(item.value)
  }

  #arm(): void {
    if (this.#waiter === undefined) return
    if (this.#timer !== undefined && this.#timerAt <= this.#deadline) return
    this.#disarm()
    this.#timerAt = this.#deadline
    // Rounded up: timers drop fractions, and one that fires early would have to be armed again.
    this.#timer = setTimeout(ring, Math.max(0, Math.ceil(this.#deadline - monotonicNow())), this)
  }

  #disarm(): void {
    if (this.#timer !== undefined) clearTimeout(this.#timer)
    this.#timer = undefined
  }

  /** Called by the timer. */
  ring(): void {
    this.#timer = undefined
    if (this.#waiter === undefined) return
    if (monotonicNow() < this.#deadline) this.#arm()
    else this.#deliver({ value: 'tick' })
  }
}

const ring = (pump: SourcePump): void => pump.ring()
