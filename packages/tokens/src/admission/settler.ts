import type { Logger } from '@modelgate/core'
import { isThenable, settleWithin } from '../awaitable.ts'
import type { MeterStore, Settlement } from '../meters/meter-store.ts'

/** Settlements that wait for their store, at most. */
const mostWaiting = 10_000
const firstPauseMs = 1_000
const longestPauseMs = 30_000
/** How long a settlement is tried, in milliseconds. */
const triedForMs = 300_000
/** How long a store is awaited before the settlement is sent again. */
const storeMs = 30_000
/** How long the end waits for what is under way. */
const lastWaitMs = 3_000

/** Brings settlements to their store, however long that takes; whoever settles does not wait. */
export interface Settler {
  settle(settlement: Settlement): void
  /** Resolves when all are there, or after a few seconds. */
  close(): Promise<void>
}

/** Stores settle once for a call, so that what may have arrived can be sent again. */
export function createSettler(meters: Pick<MeterStore, 'settle'>, logger: Logger): Settler {
  const waiting = new Set<Promise<void>>()
  const naps = new Set<() => void>()
  let closed = false

  const nap = (ms: number): Promise<void> =>
    new Promise((resolve) => {
      const wake = (): void => {
        clearTimeout(timer)
        naps.delete(wake)
        resolve()
      }
      const timer = setTimeout(wake, ms)
      // Nobody's process is to live for this: the store has its own means for what it could not be told.
      unref(timer)
      naps.add(wake)
    })
  const again = async (settlement: Settlement, first: unknown): Promise<void> => {
    const until = performance.now() + triedForMs
    let error = first
    for (let pause = firstPauseMs; performance.now() + pause < until; pause = Math.min(2 * pause, longestPauseMs)) {
      if (!closed) await nap(pause)
      try {
        const done = meters.settle(settlement)
        if (isThenable(done)) await settleWithin(done, 'settle of the meter store', storeMs)
        return
      } catch (cause) {
        error = cause
        if (closed) break
      }
    }
    logger.error(`modelgate: the call ${settlement.callId} could not be counted`, error)
  }
  const failed = (settlement: Settlement, error: unknown): void => {
    if (waiting.size >= mostWaiting) {
      logger.error(
        `modelgate: the call ${settlement.callId} could not be counted: too many wait for their store`,
        error,
      )
      return
    }
    track(again(settlement, error))
  }
  const track = (done: Promise<void>): void => {
    waiting.add(done)
    void done.finally(() => waiting.delete(done))
  }

  return {
    settle(settlement) {
      try {
        const done = meters.settle(settlement)
        if (!isThenable(done)) return
        const settled = settleWithin(done, 'settle of the meter store', storeMs)
        track(settled.catch((error: unknown) => failed(settlement, error)))
      } catch (error) {
        failed(settlement, error)
      }
    },
    async close() {
      closed = true
      for (const wake of naps) wake()
      let timer: ReturnType<typeof setTimeout> | undefined
      const late = new Promise<void>((resolve) => {
        timer = setTimeout(resolve, lastWaitMs)
      })
      const all = async (): Promise<void> => {
        while (waiting.size > 0) await Promise.all(waiting)
      }
      await Promise.race([all(), late])
      clearTimeout(timer)
    },
  }
}

/** Where timers are objects: they then hold no process. */
export function unref(timer: unknown): void {
  if (typeof timer === 'object' && timer !== null && 'unref' in timer && typeof timer.unref === 'function')
    timer.unref()
}
