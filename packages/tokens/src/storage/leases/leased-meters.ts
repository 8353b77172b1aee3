import type { Logger } from '@modelgate/core'
import { type Awaitable, isThenable, unref } from '../../base/async.ts'
import { meterOfCall } from '../../contract/meter-amounts.ts'
import type { Home, Meter, MeterStore, Reservation, ReserveResult, Settlement } from '../../contract/meter-store.ts'
import { createSettledCalls } from '../settled-calls.ts'
import { createSettler } from '../settler.ts'
import { closeLease, type Lease, type LeasedCall, neededOf, settleLeased, statesOf, takeFrom } from './lease.ts'
import { createPendingSums } from './pending-sums.ts'

// A call that is counted elsewhere costs messages: four between a worker and its primary process, four to Redis and back. A process with
// many calls therefore reserves what the calls of about a second need, and counts them itself:
//
//   lease            reserve <lease>   amounts for the calls of a second      1 request for all of them
//   each call        taken from what is left of the lease                     none
//   end of a lease   settle <lease>    actual: what the calls used or hold    1 request
//
// What a lease holds counts as used for other processes, so no limit is exceeded. docs/decisions/0061 states the cost.

/** Milliseconds for which calls may use a lease. */
const durationMs = 1_000
/** Calls in a second from which a lease saves requests. */
const minCalls = 4
/** Calls for which a lease reserves at most. */
const maxCalls = 1_000
/** The part of a meter's room that the leases of all processes together may hold. */
const leasablePart = 1 / 8
/** Milliseconds after which expired leases are returned, and sums are delivered. */
const tickMs = 50
/** Milliseconds without a lease after the central store has refused one, or has failed. */
const refusedPauseMs = 100
const failedPauseMs = 1_000

export interface LeasedMetersOptions {
  /** Returns the number of processes that take leases from the same store. */
  processes(): number
  readonly logger: Logger
  /** Milliseconds, for tests. Default: a steady clock. */
  readonly now?: () => number
}

/** A meter store with leases. */
export interface LeasedMeters extends MeterStore {
  /** Returns all leases, and resolves when everything is delivered. Later calls use no leases. */
  close(): Promise<void>
}

/** Calls of one account that are counted by the same meters. */
interface CallGroup {
  readonly tokenId: string
  readonly home: Home | undefined
  readonly meters: readonly Meter[]
  lease: Lease | undefined
  /** Resolves when the central store has granted or refused a lease. */
  asking: Promise<void> | undefined
  /** Room of each meter when the central store last reported it. */
  rooms: readonly number[] | undefined
  noLeaseUntil: number
  /** Calls in the current second, and in the one before it. */
  calls: number
  earlierCalls: number
  since: number
}

/**
 * Creates a meter store that counts calls in this process as far as leases of the central store allow, and in the central store otherwise:
 * calls of accounts with few calls, calls close to a limit, and calls with a limit of concurrent calls.
 */
export function createLeasedMeters(central: MeterStore, options: LeasedMetersOptions): LeasedMeters {
  const { processes, logger, now = () => performance.now() } = options
  const settler = createSettler(central, logger)
  const prefix = `lease-${crypto.randomUUID()}`
  let ids = 0
  const nextId = (): string => `${prefix}:${ids++}`
  /** The groups of each account. Most accounts have one. */
  const accounts = new Map<string, CallGroup[]>()
  /** The groups with a lease. */
  const leased = new Set<CallGroup>()
  /** What the leases of this process were granted, of each counter. Tokens of one owner share counters. */
  const granted = new Map<string, number>()
  const leasedCalls = new Map<string, LeasedCall>()
  const settled = createSettledCalls()
  /** Calls that wait for a lease. */
  const waiting = new Set<string>()
  const sums = createPendingSums(nextId)
  let isClosed = false
  let timer: ReturnType<typeof setTimeout> | undefined

  const reserve = (reservation: Reservation): Awaitable<ReserveResult> => {
    const { callId, meters } = reservation
    const known = leasedCalls.get(callId)
    if (known !== undefined) return { ok: true, states: statesOf(known.lease), at: known.lease.at }
    if (settled.has(callId)) return repeated(reservation)
    if (isClosed || meters.length === 0 || meters.some(({ kind }) => kind === 'concurrent'))
      return central.reserve(reservation)
    const group = groupOf(reservation)
    countCall(group)
    const reserved = reserveLeased(group, reservation)
    if (reserved !== undefined) return reserved
    // The calls of the same moment wait for one lease.
    if (group.asking === undefined) return reserveCentrally(group, reservation)
    waiting.add(callId)
    return group.asking.then(() => {
      // Settled in the meantime, because its client has left: the central store ignores the reservation.
      if (!waiting.delete(callId)) return central.reserve(reservation)
      return reserveLeased(group, reservation) ?? reserveCentrally(group, reservation)
    })
  }

  /** Counts a call in the group's lease. Returns undefined if there is none with enough room. */
  const reserveLeased = (group: CallGroup, reservation: Reservation): ReserveResult | undefined => {
    const { lease } = group
    if (lease === undefined || now() >= lease.until) return undefined
    const taken = takeFrom(lease, reservation)
    if (taken === undefined) return undefined
    leasedCalls.set(reservation.callId, taken)
    return { ok: true, states: statesOf(lease), at: lease.at }
  }

  const reserveCentrally = (group: CallGroup, reservation: Reservation): Awaitable<ReserveResult> => {
    // First, so that a call close to a limit finds all of the room.
    returnLease(group)
    const result = central.reserve(reservation)
    if (!isThenable(result)) {
      noteRooms(group, result)
      askForLease(group, reservation)
      return result
    }
    askForLease(group, reservation)
    return Promise.resolve(result).then((reserved) => {
      noteRooms(group, reserved)
      return reserved
    })
  }

  /** A reservation that arrives after its settlement is ignored. */
  const repeated = async ({ tokenId, meters, home }: Reservation): Promise<ReserveResult> => {
    const states = await central.read(tokenId, meters, home)
    // Counts nothing: only its time is needed.
    const empty = await central.reserve({ callId: nextId(), tokenId, home, meters: [] })
    return empty.ok ? { ...empty, states } : empty
  }

  /** Reserves what the calls of about a second need, if that leaves most of the room to other processes. */
  const askForLease = (group: CallGroup, { meters }: Reservation): void => {
    const calls = Math.min(maxCalls, Math.max(group.calls, group.earlierCalls))
    const { rooms } = group
    const sentAt = now()
    const share = leasablePart / Math.max(1, processes())
    if (calls < minCalls || rooms === undefined || group.asking !== undefined || sentAt < group.noLeaseUntil) return
    const amounts = meters.map((meter, index) => {
      const others = granted.get(counterKey(group, meter)) ?? 0
      const most = Math.floor(((rooms[index] ?? 0) + others) * share) - others
      const amount = Math.max(0, Math.min(neededOf(meter) * calls, most))
      return meterOfCall(meter, amount, amount)
    })
    if (amounts.some(({ amount }, index) => amount < minCalls * neededOf(meters[index] as Meter))) return
    const request = { callId: nextId(), tokenId: group.tokenId, home: group.home, meters: amounts }
    const take = (result: ReserveResult): void => {
      noteRooms(group, result)
      if (!result.ok) {
        group.noLeaseUntil = now() + refusedPauseMs
        return
      }
      const { states, at } = result
      const ends = states.map(({ resetsAt }) => (resetsAt === undefined ? durationMs : resetsAt - at))
      group.lease = {
        ...{ id: request.callId, tokenId: group.tokenId, home: group.home, meters: amounts, states, at },
        until: sentAt + Math.min(durationMs, ...ends),
        left: amounts.map(({ amount }) => amount),
        isOpen: true,
      }
      leased.add(group)
      countGranted(group.lease, 1)
      if (isClosed) returnLease(group)
      schedule()
    }
    // A failed store is reported by the call that asked it.
    const fail = (): void => {
      group.noLeaseUntil = now() + failedPauseMs
    }
    try {
      const result = central.reserve(request)
      if (!isThenable(result)) take(result)
      else
        group.asking = Promise.resolve(result)
          .then(take, fail)
          .finally(() => {
            group.asking = undefined
          })
    } catch {
      fail()
    }
  }

  const returnLease = (group: CallGroup): void => {
    const { lease } = group
    if (lease === undefined) return
    group.lease = undefined
    leased.delete(group)
    countGranted(lease, -1)
    void settler.settle(closeLease(lease))
  }

  const countGranted = (lease: Lease, sign: 1 | -1): void => {
    // Several meters of a call may share a counter.
    for (const [key, amount] of new Map(lease.meters.map((meter) => [counterKey(lease, meter), meter.amount]))) {
      const sum = (granted.get(key) ?? 0) + sign * amount
      if (sum === 0) granted.delete(key)
      else granted.set(key, sum)
    }
  }

  const settle = (settlement: Settlement): Awaitable<void> => {
    const { callId } = settlement
    if (settled.has(callId)) return
    const call = leasedCalls.get(callId)
    if (call === undefined) {
      waiting.delete(callId)
      return central.settle(settlement)
    }
    leasedCalls.delete(callId)
    settled.add(callId, now())
    sums.add(settlement)
    schedule()
    const correction = settleLeased(call, settlement)
    return correction === undefined ? undefined : settler.settle(correction)
  }

  const groupOf = ({ tokenId, home, meters }: Reservation): CallGroup => {
    let groups = accounts.get(tokenId)
    if (groups === undefined) {
      groups = []
      accounts.set(tokenId, groups)
    }
    let group = groups.find((one) => one.home?.owner === home?.owner && haveSameCounters(one.meters, meters))
    if (group === undefined) {
      group = {
        ...{ tokenId, home, meters, lease: undefined, asking: undefined, rooms: undefined },
        ...{ noLeaseUntil: 0, calls: 0, earlierCalls: 0, since: now() },
      }
      groups.push(group)
      schedule()
    }
    return group
  }

  const countCall = (group: CallGroup): void => {
    const ms = now() - group.since
    if (ms >= 1_000) {
      group.earlierCalls = ms < 2_000 ? group.calls : 0
      group.calls = 0
      group.since += ms
    }
    group.calls++
  }

  const deliverSums = (): void => {
    for (const settlement of sums.take()) void settler.settle(settlement)
  }

  const schedule = (): void => {
    if (timer !== undefined) return
    timer = setTimeout(tick, tickMs)
    unref(timer)
  }

  const tick = (): void => {
    timer = undefined
    deliverSums()
    const time = now()
    for (const group of leased) if (group.lease !== undefined && time >= group.lease.until) returnLease(group)
    for (const [tokenId, groups] of accounts) {
      const used = groups.filter(
        ({ since, lease, asking }) => lease !== undefined || asking !== undefined || time - since < 2 * durationMs,
      )
      if (used.length === 0) accounts.delete(tokenId)
      else if (used.length < groups.length) accounts.set(tokenId, used)
    }
    if (accounts.size > 0 || leased.size > 0) schedule()
  }

  /** Returns the leases that count on this account; all leases by default. */
  const returnLeases = (account?: string): void => {
    for (const group of leased)
      if (account === undefined || group.meters.some((meter) => (meter.account ?? group.tokenId) === account))
        returnLease(group)
  }

  return {
    reserve,
    settle,
    renew: (calls) => central.renew(calls),
    async read(tokenId, meters, home) {
      // So that at least the leases of this process do not count as used.
      returnLeases(tokenId)
      return central.read(tokenId, meters, home)
    },
    async sums(query) {
      deliverSums()
      return central.sums(query)
    },
    ...(central.onReached === undefined ? {} : { onReached: central.onReached.bind(central) }),
    async close() {
      isClosed = true
      clearTimeout(timer)
      await Promise.all([...accounts.values()].flat().map(({ asking }) => asking))
      returnLeases()
      deliverSums()
      await settler.close()
    },
  }
}

const counterKey = ({ tokenId }: Pick<CallGroup, 'tokenId'>, { account = tokenId, name }: Meter): string =>
  `${account}\n${name}`

const haveSameCounters = (some: readonly Meter[], others: readonly Meter[]): boolean =>
  some.length === others.length &&
  some.every((meter, index) => {
    const other = others[index]
    return meter.name === other?.name && meter.account === other.account && meter.limit === other.limit
  })

/** Keeps the room of each meter, which decides how large the next lease may be. */
function noteRooms(group: CallGroup, { states }: ReserveResult): void {
  group.rooms = states.map(({ limit, used }) => Math.max(0, limit - used))
}
