/** Milliseconds since 1970. */
export type Clock = () => number

/**
 * The time of day that does not go back: what began earlier within a call also has the earlier time, whatever happens to
 * the machine's clock.
 *
 * @param notBefore in milliseconds since 1970
 */
export function startClock(notBefore: number): Clock {
  const offset = Math.max(Date.now(), notBefore) - performance.now()
  return () => offset + performance.now()
}
