import { monotonicNow } from '../base/async.ts'

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
