import { steadyClock } from '../steady-clock.ts'
import { never, periodAt, type Span } from './calendar.ts'
import { createMemorySums } from './memory-sums.ts'
import { leaseMs, leastOf, type Meter, type MeterState, type MeterStore, type ReserveResult } from './meter-store.ts'
import { createSettledCalls } from './settled-calls.ts'
import { usedAt, waitFor } from './sliding-window.ts'

/** A counter or a sum as it stands. */
export interface SavedEntry {
  /** The same text for the same count; its form is this file's own. */
  readonly key: string
  /** null: it is gone. */
  readonly value: readonly number[] | null
}

/** All that a store of counts has to know to go on: the last entry told for each key. */
export type SavedMeters = readonly SavedEntry[]

export interface MemoryMetersOptions {
  /** The time, for tests: milliseconds since 1970. Default: the time of day for periods, and a clock that is never set for all else. */
  readonly now?: () => number
  /** What an earlier store told. Calls that ran then are not known any more. */
  readonly saved?: SavedMeters
  /** Told of each counter and sum that changes, at once. */
  readonly onChange?: (entry: SavedEntry) => void
}

/** One window or period, and what the one before has counted. */
interface Counter {
  from: number
  until: number
  taken: number
  before: number
  /** The step that counted last: several limits may be for the same count. */
  step: number
  /** When the clock was first found outside of it (steady); undefined: it is within. */
  outsideSince: number | undefined
  /** As it is saved; empty until it is told for the first time. */
  key: string
}

/** The counters of a token, by name. */
interface Counts {
  readonly window: Map<string, Counter>
  readonly period: Map<string, Counter>
  /** Calls and when each runs out, the next first. */
  readonly concurrent: Map<string, Map<string, number>>
}

/** Tokens that each step looks at, to drop what is past: more than a step can add. */
const sweptAtOnce = 2
/** A reservation that was never settled is forgotten after a day: longer than any call lasts. */
const reservedMs = 86_400_000
/** How long a period that is over is kept: a clock that was set ahead by mistake may be set back. */
const keptPeriodMs = 3_600_000

/** When a call was counted: by the time of day, and by the clock that is never set. */
interface Counted {
  readonly wall: number
  readonly steady: number
}

/**
 * Counts in this process, and answers at once. Keeps what counts now: counters that are past are dropped along the way, a few
 * with each call, without a timer.
 *
 * Windows and leases go by a clock that is never set; periods are parts of the calendar, and go by the time of day. A step back does
 * not empty a period: its count goes on until the clock is within it again, or, should it not come back, for as long as such a period
 * lasts.
 */
export function createMemoryMeters(options: MemoryMetersOptions = {}): MeterStore {
  const { now = Date.now, saved = [], onChange } = options
  const steadyNow = options.now ?? steadyClock()
  /** Both clocks, as they were read when the step began. */
  let wall = now()
  let steady = steadyNow()
  const tokens = new Map<string, Counts>()
  /** When calls were counted that are not settled yet; the oldest first. */
  const reserved = new Map<string, Counted>()
  const settled = createSettledCalls()
  const sums = createMemorySums((tokenId, day, model, values) =>
    onChange?.({ key: JSON.stringify(['sums', tokenId, day, model]), value: values ?? null }),
  )
  const periods = new Map<string, Span>()
  let sweeping = tokens.entries()
  let step = 0

  for (const { key, value } of saved) if (value !== null) restore(key, value)

  return {
    reserve({ callId, tokenId, meters }): ReserveResult {
      readClocks()
      sweep()
      const refusedBy = refusing(tokenId, meters)
      const known = reserved.has(callId) || settled.has(callId)
      if (refusedBy >= 0 && !known) {
        const meter = meters[refusedBy]
        const waitMs = meter === undefined ? undefined : waitOf(tokenId, meter)
        return { ok: false, refusedBy, waitMs, states: statesOf(tokenId, meters) }
      }
      // A call that is known already is not counted again.
      if (!known && meters.length > 0) {
        reserved.set(callId, { wall, steady })
        step++
        for (const meter of meters) {
          if (meter.amount === 0) continue
          if (meter.kind === 'concurrent') run(tokenId, meter.name, callId)
          else count(tokenId, meter, counterOf(tokenId, meter), 'taken', meter.amount)
        }
      }
      return { ok: true, states: statesOf(tokenId, meters), at: wall }
    },
    settle(settlement) {
      const { callId, tokenId, meters } = settlement
      readClocks()
      if (!settled.add(callId, steady)) return
      const reservedAt = reserved.get(callId)
      reserved.delete(callId)
      const countedAt = reservedAt ?? counted(settlement.at ?? wall)
      step++
      for (const meter of meters) {
        if (meter.kind === 'concurrent') {
          tokens.get(tokenId)?.concurrent.get(meter.name)?.delete(callId)
          continue
        }
        const change = meter.actual - (reservedAt === undefined ? 0 : meter.amount)
        if (change === 0) continue
        const counter = counterOf(tokenId, meter)
        const at = meter.kind === 'window' ? countedAt.steady : countedAt.wall
        // What a window holds beyond the reservation is taken now.
        const when = meter.kind === 'window' && change > 0 ? counter.from : at
        if (when >= counter.from) count(tokenId, meter, counter, 'taken', change)
        else if (meter.kind === 'window' && when >= counter.from - meter.windowMs)
          count(tokenId, meter, counter, 'before', change)
      }
      if (settlement.sums !== undefined) {
        const { day, model, add } = settlement.sums
        sums.add(tokenId, day, model, add, wall)
      }
    },
    renew(calls) {
      readClocks()
      for (const { callId, tokenId, meters } of calls) {
        if (settled.has(callId)) continue
        for (const meter of meters) {
          if (meter.kind !== 'concurrent') continue
          run(tokenId, meter.name, callId)
        }
      }
    },
    read(tokenId, meters) {
      readClocks()
      return statesOf(tokenId, meters)
    },
    sums: (query) => sums.read(query),
  }

  function readClocks(): void {
    wall = now()
    steady = steadyNow()
  }

  /** A time of day as both clocks have it. */
  function counted(at: number): Counted {
    return { wall: at, steady: at + steady - wall }
  }

  /** Index of the first meter without room; -1: all have it. */
  function refusing(tokenId: string, meters: readonly Meter[]): number {
    for (let n = 0; n < meters.length; n++) {
      const meter = meters[n]
      if (meter !== undefined && usedOf(tokenId, meter) + leastOf(meter) > meter.limit) return n
    }
    return -1
  }

  function usedOf(tokenId: string, meter: Meter): number {
    if (meter.kind === 'concurrent') return running(tokenId, meter.name)
    const counter = counterOf(tokenId, meter)
    return meter.kind === 'window' ? usedAt(windowCount(counter, meter.windowMs), steady) : counter.taken
  }

  function waitOf(tokenId: string, meter: Meter): number | undefined {
    if (meter.kind === 'concurrent') return undefined
    const counter = counterOf(tokenId, meter)
    if (meter.kind === 'window')
      return waitFor(windowCount(counter, meter.windowMs), meter.limit, leastOf(meter), steady)
    return leastOf(meter) > meter.limit || counter.until === never ? undefined : counter.until - wall
  }

  function statesOf(tokenId: string, meters: readonly Meter[]): MeterState[] {
    return meters.map((meter) => {
      const { name, limit } = meter
      const used = usedOf(tokenId, meter)
      if (meter.kind === 'concurrent') return { name, limit, used }
      const { until } = counterOf(tokenId, meter)
      if (until === never) return { name, limit, used }
      // As the time of day is now.
      return { name, limit, used, resetsAt: meter.kind === 'window' ? until + wall - steady : until }
    })
  }

  function countsOf(tokenId: string): Counts {
    let counts = tokens.get(tokenId)
    if (counts === undefined) {
      counts = { window: new Map(), period: new Map(), concurrent: new Map() }
      tokens.set(tokenId, counts)
    }
    return counts
  }

  /** The counter of a meter, brought up to the time. */
  function counterOf(tokenId: string, meter: Exclude<Meter, { kind: 'concurrent' }>): Counter {
    const counters = countsOf(tokenId)[meter.kind]
    const counter = counters.get(meter.name)
    const at = meter.kind === 'window' ? steady : wall
    if (counter !== undefined) {
      if (at >= counter.from && at < counter.until) {
        counter.outsideSince = undefined
        return counter
      }
      // A clock that was set back gives nothing back, for as long as the window or period would have lasted.
      if (at < counter.from && outsideFor(counter) < counter.until - counter.from) return counter
      const { from, until } = spanAt(meter, at)
      counter.before = meter.kind === 'window' && from === counter.until ? counter.taken : 0
      counter.taken = 0
      counter.from = from
      counter.until = until
      counter.outsideSince = undefined
      return counter
    }
    const fresh: Counter = { ...spanAt(meter, at), taken: 0, before: 0, step: 0, outsideSince: undefined, key: '' }
    counters.set(meter.name, fresh)
    return fresh
  }

  /** For how long the clock has been outside of a counter's window or period, as far as it was looked at. */
  function outsideFor(counter: Counter): number {
    counter.outsideSince ??= steady
    return steady - counter.outsideSince
  }

  function spanAt(meter: Exclude<Meter, { kind: 'concurrent' }>, at: number): Span {
    if (meter.kind === 'window') {
      const from = at - (at % meter.windowMs)
      return { from, until: from + meter.windowMs }
    }
    const last = periods.get(meter.period)
    if (last !== undefined && at >= last.from && at < last.until) return last
    const span = periodAt(meter.period, at)
    periods.set(meter.period, span)
    return span
  }

  function count(tokenId: string, meter: Meter, counter: Counter, where: 'taken' | 'before', change: number): void {
    if (counter.step === step) return
    counter.step = step
    counter[where] = Math.max(0, counter[where] + change)
    if (onChange === undefined) return
    if (counter.key === '') counter.key = JSON.stringify([meter.kind, tokenId, meter.name])
    onChange({ key: counter.key, value: [counter.from, counter.until, counter.taken, counter.before] })
  }

  /** A call runs from now on, or still. */
  function run(tokenId: string, name: string, callId: string): void {
    const { concurrent } = countsOf(tokenId)
    let calls = concurrent.get(name)
    if (calls === undefined) {
      calls = new Map()
      concurrent.set(name, calls)
    }
    // To the end of the line: the first are the next to run out.
    calls.delete(callId)
    calls.set(callId, steady + leaseMs)
  }

  /** How many calls run; those that ran out are dropped. */
  function running(tokenId: string, name: string): number {
    const calls = tokens.get(tokenId)?.concurrent.get(name)
    if (calls === undefined) return 0
    for (const [callId, until] of calls) {
      if (until > steady) break
      calls.delete(callId)
    }
    return calls.size
  }

  function sweep(): void {
    for (const [callId, when] of reserved) {
      if (when.steady > steady - reservedMs) break
      reserved.delete(callId)
    }
    for (let n = 0; n < sweptAtOnce; n++) {
      const next = sweeping.next()
      if (next.done === true) {
        sweeping = tokens.entries()
        return
      }
      const [tokenId, counts] = next.value
      dropPast(counts.window, (counter) => steady >= 2 * counter.until - counter.from)
      dropPast(counts.period, (counter) => wall >= counter.until && outsideFor(counter) >= keptPeriodMs)
      for (const name of counts.concurrent.keys()) if (running(tokenId, name) === 0) counts.concurrent.delete(name)
      if (counts.window.size + counts.period.size + counts.concurrent.size === 0) tokens.delete(tokenId)
    }
  }

  function dropPast(counters: Map<string, Counter>, isPast: (counter: Counter) => boolean): void {
    for (const [name, counter] of counters) {
      const empty = counter.taken === 0 && counter.before === 0
      if (!empty && !isPast(counter)) continue
      counters.delete(name)
      if (counter.key !== '') onChange?.({ key: counter.key, value: null })
    }
  }

  function restore(key: string, value: readonly number[]): void {
    const [kind, tokenId = '', name = '', model = ''] = JSON.parse(key) as readonly string[]
    if (kind === 'sums') {
      sums.restore(tokenId, name, model, value)
      return
    }
    const [from, until, taken, before] = value
    const whole = from !== undefined && until !== undefined && taken !== undefined && before !== undefined
    if ((kind !== 'window' && kind !== 'period') || !whole)
      throw new TypeError(`A saved count cannot be read: ${key}. Was it written by a later version?`)
    countsOf(tokenId)[kind].set(name, { from, until, taken, before, step: 0, outsideSince: undefined, key })
  }
}

const windowCount = ({ until, taken, before }: Counter, windowMs: number) => ({ until, windowMs, taken, before })
