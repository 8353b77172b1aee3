import { monotonicNow } from '../base/async.ts'
import { GatewayError } from '../base/errors.ts'
import type { TransportResponse } from '../http/transport.ts'
import type { Lane } from '../lanes/lane.ts'

/** All at once, as a stream. */
export async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes
}

/** In lower case, as media types are compared; '' where the upstream does not say one. */
export const contentTypeOf = (response: TransportResponse): string =>
  (response.header('content-type') ?? '').toLowerCase()

export const isJson = (response: TransportResponse): boolean => contentTypeOf(response).includes('json')

/** A media type that may stand in a header of our own, with parameters. */
const sendable = /^[\w!#$&^.+-]+\/[\w!#$&^.+-]+[ \t]*(?:;[ \t\x21-\x7e]*)?$/
const longestType = 200

/** What the client must know of bytes that pass as they are. Nothing else of the upstream's headers describes them. */
export function bodyHeaders(response: TransportResponse, length: number | undefined): Record<string, string> {
  const type = response.header('content-type') ?? ''
  return {
    'content-type': type.length <= longestType && sendable.test(type) ? type : 'application/octet-stream',
    // An upstream's bytes must not become a page or a script in a browser that guesses what they are.
    'x-content-type-options': 'nosniff',
    ...(length === undefined ? {} : { 'content-length': String(length) }),
  }
}

/**
 * How many bytes the body has, where that is known of the bytes as they are handed over: the length of an encoded body is another
 * one, and a client that reads by it would take the rest of the body for the next response.
 */
export function lengthOf(response: TransportResponse): number | undefined {
  const encoding = response.header('content-encoding') ?? ''
  const length = response.header('content-length') ?? ''
  const isEncoded = encoding !== '' && encoding.toLowerCase() !== 'identity'
  return isEncoded || !/^\d{1,15}$/.test(length) ? undefined : Number(length)
}

/** The body once its first bytes are there: until then a failure can still become a status. */
export async function awaitFirstChunk(
  response: TransportResponse,
  passes: NonNullable<Lane['passes']>,
): Promise<AsyncIterable<Uint8Array>> {
  const type = contentTypeOf(response)
  if (type.includes('html')) {
    response.discard()
    throw new GatewayError('upstream_bad_response', 'The upstream answered with a web page.')
  }
  if (passes === 'media' && /^text\/|[/+]xml/.test(type)) {
    response.discard()
    throw new GatewayError('upstream_bad_response', 'The upstream answered with text where sound was asked for.')
  }
  const source = response.stream()[Symbol.asyncIterator]()
  let first: IteratorResult<Uint8Array> | undefined = await source.next()
  if (first.done === true && !type.startsWith('text/'))
    throw new GatewayError('upstream_bad_response', 'The upstream answered with nothing.')
  return {
    [Symbol.asyncIterator]: () => ({
      next() {
        const ready = first
        first = undefined
        return ready === undefined ? source.next() : Promise.resolve(ready)
      },
      return: async () => (await source.return?.()) ?? { done: true, value: undefined },
    }),
  }
}

/**
 * A stream whose answer has not begun: opened by the first pull, so that the wait for the upstream's headers is bounded
 * like the wait for its first event.
 */
export const lazyStream = (open: () => Promise<AsyncIterable<Uint8Array>>): AsyncIterable<Uint8Array> =>
  new LazyStream(open)

/** It is iterated once. */
class LazyStream implements AsyncIterableIterator<Uint8Array> {
  // Forgotten once it has been called: it holds the request, and a stream may run for long.
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

/** What `next` of a pump found: bytes, the end, or that the time was up first. */
export type Pumped = Uint8Array | 'end' | 'tick'

export interface PumpWaiter {
  onItem(item: Pumped): void
  onError(error: unknown): void
}

/**
 * Pulls from a source with a time limit on each pull, without losing what comes late: after a tick, the next call
 * resumes the same pull. One timer serves a whole stream; it is not re-armed for every chunk.
 */
export interface Pump {
  /** See TransportResponse. Known once the source has begun. */
  delimited: boolean
  /** Rejects as the source does. */
  next(timeoutMs: number): Promise<Pumped>
  /**
   * The same without a promise: the waiter is told once, perhaps before this returns. One at a time.
   *
   * @param deadline by `monotonicNow`
   */
  listen(deadline: number, waiter: PumpWaiter): void
  /** Stops the timer and closes the source, at once; a pending `next` finds the end. */
  close(): void
  /** Reads what is left for at most `limitMs`, so that the connection can serve again, then closes. */
  drain(limitMs: number): void
}

export const createPump = (source: AsyncIterable<Uint8Array>): Pump => new SourcePump(source)

class SourcePump implements Pump {
  delimited = false
  readonly #iterator: AsyncIterator<Uint8Array>
  #pulling = false
  #arrived: { readonly value: Pumped } | { readonly error: unknown } | undefined
  #waiter: PumpWaiter | undefined
  #deadline = 0
  #timer: ReturnType<typeof setTimeout> | undefined
  #timerAt = 0
  #over = false

  constructor(source: AsyncIterable<Uint8Array>) {
    this.#iterator = source[Symbol.asyncIterator]()
  }

  next(timeoutMs: number): Promise<Pumped> {
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
    // What is here already needs no timer: it comes before this.
    if (this.#timer === undefined || this.#timerAt > this.#deadline) queueMicrotask(() => this.#arm())
  }

  close(): void {
    this.#disarm()
    if (this.#over) return
    this.#over = true
    // A source that fails while being closed has nothing left to say.
    this.#iterator.return?.().catch(() => {})
    // Whoever waits is told at once; a source may take its time, or never answer.
    if (this.#waiter !== undefined) this.#deliver({ value: 'end' })
  }

  drain(limitMs: number): void {
    const until = monotonicNow() + limitMs
    const step = (item: Pumped): Promise<void> | undefined => {
      if (item !== 'end' && item !== 'tick' && monotonicNow() < until)
        return this.next(until - monotonicNow()).then(step)
      this.close()
      return undefined
    }
    this.next(limitMs)
      .then(step)
      .catch(() => this.close())
  }

  // Made once for a stream, not for each of its chunks: thousands of streams wait at the same time, and all that they wait with
  // is carried along by every minor collection.
  readonly #onItem = (result: IteratorResult<Uint8Array>): void => {
    // A source of the host's may say anything; throwing here would be a rejection that nobody handles, and no end.
    if (typeof result !== 'object' || result === null) {
      this.#onError(new TypeError('The source gave no iterator result.'))
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

  #deliver(item: { readonly value: Pumped } | { readonly error: unknown }): void {
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
    // Rounded up: timers drop fractions, and one that is early by a part of a millisecond would ring twice.
    this.#timer = setTimeout(ring, Math.max(0, Math.ceil(this.#deadline - monotonicNow())), this)
  }

  #disarm(): void {
    if (this.#timer !== undefined) clearTimeout(this.#timer)
    this.#timer = undefined
  }

  /** The timer. */
  ring(): void {
    this.#timer = undefined
    if (this.#waiter === undefined) return
    if (monotonicNow() < this.#deadline) this.#arm()
    else this.#deliver({ value: 'tick' })
  }
}

const ring = (pump: SourcePump): void => pump.ring()
