/**
 * Creates a clock in milliseconds since 1970 that is never set: it starts at the time of day and then counts elapsed time. It is for
 * windows and lifetimes, which a change of the system's clock must neither end nor extend. Calendar periods and timestamps
 * need `Date.now`.
 */
export function steadyClock(): () => number {
  const offset = Date.now() - performance.now()
  return () => Math.floor(offset + performance.now())
}
