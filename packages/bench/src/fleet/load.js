// Load at a fixed rate, whatever the response times are, and in a closed loop.

/** @typedef {import('./gateway-process.js').Result} Result */
/** @typedef {Result & { at: number, process: number }} TimedResult `at`: milliseconds since the start of the load */
/** @typedef {{ processes: number, perSecond: number, seconds: number, isOver?: () => boolean }} Load */

/**
 * Starts calls at a fixed rate, each in the next process in turn, and resolves when all are admitted or refused.
 * @param {Load} load @param {(process: number, call: number) => Promise<Result>} call @returns {Promise<TimedResult[]>}
 */
export async function openLoad({ processes, perSecond, seconds, isOver = () => false }, call) {
  /** @type {Promise<TimedResult>[]} */
  const calls = []
  const startedAt = performance.now()
  const total = Math.round(perSecond * seconds)
  while (calls.length < total && !isOver()) {
    const elapsed = performance.now() - startedAt
    const due = Math.min(total, dueCalls(elapsed, perSecond))
    for (let n = calls.length; n < due; n++) {
      const process = n % processes
      calls.push(call(process, n).then((result) => ({ ...result, at: elapsed, process })))
    }
    await new Promise((resolve) => setTimeout(resolve, 1))
  }
  return Promise.all(calls)
}

/** Returns how many calls have been due since the start. @param {number} elapsedMs @param {number} perSecond */
export const dueCalls = (elapsedMs, perSecond) => Math.floor((elapsedMs * perSecond) / 1000) + 1

/**
 * Makes a number of calls with a fixed number in flight.
 * @param {{ calls: number, inFlight: number }} load @param {(call: number) => Promise<unknown>} call
 */
export async function closedLoad({ calls, inFlight }, call) {
  let next = 0
  const lane = async () => {
    while (next < calls) {
      await call(next++)
      // Calls without a reservation would leave no turn to their settlements.
      await new Promise((resolve) => setImmediate(resolve))
    }
  }
  await Promise.all(Array.from({ length: inFlight }, lane))
}

/** @param {number} ms */
export const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms))
