/** A value, or a promise of one: stores in this process return values at once. */
export type Awaitable<T> = T | Promise<T>

/** Returns whether a result is a thenable. Tested by its shape, because clients of stores may return promises of other libraries. */
export const isThenable = <T>(result: T | PromiseLike<T>): result is PromiseLike<T> =>
  typeof result === 'object' && result !== null && 'then' in result && typeof result.then === 'function'

/**
 * Returns the result of a promise that the host's code returned. Rejects if the promise does not settle within `ms`; a later
 * rejection of it is ignored.
 */
export function settleWithin<T>(pending: PromiseLike<T>, name: string, ms: number): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`${name} did not settle within ${ms} ms`)), ms)
    // A process must not stay alive for a store that is gone.
    unref(timer)
    Promise.resolve(pending)
      .finally(() => clearTimeout(timer))
      .then(resolve, reject)
  })
}

/** Lets the process end while the timer runs. On some runtimes timers are numbers, which have no `unref`. */
export function unref(timer: unknown): void {
  if (typeof timer === 'object' && timer !== null && 'unref' in timer && typeof timer.unref === 'function')
    timer.unref()
}
