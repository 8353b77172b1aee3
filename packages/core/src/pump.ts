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

export function createPump(source: AsyncIterable<Uint8Array>): Pump {
  const iterator = source[Symbol.asyncIterator]()
  let pulling = false
  let arrived: { value: Pumped } | { error: unknown } | undefined
  let waiter: { resolve(value: Pumped): void; reject(error: unknown): void } | undefined
  let deadline = 0
  let timer: ReturnType<typeof setTimeout> | undefined
  let timerAt = 0
  let over = false

  const deliver = (item: { value: Pumped } | { error: unknown }): void => {
    pulling = false
    if (waiter === undefined) {
      arrived = item
      return
    }
    const { resolve, reject } = waiter
    waiter = undefined
    if ('error' in item) reject(item.error)
    else resolve(item.value)
  }
  const arm = (at: number): void => {
    if (timer !== undefined && timerAt <= at) return
    if (timer !== undefined) clearTimeout(timer)
    timerAt = at
    timer = setTimeout(ring, Math.max(0, at - Date.now()))
  }
  const ring = (): void => {
    timer = undefined
    if (waiter === undefined) return
    if (Date.now() < deadline) arm(deadline)
    else {
      const { resolve } = waiter
      waiter = undefined
      resolve('tick')
    }
  }

  const pump: Pump = {
    next(timeoutMs) {
      if (arrived !== undefined) {
        const item = arrived
        arrived = undefined
        return 'error' in item ? Promise.reject(item.error) : Promise.resolve(item.value)
      }
      if (over) return Promise.resolve('end')
      return new Promise((resolve, reject) => {
        waiter = { resolve, reject }
        deadline = Date.now() + timeoutMs
        arm(deadline)
        if (pulling) return
        pulling = true
        iterator.next().then(
          ({ done, value }) => {
            if (done === true) over = true
            deliver({ value: done === true ? 'end' : value })
          },
          (error: unknown) => {
            over = true
            deliver({ error })
          },
        )
      })
    },
    close() {
      if (timer !== undefined) clearTimeout(timer)
      timer = undefined
      if (over) return
      over = true
      // Whoever waits is told at once; a source may take its time, or never answer.
      waiter?.resolve('end')
      waiter = undefined
      // A source that fails while being closed has nothing left to say.
      iterator.return?.().catch(() => {})
    },
    drain(limitMs) {
      const until = Date.now() + limitMs
      const step = (item: Pumped): Promise<void> | undefined => {
        if (item !== 'end' && item !== 'tick' && Date.now() < until) return pump.next(until - Date.now()).then(step)
        return undefined
      }
      pump
        .next(limitMs)
        .then(step)
        .catch(() => {})
        .finally(() => pump.close())
    },
  }
  return pump
}
