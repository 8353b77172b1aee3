/** A value, or the promise of one: stores in this process answer at once. */
export type Awaitable<T> = T | Promise<T>

/** Whether an answer is still to come: by its shape, because clients of stores bring promises of their own making. */
export const isThenable = <T>(answer: T | PromiseLike<T>): answer is PromiseLike<T> =>
  typeof answer === 'object' && answer !== null && 'then' in answer && typeof answer.then === 'function'

/** What a promise of the host's resolves to; rejects where it does not settle within `ms`. A rejection that comes later is ignored. */
export function settleWithin<T>(pending: PromiseLike<T>, name: string, ms: number): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer: unknown = setTimeout(() => reject(new Error(`${name} did not settle within ${ms} ms`)), ms)
    // A process must not live on for a store that has gone. Timers are objects on Node only.
    if (typeof timer === 'object' && timer !== null && 'unref' in timer && typeof timer.unref === 'function')
      timer.unref()
    Promise.resolve(pending)
      .finally(() => clearTimeout(timer as ReturnType<typeof setTimeout>))
      .then(resolve, reject)
  })
}
