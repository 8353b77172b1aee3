import type { Logger } from '@modelgate/core'
import { type Awaitable, isThenable, settleWithin, unref } from '../base/async.ts'
import type { MeterStore, Settlement } from '../contract/meter-store.ts'

/** Maximum number of settlements that wait for their store. */
const maxWaiting = 10_000
const firstPauseMs = 1_000
const maxPauseMs = 30_000
/** Milliseconds for which a failed settlement is retried. */
const retryForMs = 300_000
/** Milliseconds for one attempt of the store. */
const attemptMs = 30_000
/** Milliseconds that `close` waits for unfinished settlements. */
const closeMs = 3_000

/** Delivers settlements to their store, with retries. */
export interface Settler {
  /** Returns a promise if the store does. It resolves when the first attempt has ended. */
  settle(settlement: Settlement): Awaitable<void>
  /** Resolves when all settlements are delivered, or after three seconds. */
  close(): Promise<void>
}

/** Creates a settler. It may send a settlement twice, because stores count each call once. */
export function createSettler(meters: Pick<MeterStore, 'settle'>, logger: Logger): Settler {
  const waiting = new Set<Promise<void>>()
  /** Functions that end the current pauses. */
  const pauses = new Set<() => void>()
  let closed = false

  const pause = (ms: number): Promise<void> =>
    new Promise((resolve) => {
      const end = (): void => {
        clearTimeout(timer)
        pauses.delete(end)
        resolve()
      }
      const timer = setTimeout(end, ms)
      // Retries must not keep the process alive: stores recover uncounted reservations by themselves.
      unref(timer)
      pauses.add(end)
    })
  const retry = async (settlement: Settlement, firstError: unknown): Promise<void> => {
    const until = performance.now() + retryForMs
    let error = firstError
    for (let ms = firstPauseMs; performance.now() + ms < until; ms = Math.min(2 * ms, maxPauseMs)) {
      if (!closed) await pause(ms)
      try {
        const result = meters.settle(settlement)
        if (isThenable(result)) await settleWithin(result, 'settle of the meter store', attemptMs)
        return
      } catch (cause) {
        error = cause
        if (closed) break
      }
    }
    logger.error(`modelgate: the call ${settlement.callId} could not be counted`, error)
  }
  const onFailure = (settlement: Settlement, error: unknown): void => {
    if (waiting.size >= maxWaiting) {
      logger.error(
        `modelgate: the call ${settlement.callId} could not be counted, because ${maxWaiting} other calls wait for the store`,
        error,
      )
      return
    }
    track(retry(settlement, error))
  }
  const track = (pending: Promise<void>): void => {
    waiting.add(pending)
    void pending.finally(() => waiting.delete(pending))
  }

  return {
    settle(settlement) {
      try {
        const result = meters.settle(settlement)
        if (!isThenable(result)) return undefined
        const settled = settleWithin(result, 'settle of the meter store', attemptMs).catch((error: unknown) =>
          onFailure(settlement, error),
        )
        track(settled)
        return settled
      } catch (error) {
        onFailure(settlement, error)
        return undefined
      }
    },
    async close() {
      closed = true
      for (const end of pauses) end()
      let timer: ReturnType<typeof setTimeout> | undefined
      const timeout = new Promise<void>((resolve) => {
        timer = setTimeout(resolve, closeMs)
      })
      const allSettled = async (): Promise<void> => {
        while (waiting.size > 0) await Promise.all(waiting)
      }
      await Promise.race([allSettled(), timeout])
      clearTimeout(timer)
    },
  }
}
