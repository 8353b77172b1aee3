import {
  leaseMs,
  type Meter,
  type MeterState,
  type MeterStore,
  maxModelsPerDay,
  otherModels,
  ownerIn,
  type ReachedListener,
  type Reservation,
  type ReserveResult,
  requiredRoom,
  type Settlement,
  type Sums,
} from '../../contract/meter-store.ts'
import { endOfTime, periodAt, usedInWindow, type WindowCount, waitForRoom } from '../time-spans.ts'
import { type Command, evaluate, toTexts } from './client.ts'
import type { WorkOptions } from './guard.ts'
import { createMeterKeys } from './meter-keys.ts'
import { renewScript, reserveScript, settleScript, spanOf, sumsScript } from './meter-scripts.ts'
import { createMovedCounts } from './moved-counts.ts'

/** Milliseconds for which a reservation is remembered: longer than any call. */
const reservedMs = 24 * 3_600_000
/** Milliseconds for which a settlement is remembered: longer than a repeated settlement or a late reservation can take. */
const settledMs = 900_000
const dayMs = 86_400_000
/** Number of days for which sums are kept. */
const sumsDays = 400

const sumNames = ['calls', 'inputTokens', 'cachedTokens', 'outputTokens', 'cost', 'unpriced'] as const

type Run = <T>(work: (command: Command) => Promise<T>, options?: WorkOptions) => Promise<T>

/**
 * Creates a meter store in Redis. Each step is one script.
 *
 * @param keyOf returns a key with the hash tag `tag`
 */
export function createRedisMeters(run: Run, keyOf: (tag: string, what: string) => string): MeterStore {
  const keys = createMeterKeys(keyOf)
  const moved = createMovedCounts(keys)
  let onReached: ReachedListener | undefined

  /** Runs the reserve script. `read` returns the states without counting. */
  const evaluateReserve = async (mode: 'reserve' | 'read', { tokenId, home, callId, meters }: Reservation) => {
    const names = [keys.ofCall(tokenId, home, callId), ...meters.map((meter) => keys.ofMeter(tokenId, home, meter))]
    const args = [mode, callId, String(leaseMs), String(reservedMs)]
    for (const meter of meters)
      args.push(meter.kind, spanOf(meter), String(meter.limit), String(meter.amount), String(requiredRoom(meter)))
    const reply = await run(async (command) => {
      if (moved.isDue(tokenId, home, meters)) await moved.bring(command, tokenId, home, meters)
      return evaluate(command, reserveScript, names, args)
    })
    const [outcome = '', at, ...counts] = toTexts(reply)
    const now = Number(at)
    const read = meters.map((meter, n): MeterCount => {
      return { meter, now, current: Number(counts[2 * n]), previous: Number(counts[2 * n + 1]) }
    })
    return { outcome, now, read }
  }

  return {
    async reserve(reservation): Promise<ReserveResult> {
      const { outcome, now, read } = await evaluateReserve('reserve', reservation)
      const states = read.map(stateOf)
      if (outcome === 'ok') return { ok: true, states, at: now }
      const refusedBy = Number(outcome)
      const refusing = read[refusedBy]
      return { ok: false, refusedBy, waitMs: refusing && waitOf(refusing), states }
    },
    async settle(settlement) {
      const { callId, tokenId, home, meters, sums } = settlement
      const accounts = sums === undefined ? [] : (sums.accounts ?? [tokenId])
      // The sums of a token may be elsewhere than its counters. They are then added in a step of their own, which also happens once.
      const isApart = (account: string): boolean =>
        ownerIn(account) === undefined && home !== undefined && home.owner !== null
      const together = accounts.find((account) => !isApart(account))
      const day = sums?.day ?? ''
      const steps = [
        {
          names: [
            keys.ofCall(tokenId, home, callId),
            together === undefined ? keys.ofCall(tokenId, home, `${callId}:none`) : keys.ofSums(together, day),
            ...meters.map((meter) => keys.ofMeter(tokenId, home, meter)),
          ],
          args: settleArgs(settlement, together === undefined ? undefined : sums, meters, onReached !== undefined),
        },
        ...accounts.filter(isApart).map((account) => ({
          names: [keys.ofSummedCall(account, callId), keys.ofSums(account, day)],
          args: settleArgs(settlement, sums, [], false),
        })),
      ]
      const [reply] = await run((command) =>
        Promise.all(steps.map(({ names, args }) => evaluate(command, settleScript, names, args))),
      )
      if (onReached !== undefined) reportReached(settlement, toTexts(reply), onReached)
    },
    async renew(calls) {
      const running = calls
        .map((call) => ({ ...call, meters: call.meters.filter(({ kind }) => kind === 'concurrent') }))
        .filter(({ meters }) => meters.length > 0)
      if (running.length === 0) return
      await run(async (command) => {
        await Promise.all(
          running.map(({ callId, tokenId, home, meters }) => {
            const names = [
              keys.ofCall(tokenId, home, callId),
              ...meters.map((meter) => keys.ofMeter(tokenId, home, meter)),
            ]
            return evaluate(command, renewScript, names, [callId, String(leaseMs)])
          }),
        )
      })
    },
    async read(tokenId, meters, home) {
      if (meters.length === 0) return []
      return (await evaluateReserve('read', { tokenId, home, callId: '', meters })).read.map(stateOf)
    },
    async sums({ tokenId, from, to }) {
      const days = daysBetween(from, to)
      if (days.length === 0) return []
      const names = days.map((day) => keys.ofSums(tokenId, day))
      const replies = await run((command) => evaluate(command, sumsScript, names, []), { limit: 'command' })
      return days.flatMap((day, n) =>
        sumsOf(Array.isArray(replies) ? replies[n] : []).map((sums) => ({ day, ...sums })),
      )
    },
    onReached(listener) {
      onReached = listener
    },
  }
}

function settleArgs(
  { callId, at }: Settlement,
  sums: Settlement['sums'],
  meters: Settlement['meters'],
  reports: boolean,
): string[] {
  const added = sums === undefined ? [] : sumNames.filter((name) => sums.add[name] !== 0)
  const args = [callId, String(at ?? ''), String(settledMs), String(sumsDays * dayMs)]
  args.push(String(maxModelsPerDay), otherModels, sums?.model ?? '', String(added.length))
  for (const name of added) args.push(name, String(sums?.add[name]))
  for (const meter of meters)
    args.push(
      meter.kind,
      spanOf(meter),
      String(meter.amount),
      String(meter.actual),
      (reports && meter.notice?.amounts.join(',')) || '',
    )
  return args
}

/** Reports the amounts that the settle script has marked. */
function reportReached({ tokenId, meters }: Settlement, reply: readonly string[], report: ReachedListener): void {
  const now = Number(reply[0])
  for (let n = 1; n + 2 < reply.length; n += 3) {
    const meter = meters[Number(reply[n])]
    if (meter?.notice === undefined || meter.kind !== 'period') continue
    const [used, before] = [Number(reply[n + 1]), Number(reply[n + 2])]
    const { until } = periodAt(meter.period, now)
    for (const [index, amount] of meter.notice.amounts.entries())
      if (amount > before && amount <= used)
        report({
          account: meter.account ?? tokenId,
          meter,
          index,
          used,
          ...(until === endOfTime ? {} : { resetsAt: until }),
        })
  }
}

/** Returns the sums of one day by model, from the fields of its hash. */
function sumsOf(reply: unknown): ({ model: string } & Sums)[] {
  const fields = toTexts(reply)
  const models = new Map<string, { -readonly [S in keyof Sums]: number }>()
  for (let n = 0; n < fields.length; n += 2) {
    const field = fields[n] ?? ''
    const colon = field.indexOf(':')
    if (colon < 0) continue
    const model = field.slice(colon + 1)
    const name = sumNames.find((known) => known === field.slice(0, colon))
    const sums = models.get(model) ?? {
      calls: 0,
      inputTokens: 0,
      cachedTokens: 0,
      outputTokens: 0,
      cost: 0,
      unpriced: 0,
    }
    if (name !== undefined) sums[name] += Number(fields[n + 1])
    models.set(model, sums)
  }
  return [...models].sort(([a], [b]) => (a < b ? -1 : 1)).map(([model, sums]) => ({ model, ...sums }))
}

/** Returns the days of a query that can still have sums, so that no other keys are read. */
function daysBetween(from: string, to: string): string[] {
  const today = Math.floor(Date.now() / dayMs)
  const first = Math.max(dayNumber(from), today - sumsDays)
  const last = Math.min(dayNumber(to), today + 1)
  const days: string[] = []
  for (let day = first; day <= last; day++) days.push(new Date(day * dayMs).toISOString().slice(0, 10))
  return days
}

const dayNumber = (day: string): number => Math.floor(Date.parse(`${day}T00:00:00Z`) / dayMs)

/** The counts of a meter in Redis, by the clock of Redis. */
export interface MeterCount {
  readonly meter: Meter
  /** Milliseconds since 1970. */
  readonly now: number
  /** Count of the current window or period. */
  readonly current: number
  /** Count of the previous window. */
  readonly previous: number
}

export function stateOf(counted: MeterCount): MeterState {
  const { meter, now, current } = counted
  const { name, limit } = meter
  if (meter.kind === 'concurrent') return { name, limit, used: current }
  if (meter.kind === 'window') {
    const count = windowOf(counted, meter.windowMs)
    return { name, limit, used: usedInWindow(count, now), resetsAt: count.until }
  }
  const { until } = periodAt(meter.period, now)
  return { name, limit, used: current, ...(until !== endOfTime && { resetsAt: until }) }
}

/** Returns the milliseconds until the meter may have room, if nothing else is counted; undefined if time alone makes no room. */
export function waitOf(counted: MeterCount): number | undefined {
  const { meter, now } = counted
  if (meter.kind === 'concurrent') return undefined
  if (meter.kind === 'window')
    return waitForRoom(windowOf(counted, meter.windowMs), meter.limit, requiredRoom(meter), now)
  const { until } = periodAt(meter.period, now)
  return until === endOfTime || requiredRoom(meter) > meter.limit ? undefined : until - now
}

const windowOf = ({ now, current, previous: before }: MeterCount, windowMs: number): WindowCount => ({
  until: (Math.floor(now / windowMs) + 1) * windowMs,
  windowMs,
  current,
  previous: before,
})
