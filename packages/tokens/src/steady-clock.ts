/**
 * A clock in milliseconds since 1970 that is never set: the time of day when it was made, and what has passed since. For windows and
 * lifetimes, which a step of the system's time must neither end nor prolong. Calendar periods and timestamps need `Date.now`.
 */
export function steadyClock(): () => number {
  const offset = Date.now() - performance.now()
  return () => Math.floor(offset + performance.now())
}
