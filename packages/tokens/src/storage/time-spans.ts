// The spans of time that meters count in: sliding windows, and periods of the calendar.
import type { Period } from '../contract/token.ts'

/** Two fixed windows, whose counts approximate one window that slides. */
export interface WindowCount {
  /** End of the current window, in milliseconds since 1970. */
  readonly until: number
  readonly windowMs: number
  /** Count of the current window. */
  readonly current: number
  /** Count of the window before it. */
  readonly previous: number
}

/** Returns the count of the sliding window: the current window, and the part of the previous one that it still covers. */
export function usedInWindow({ until, windowMs, current, previous }: WindowCount, now: number): number {
  if (previous === 0) return current
  // Multiplied first: 10 * (1 - 0.7) is more than 3.
  return current + Math.ceil((previous * Math.min(windowMs, until - now)) / windowMs)
}

/**
 * Returns the milliseconds until the window has room for an amount, if nothing else is counted. There is room after exactly that
 * time, and none a millisecond earlier. Returns undefined if the amount exceeds the limit.
 */
export function waitForRoom(count: WindowCount, limit: number, amount: number, now: number): number | undefined {
  const { until, windowMs, current, previous } = count
  const room = limit - amount
  if (room < 0) return undefined
  // The wait ends while the previous window slides out, or, if the current one alone exceeds the room, while that one does.
  const [sliding, slidOutAt] =
    current <= room
      ? [{ until, windowMs, current, previous }, until]
      : [{ until: until + windowMs, windowMs, current: 0, previous: current }, until + windowMs]
  if (sliding.previous === 0) return 1
  // Counted back from the end in whole milliseconds: fractions would be lost when added to a time of day.
  const coveredMs = Math.floor((windowMs * (room - sliding.current)) / sliding.previous)
  const at = slidOutAt - Math.min(windowMs, coveredMs)
  return Math.max(1, (usedInWindow(sliding, at) <= room ? at : at + 1) - now)
}

/** A span of time in milliseconds since 1970; `until` is not part of it. */
export interface Span {
  readonly from: number
  readonly until: number
}

/** End of the period `total`. A number, because JSON has no infinity. */
export const endOfTime = Number.MAX_SAFE_INTEGER

/** Returns the calendar period that contains a time, in UTC. Weeks begin on Monday. */
export function periodAt(period: Period, at: number): Span {
  if (period === 'total') return { from: 0, until: endOfTime }
  const date = new Date(at)
  const [year, month, day] = [date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate()]
  switch (period) {
    case 'day':
      return { from: Date.UTC(year, month, day), until: Date.UTC(year, month, day + 1) }
    case 'week': {
      const monday = day - ((date.getUTCDay() + 6) % 7)
      return { from: Date.UTC(year, month, monday), until: Date.UTC(year, month, monday + 7) }
    }
    case 'month':
      return { from: Date.UTC(year, month, 1), until: Date.UTC(year, month + 1, 1) }
  }
}
