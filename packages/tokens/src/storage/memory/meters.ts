import { steadyClock } from '../../base/steady-clock.ts'
import {
  leaseMs,
  type Meter,
  type MeterState,
  type MeterStore,
  type ReachedAmount,
  type ReachedListener,
  type ReserveResult,
  requiredRoom,
} from '../../contract/meter-store.ts'
import { createSettledCalls } from '../settled-calls.ts'
import { endOfTime, periodAt, type Span, usedInWindow, type WindowCount, waitForRoom } from '../time-spans.ts'
import { createMemorySums } from './sums.ts'

/** A counter or a sum in the form in which it is saved. */
export interface SavedEntry {
  /** Identifies the counter or sum. Only this file reads its content. */
  readonly key: string
  /** Null: the entry is deleted. */
  readonly value: readonly number[] | null
}

/** The last saved entry of each key. */
export type SavedMeters = readonly SavedEntry[]

export interface MemoryMetersOptions {
  /** Milliseconds since 1970, for tests. Default: the time of day for periods, and a steady clock for everything else. */
  readonly now?: () => number
  /** Entries that an earlier store reported. Its reservations and running calls are not restored. */
  readonly saved?: SavedMeters
  /** Receives each counter and sum that changes, at once. */
  readonly onChange?: (entry: SavedEntry) => void
}

/** Counter of a window or period, with the count of the window before it. */
interface Counter {
  from: number
  until: number
  current: number
  previous: number
  /** The last step that changed it: several limits of a token may share a counter, and each call counts once. */
  step: number
  /** Steady time at which the clock was first found outside its span; undefined: it is inside. */
  outsideSince: number | undefined
  /** Key of its saved entry; empty until it is first saved. */
  key: string
  /** The highest amount of a `notice` that was reported in this period. */
  reached: number
}

/** The counters of an account, by the meter's name. */
interface AccountCounters {
  readonly window: Map<string, Counter>
  readonly period: Map<string, Counter>
  /** Ends of the leases of running calls, by call id. The next to expire is first. */
  readonly concurrent: Map<string, Map<string, number>>
}

/** Accounts that each step checks for expired counters: more than a step usually adds. */
const accountsPerSweep = 2
/** Reservations that are never settled are forgotten after a day, which is longer than any call. */
const reservationMs = 86_400_000
/** Time for which the counter of an ended period is kept, in case a clock that was set ahead by mistake is set back. */
const endedPeriodMs = 3_600_000

/** Time of a reservation on both clocks. */
interface ReservedAt {
  readonly wall: number
  readonly steady: number
}

/**
 * Creates a meter store in the memory of this process. Its methods return values, not promises. Expired counters are deleted a few at a
 * time with each call, without a timer.
 *
 * Windows and leases use a clock that is never set. Periods are parts of the calendar and use the time of day. If that is set
 * back, a period keeps its count until the clock is inside it again, but at most for the length of the period.
 */
export function createMemoryMeters(options: MemoryMetersOptions = {}): MeterStore {
  const { now = Date.now, saved = [], onChange } = options
  const steadyNow = options.now ?? steadyClock()
  /** Both clocks, read at the start of each step. */
  let wall = now()
  let steady = steadyNow()
  const accounts = new Map<string, AccountCounters>()
  /** Times of reservations that are not settled, in order. */
  const reserved = new Map<string, ReservedAt>()
  const settled = createSettledCalls()
  const sums = createMemorySums(
    onChange &&
      ((account, day, model, values) =>
        onChange({ key: JSON.stringify(['sums', account, day, model]), value: values ?? null })),
  )
  let onReached: ReachedListener | undefined
  /** The last span of each period. */
  const spans = new Map<string, Span>()
  let sweeping = accounts.entries()
  let step = 0

  for (const { key, value } of saved) if (value !== null) restore(key, value)

  return {
    reserve({ callId, tokenId, meters }): ReserveResult {
      readClocks()
      sweep()
      const refusedBy = findFullMeter(tokenId, meters)
      const isKnown = reserved.has(callId) || settled.has(callId)
      if (refusedBy >= 0 && !isKnown) {
        const meter = meters[refusedBy]
        const waitMs = meter === undefined ? undefined : waitOf(meter.account ?? tokenId, meter)
        return { ok: false, refusedBy, waitMs, states: statesOf(tokenId, meters) }
      }
      // A repeated reservation is not counted again.
      if (!isKnown && meters.length > 0) {
        reserved.set(callId, { wall, steady })
        step++
        for (const meter of meters) {
          if (meter.amount === 0) continue
          const account = meter.account ?? tokenId
          if (meter.kind === 'concurrent') startLease(account, meter.name, callId)
          else addToCounter(account, meter, counterOf(account, meter), 'current', meter.amount)
        }
      }
      return { ok: true, states: statesOf(tokenId, meters), at: wall }
    },
    settle(settlement) {
      const { callId, tokenId, meters } = settlement
      readClocks()
      if (!settled.add(callId, steady)) return
      const reservation = reserved.get(callId)
      reserved.delete(callId)
      const reservedAt = reservation ?? onBothClocks(settlement.at ?? wall)
      step++
      let hasNotice = false
      for (const meter of meters) {
        const account = meter.account ?? tokenId
        if (meter.kind === 'concurrent') {
          accounts.get(account)?.concurrent.get(meter.name)?.delete(callId)
          continue
        }
        if (meter.notice !== undefined) hasNotice = true
        const change = meter.actual - (reservation === undefined ? 0 : meter.amount)
        if (change === 0) continue
        const counter = counterOf(account, meter)
        const at = meter.kind === 'window' ? reservedAt.steady : reservedAt.wall
        // Use beyond the reservation counts in the current window; the rest of a reservation is returned to its own window.
        const when = meter.kind === 'window' && change > 0 ? counter.from : at
        if (when >= counter.from) addToCounter(account, meter, counter, 'current', change)
        else if (meter.kind === 'window' && when >= counter.from - meter.windowMs)
          addToCounter(account, meter, counter, 'previous', change)
      }
      if (settlement.sums !== undefined) {
        const { day, model, add, accounts: added } = settlement.sums
        if (added === undefined) sums.add(tokenId, day, model, add, wall)
        else for (const account of added) sums.add(account, day, model, add, wall)
      }
      if (hasNotice && onReached !== undefined) reportReached(tokenId, meters, onReached)
    },
    renew(calls) {
      readClocks()
      for (const { callId, tokenId, meters } of calls) {
        if (settled.has(callId)) continue
        for (const meter of meters) {
          if (meter.kind !== 'concurrent') continue
          startLease(meter.account ?? tokenId, meter.name, callId)
        }
      }
    },
    read(tokenId, meters) {
      readClocks()
      return statesOf(tokenId, meters)
    },
    sums: (query) => sums.read(query),
    onReached(listener) {
      onReached = listener
    },
  }

  /** Marks the amounts that the use has reached, then reports them: several meters may share a counter. */
  function reportReached(tokenId: string, meters: readonly Meter[], report: ReachedListener): void {
    const reached: ReachedAmount[] = []
    const marks = new Map<Counter, number>()
    for (const meter of meters) {
      if (meter.notice === undefined || meter.kind !== 'period') continue
      const account = meter.account ?? tokenId
      const counter = counterOf(account, meter)
      const { current: used, until } = counter
      for (const [index, amount] of meter.notice.amounts.entries()) {
        if (amount <= counter.reached || amount > used) continue
        reached.push({ account, meter, index, used, ...(until === endOfTime ? {} : { resetsAt: until }) })
        marks.set(counter, Math.max(amount, marks.get(counter) ?? 0))
      }
    }
    for (const [counter, amount] of marks) {
      counter.reached = amount
      saveCounter(counter)
    }
    for (const one of reached) report(one)
  }

  function readClocks(): void {
    wall = now()
    steady = steadyNow()
  }

  /** Converts a time of day to both clocks. */
  function onBothClocks(at: number): ReservedAt {
    return { wall: at, steady: at + steady - wall }
  }

  /** Returns the index of the first meter without room; -1 if all have room. */
  function findFullMeter(tokenId: string, meters: readonly Meter[]): number {
    for (let index = 0; index < meters.length; index++) {
      const meter = meters[index]
      if (meter !== undefined && usedOf(meter.account ?? tokenId, meter) + requiredRoom(meter) > meter.limit)
        return index
    }
    return -1
  }

  function usedOf(account: string, meter: Meter): number {
    if (meter.kind === 'concurrent') return countRunning(account, meter.name)
    const counter = counterOf(account, meter)
    return meter.kind === 'window' ? usedInWindow(windowCount(counter, meter.windowMs), steady) : counter.current
  }

  function waitOf(account: string, meter: Meter): number | undefined {
    if (meter.kind === 'concurrent') return undefined
    const counter = counterOf(account, meter)
    if (meter.kind === 'window')
      return waitForRoom(windowCount(counter, meter.windowMs), meter.limit, requiredRoom(meter), steady)
    return requiredRoom(meter) > meter.limit || counter.until === endOfTime ? undefined : counter.until - wall
  }

  function statesOf(tokenId: string, meters: readonly Meter[]): MeterState[] {
    return meters.map((meter) => {
      const { name, limit } = meter
      const account = meter.account ?? tokenId
      if (meter.kind === 'concurrent') return { name, limit, used: countRunning(account, name) }
      const counter = counterOf(account, meter)
      const used =
        meter.kind === 'window' ? usedInWindow(windowCount(counter, meter.windowMs), steady) : counter.current
      const { until } = counter
      if (until === endOfTime) return { name, limit, used }
      // Reported as a time of day.
      return { name, limit, used, resetsAt: meter.kind === 'window' ? until + wall - steady : until }
    })
  }

  function countersOf(account: string): AccountCounters {
    let counters = accounts.get(account)
    if (counters === undefined) {
      counters = { window: new Map(), period: new Map(), concurrent: new Map() }
      accounts.set(account, counters)
    }
    return counters
  }

  /** Returns the counter of a meter for the current window or period. */
  function counterOf(account: string, meter: Exclude<Meter, { kind: 'concurrent' }>): Counter {
    const counters = countersOf(account)[meter.kind]
    const counter = counters.get(meter.name)
    const at = meter.kind === 'window' ? steady : wall
    if (counter !== undefined) {
      if (at >= counter.from && at < counter.until) {
        counter.outsideSince = undefined
        return counter
      }
      // A clock that is set back must not reset a counter, for as long as its window or period would have lasted.
      if (at < counter.from && outsideMs(counter) < counter.until - counter.from) return counter
      const { from, until } = spanAt(meter, at)
      counter.previous = meter.kind === 'window' && from === counter.until ? counter.current : 0
      counter.current = 0
      counter.from = from
      counter.until = until
      counter.outsideSince = undefined
      counter.reached = 0
      return counter
    }
    const created: Counter = {
      ...spanAt(meter, at),
      current: 0,
      previous: 0,
      step: 0,
      outsideSince: undefined,
      key: '',
      reached: 0,
    }
    counters.set(meter.name, created)
    return created
  }

  /** Returns the milliseconds since the clock was first found outside a counter's span. */
  function outsideMs(counter: Counter): number {
    counter.outsideSince ??= steady
    return steady - counter.outsideSince
  }

  function spanAt(meter: Exclude<Meter, { kind: 'concurrent' }>, at: number): Span {
    if (meter.kind === 'window') {
      const from = at - (at % meter.windowMs)
      return { from, until: from + meter.windowMs }
    }
    const last = spans.get(meter.period)
    if (last !== undefined && at >= last.from && at < last.until) return last
    const span = periodAt(meter.period, at)
    spans.set(meter.period, span)
    return span
  }

  function addToCounter(
    account: string,
    meter: Meter,
    counter: Counter,
    field: 'current' | 'previous',
    change: number,
  ): void {
    if (counter.step === step) return
    counter.step = step
    counter[field] = Math.max(0, counter[field] + change)
    if (onChange === undefined) return
    if (counter.key === '') counter.key = JSON.stringify([meter.kind, account, meter.name])
    saveCounter(counter)
  }

  function saveCounter({ key, from, until, current, previous, reached }: Counter): void {
    if (key !== '') onChange?.({ key, value: [from, until, current, previous, ...(reached === 0 ? [] : [reached])] })
  }

  /** Starts or extends the lease of a running call. */
  function startLease(account: string, name: string, callId: string): void {
    const { concurrent } = countersOf(account)
    let leases = concurrent.get(name)
    if (leases === undefined) {
      leases = new Map()
      concurrent.set(name, leases)
    }
    // Moved to the end: the map is ordered by expiry.
    leases.delete(callId)
    leases.set(callId, steady + leaseMs)
  }

  /** Returns the number of running calls, after deleting expired leases. */
  function countRunning(account: string, name: string): number {
    const leases = accounts.get(account)?.concurrent.get(name)
    if (leases === undefined) return 0
    for (const [callId, until] of leases) {
      if (until > steady) break
      leases.delete(callId)
    }
    return leases.size
  }

  function sweep(): void {
    for (const [callId, at] of reserved) {
      if (at.steady > steady - reservationMs) break
      reserved.delete(callId)
    }
    for (let n = 0; n < accountsPerSweep; n++) {
      const next = sweeping.next()
      if (next.done === true) {
        sweeping = accounts.entries()
        return
      }
      const [account, counters] = next.value
      deleteExpired(counters.window, (counter) => steady >= 2 * counter.until - counter.from)
      deleteExpired(counters.period, (counter) => wall >= counter.until && outsideMs(counter) >= endedPeriodMs)
      for (const name of counters.concurrent.keys())
        if (countRunning(account, name) === 0) counters.concurrent.delete(name)
      if (counters.window.size + counters.period.size + counters.concurrent.size === 0) accounts.delete(account)
    }
  }

  function deleteExpired(counters: Map<string, Counter>, isExpired: (counter: Counter) => boolean): void {
    for (const [name, counter] of counters) {
      const isEmpty = counter.current === 0 && counter.previous === 0
      if (!isEmpty && !isExpired(counter)) continue
      counters.delete(name)
      if (counter.key !== '') onChange?.({ key: counter.key, value: null })
    }
  }

  function restore(key: string, value: readonly number[]): void {
    const [kind, account = '', name = '', model = ''] = JSON.parse(key) as readonly string[]
    if (kind === 'sums') {
      sums.restore(account, name, model, value)
      return
    }
    const [from, until, current, previous, reached = 0] = value
    const isWhole = from !== undefined && until !== undefined && current !== undefined && previous !== undefined
    if ((kind !== 'window' && kind !== 'period') || !isWhole)
      throw new TypeError(`Unknown saved count: ${key}. It may have been written by a later version.`)
    const counter = { from, until, current, previous, step: 0, outsideSince: undefined, key, reached }
    countersOf(account)[kind].set(name, counter)
  }
}

const windowCount = ({ until, current, previous }: Counter, windowMs: number): WindowCount => ({
  until,
  windowMs,
  current,
  previous,
})
