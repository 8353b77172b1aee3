import { leaseMs, type Meter } from '../contract/meter-store.ts'

interface Change {
  readonly name: string
  /** Time of the reservation or the release. */
  readonly at: number
  readonly amount: number
}

/**
 * Reference model of a meter store: a list of all reservations and settlements, summed for each read. Supports
 * calls of one token whose meters have distinct names.
 */
export function createMeterModel(now: () => number) {
  const changes: Change[] = []
  const reserved = new Map<string, { readonly at: number; readonly meters: readonly Meter[] }>()
  const settled = new Map<string, readonly (Meter & { readonly actual: number })[]>()
  const leases = new Map<string, number>()

  const sum = (name: string, within: (at: number) => boolean): number =>
    changes.filter((change) => change.name === name && within(change.at)).reduce((all, { amount }) => all + amount, 0)

  const used = (meter: Meter): number => {
    const time = now()
    if (meter.kind === 'concurrent') return [...leases.values()].filter((until) => until > time).length
    if (meter.kind === 'period') {
      const current = wordFor(meter.period, time)
      return sum(meter.name, (at) => wordFor(meter.period, at) === current)
    }
    const { name, windowMs } = meter
    const numberOf = (at: number): number => Math.floor(at / windowMs)
    const before = sum(name, (at) => numberOf(at) === numberOf(time) - 1)
    const left = windowMs - (time % windowMs)
    return sum(name, (at) => numberOf(at) === numberOf(time)) + Math.ceil((before * left) / windowMs)
  }

  return {
    used,
    /** Index of the meter that rejects the call; -1: none. */
    reserve(callId: string, meters: readonly Meter[]): number {
      if (reserved.has(callId) || settled.has(callId)) return -1
      const refusedBy = meters.findIndex((meter) => used(meter) + meter.amount > meter.limit)
      if (refusedBy >= 0) return refusedBy
      const at = now()
      reserved.set(callId, { at, meters })
      for (const { kind, name, amount } of meters) {
        if (kind === 'concurrent') leases.set(callId, at + leaseMs)
        else changes.push({ name, at, amount })
      }
      return -1
    },
    settle(callId: string, meters: readonly (Meter & { readonly actual: number })[]): void {
      if (settled.has(callId)) return
      settled.set(callId, meters)
      leases.delete(callId)
      const at = reserved.get(callId)?.at
      for (const { kind, name, amount, actual } of meters) {
        if (kind === 'concurrent') continue
        if (at === undefined) changes.push({ name, at: now(), amount: actual })
        else changes.push({ name, at: kind === 'window' && actual > amount ? now() : at, amount: actual - amount })
      }
    },
    renew(callId: string, meters: readonly Meter[]): void {
      if (!settled.has(callId) && meters.some(({ kind }) => kind === 'concurrent')) leases.set(callId, now() + leaseMs)
    },
    runs: (callId: string): boolean => (leases.get(callId) ?? 0) > now(),
    /** Settled amount. */
    tookOf: (callId: string): number => settled.get(callId)?.find(({ kind }) => kind === 'period')?.actual ?? 0,
  }
}

/** Returns a key that is the same for all times of one period. */
function wordFor(period: string, time: number): string {
  const day = new Date(time).toISOString()
  if (period === 'day') return day.slice(0, 10)
  if (period === 'month') return day.slice(0, 7)
  if (period === 'total') return ''
  let monday = new Date(time)
  while (monday.getUTCDay() !== 1) monday = new Date(monday.getTime() - 86_400_000)
  return monday.toISOString().slice(0, 10)
}
