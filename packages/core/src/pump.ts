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
  #waiter: { resolve(value: Pumped): void; reject(error: unknown): void } | undefined
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
    return new Promise((resolve, reject) => {
      this.#waiter = { resolve, reject }
      this.#deadline = Date.now() + timeoutMs
      if (!this.#pulling) this.#pull()
      // What is here already needs no timer: it comes before this.
      if (this.#timer === undefined || this.#timerAt > this.#deadline) queueMicrotask(() => this.#arm())
    })
  }

  close(): void {
    this.#disarm()
    if (this.#over) return
    this.#over = true
    // Whoever waits is told at once; a source may take its time, or never answer.
    const waiter = this.#waiter
    this.#waiter = undefined
    waiter?.resolve('end')
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

  #pull(): void {
    this.#pulling = true
    this.#iterator.next().then(
      ({ done, value }) => {
        if (done === true) this.#over = true
        this.#deliver({ value: done === true ? 'end' : value })
      },
      (error: unknown) => {
        this.#over = true
        this.#deliver({ error })
      },
    )
  }

  #deliver(item: { readonly value: Pumped } | { readonly error: unknown }): void {
    this.#pulling = false
    const waiter = this.#waiter
    if (waiter === undefined) {
      this.#arrived = item
      return
    }
    this.#waiter = undefined
    if ('error' in item) waiter.reject(item.error)
    else waiter.resolve(item.value)
  }

  #arm(): void {
    if (this.#waiter === undefined) return
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
    const waiter = this.#waiter
    if (waiter === undefined) return
    if (Date.now() < this.#deadline) {
      this.#arm()
      return
    }
    this.#waiter = undefined
    waiter.resolve('tick')
  }
}

const ring = (pump: SourcePump): void => pump.ring()
