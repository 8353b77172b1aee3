/** End of the previous piece of work, and of its pause. */
let previous: Promise<void> = Promise.resolve()
/** No piece starts before this time, by `performance.now()`. */
let pauseUntil = 0

/** Milliseconds. Long enough for a small call to run several turns of the event loop, short enough to delay a large body little. */
const maxPauseMs = 10

/**
 * Resolves when the caller may run one piece of long synchronous work. Pieces of all calls run one after the other. After each
 * piece comes a pause as long as the piece took (at most 10 ms): a small call needs several turns of the event loop, and must
 * not wait for a piece before each of them.
 */
export function waitForTurn(): Promise<void> {
  return new Promise((start) => {
    previous = previous.then(
      () =>
        new Promise((done) => {
          const begin = (): void => {
            const startedAt = performance.now()
            start()
            // The piece runs as a microtask of `start`, so it has ended by then.
            setImmediate(() => {
              const now = performance.now()
              pauseUntil = now + Math.min(now - startedAt, maxPauseMs)
              done()
            })
          }
          const pauseMs = pauseUntil - performance.now()
          if (pauseMs > 0.5) setTimeout(begin, pauseMs)
          else setImmediate(begin)
        }),
    )
  })
}
