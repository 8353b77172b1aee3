/** Milliseconds since 1970. */
export type Clock = () => number

/**
 * Starts a clock that never goes back: within one call a later event has a later time, even if the machine's clock is set back.
 *
 * @param notBefore in milliseconds since 1970
 */
export function startClock(notBefore: number): Clock {
  const offset = Math.max(Date.now(), notBefore) - performance.now()
  return () => offset + performance.now()
}
