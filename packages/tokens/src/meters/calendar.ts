import type { Period } from '../token.ts'

/** A stretch of time, in milliseconds since 1970: from the first of them to before the last. */
export interface Span {
  readonly from: number
  readonly until: number
}

/** Later than any date; JSON has no word for never. */
export const never = Number.MAX_SAFE_INTEGER

/** The part of the calendar that a time is in, in UTC; weeks begin on Monday. */
export function periodAt(period: Period, at: number): Span {
  if (period === 'total') return { from: 0, until: never }
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
