let last: Promise<void> = Promise.resolve()
/** Until when others have the thread to themselves, by `performance.now()`. */
let restUntil = 0

/** In milliseconds: small calls have time in it for several turns, and the body itself is not held up much. */
const longestRest = 10

/**
 * A turn of the event loop for one piece of long work. Pieces queue, whosever they are, and after each there is a rest, as long as it
 * took if that was short: a small call takes several turns, and must not find a piece before each of them.
 */
export function turn(): Promise<void> {
  return new Promise((granted) => {
    last = last.then(
      () =>
        new Promise((over) => {
          const begin = (): void => {
            const begun = performance.now()
            granted()
            // By then the piece is done.
            setImmediate(() => {
              const now = performance.now()
              restUntil = now + Math.min(now - begun, longestRest)
              over()
            })
          }
          const rest = restUntil - performance.now()
          if (rest > 0.5) setTimeout(begin, rest)
          else setImmediate(begin)
        }),
    )
  })
}
