/** What two fixed windows have counted; together they stand for one that slides. */
export interface WindowCount {
  /** When the running window ends, in milliseconds since 1970. */
  readonly until: number
  readonly windowMs: number
  /** In the running window. */
  readonly taken: number
  /** In the one before. */
  readonly before: number
}

/** How much the sliding window holds: of the window before, the part that it still covers. */
export function usedAt({ until, windowMs, taken, before }: WindowCount, now: number): number {
  if (before === 0) return taken
  // Multiplied first: 10 * (1 - 0.7) is more than 3.
  return taken + Math.ceil((before * Math.min(windowMs, until - now)) / windowMs)
}

/**
 * Milliseconds until there is room for an amount, if nothing else is taken; undefined: the limit itself is smaller. After
 * exactly that time there is room, and a millisecond before there is none.
 */
export function waitFor(count: WindowCount, limit: number, amount: number, now: number): number | undefined {
  const { until, windowMs, taken, before } = count
  const room = limit - amount
  if (room < 0) return undefined
  // Either enough of the window before is gone before the running one ends, or all of it, and the running one follows it.
  const [fading, fadedAt] =
    taken <= room
      ? [{ until, windowMs, taken, before }, until]
      : [{ until: until + windowMs, windowMs, taken: 0, before: taken }, until + windowMs]
  if (fading.before === 0) return 1
  // Counted back from the end, in whole milliseconds: added to the time of day, fractions would be lost.
  const covered = Math.floor((windowMs * (room - fading.taken)) / fading.before)
  const at = fadedAt - Math.min(windowMs, covered)
  return Math.max(1, (usedAt(fading, at) <= room ? at : at + 1) - now)
}
