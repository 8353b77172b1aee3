/** What `next` of a pump found: bytes, the end, or that the time was up first. */
export type Pumped = Uint8Array | 'end' | 'tick'

/**
 * Pulls from a source with a time limit on each pull, without losing what comes late: after a tick, the next call
 * resumes the same pull. One timer serves a whole stream; it is not re-armed for every chunk.
 */
export interface Pump {
  /** Rejects as the source does. */
  next(timeoutMs: number): Promise<Pumped>
  /** Stops the timer and closes the source, at once; a pending `next` finds the end. */
  close(): void
  /** Reads what is left for at most `limitMs`, so that the connection can serve again, then closes. */
  drain(limitMs: number): void
}

export const createPump = (source: AsyncIterable<Uint8Array>): Pump => new SourcePump(source)

class SourcePump implements Pump {
  readonly #iterator: AsyncIterator<Uint8Array>
  #pulling = false
  #arrived: { readonly value: Pumped } | { readonly error: unknown } | undefined
  /** Whoever waits. */
  #resolve: ((value: Pumped) => void) | undefined
  #reject: ((error: unknown) => void) | undefined
  #deadline = 0
  #timer: ReturnType<typeof setTimeout> | undefined
  #timerAt = 0
  #over = false

  constructor(source: AsyncIterable<Uint8Array>) {
    this.#iterator = source[Symbol.asyncIterator]()
  }

  next(timeoutMs: number): Promise<Pumped> {
    const arrived = this.#arrived
    if (arrived !== undefined) {
      this.#arrived = undefined
      return 'error' in arrived ? Promise.reject(arrived.error) : Promise.resolve(arrived.value)
    }
    if (this.#over) return Promise.resolve('end')
    const waiting = new Promise<Pumped>(this.#wait)
    this.#deadline = Date.now() + timeoutMs
    if (!this.#pulling) {
      this.#pulling = true
      this.#iterator.next().then(this.#onItem, this.#onError)
    }
    // What is here already needs no timer: it comes before this.
    if (this.#timer === undefined || this.#timerAt > this.#deadline) queueMicrotask(() => this.#arm())
    return waiting
  }

  close(): void {
    this.#disarm()
    if (this.#over) return
    this.#over = true
    // Whoever waits is told at once; a source may take its time, or never answer.
    if (this.#resolve !== undefined) this.#deliver({ value: 'end' })
    // A source that fails while being closed has nothing left to say.
    this.#iterator.return?.().catch(() => {})
  }

  drain(limitMs: number): void {
    const until = Date.now() + limitMs
    const step = (item: Pumped): Promise<void> | undefined => {
      if (item !== 'end' && item !== 'tick' && Date.now() < until) return this.next(until - Date.now()).then(step)
      this.close()
      return undefined
    }
    this.next(limitMs)
      .then(step)
      .catch(() => this.close())
  }

  // Made once for a stream, not for each of its chunks: thousands of streams wait at the same time, and all that they wait with
  // is carried along by every minor collection.
  readonly #wait = (resolve: (value: Pumped) => void, reject: (error: unknown) => void): void => {
    this.#resolve = resolve
    this.#reject = reject
  }
  readonly #onItem = ({ done, value }: IteratorResult<Uint8Array>): void => {
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
    const resolve = this.#resolve
    const reject = this.#reject
    if (resolve === undefined) {
      this.#arrived = item
      return
    }
    this.#resolve = undefined
    this.#reject = undefined
    if ('error' in item) reject?.(item.error)
    else resolve(item.value)
  }

  #arm(): void {
    if (this.#resolve === undefined) return
    if (this.#timer !== undefined && this.#timerAt <= this.#deadline) return
    this.#disarm()
    this.#timerAt = this.#deadline
    this.#timer = setTimeout(ring, Math.max(0, this.#deadline - Date.now()), this)
  }

  #disarm(): void {
    if (this.#timer !== undefined) clearTimeout(this.#timer)
    this.#timer = undefined
  }

  /** The timer. */
  ring(): void {
    this.#timer = undefined
    if (this.#resolve === undefined) return
    if (Date.now() < this.#deadline) this.#arm()
    else this.#deliver({ value: 'tick' })
  }
}

const ring = (pump: SourcePump): void => pump.ring()
