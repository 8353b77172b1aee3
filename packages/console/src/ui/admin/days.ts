import type { Sums } from './contract.ts'

const dayMs = 86_400_000

/** First and last day, in UTC: `2026-11-24`. */
export interface DayRange {
  readonly from: string
  readonly to: string
}

/** Returns the day of a time, in UTC. */
const dayOf = (time: number): string => new Date(time).toISOString().slice(0, 10)

export const presets = [
  { id: 'today', title: 'Today' },
  { id: '7', title: '7 days' },
  { id: '30', title: '30 days' },
  { id: 'month', title: 'This month' },
] as const
export type Preset = (typeof presets)[number]['id']

/** Returns the days of a preset, which end today. */
export function rangeOf(preset: Preset, now = Date.now()): DayRange {
  const to = dayOf(now)
  if (preset === 'month') return { from: `${to.slice(0, 8)}01`, to }
  return { from: preset === 'today' ? to : dayOf(now - (Number(preset) - 1) * dayMs), to }
}

/** Returns every day of a range, in order, at most 400. */
function daysOf({ from, to }: DayRange): readonly string[] {
  const first = Date.parse(from)
  const count = Math.floor((Date.parse(to) - first) / dayMs) + 1
  if (!(count > 0)) return []
  return Array.from({ length: Math.min(count, 400) }, (_, index) => dayOf(first + index * dayMs))
}

const none = { calls: 0, inputTokens: 0, cachedTokens: 0, outputTokens: 0, cost: 0, unpriced: 0 } satisfies Sums

/** Adds sums. The number of failed calls is unknown only if no row has it. */
export const addUp = (rows: readonly Sums[]): Sums & { readonly cachedTokens: number } =>
  rows.reduce<Sums & { readonly cachedTokens: number }>(
    (total, row) => ({
      calls: total.calls + row.calls,
      ...(total.failed === undefined && row.failed === undefined
        ? {}
        : { failed: (total.failed ?? 0) + (row.failed ?? 0) }),
      inputTokens: total.inputTokens + row.inputTokens,
      cachedTokens: total.cachedTokens + (row.cachedTokens ?? 0),
      outputTokens: total.outputTokens + row.outputTokens,
      cost: total.cost + row.cost,
      unpriced: total.unpriced + row.unpriced,
    }),
    none,
  )

/** Returns the sums of each day of a range, also of days without rows. */
export function sumsByDay(
  rows: readonly (Sums & { readonly day: string })[],
  range: DayRange,
): readonly (Sums & { readonly day: string })[] {
  const byDay = new Map<string, Sums[]>()
  for (const row of rows) {
    const ofDay = byDay.get(row.day)
    if (ofDay === undefined) byDay.set(row.day, [row])
    else ofDay.push(row)
  }
  return daysOf(range).map((day) => ({ ...addUp(byDay.get(day) ?? []), day }))
}
