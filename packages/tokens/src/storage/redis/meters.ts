import {
  leaseMs,
  type Meter,
  type MeterState,
  type MeterStore,
  maxModelsPerDay,
  otherModels,
  type ReserveResult,
  requiredRoom,
  type Sums,
} from '../../contract/meter-store.ts'
import { endOfTime, periodAt, usedInWindow, type WindowCount, waitForRoom } from '../time-spans.ts'
import { type Command, evaluate, toTexts } from './client.ts'
import type { WorkOptions } from './guard.ts'
import { renewScript, reserveScript, settleScript, sumsScript } from './meter-scripts.ts'

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
 * @param keyOf returns the key of a token's data
 */
export function createRedisMeters(run: Run, keyOf: (tokenId: string, what: string) => string): MeterStore {
  const callKey = (tokenId: string, callId: string): string => keyOf(tokenId, `call:${callId}`)
  const meterKey = (tokenId: string, meter: Meter): string => keyOf(tokenId, `${meter.kind}:${meter.name}`)

  /** Runs the reserve script. `read` returns the states without counting. */
  const evaluateReserve = async (
    mode: 'reserve' | 'read',
    tokenId: string,
    callId: string,
    meters: readonly Meter[],
  ) => {
    const keys = [callKey(tokenId, callId), ...meters.map((meter) => meterKey(tokenId, meter))]
    const args = [mode, callId, String(leaseMs), String(reservedMs)]
    for (const meter of meters)
      args.push(meter.kind, spanOf(meter), String(meter.limit), String(meter.amount), String(requiredRoom(meter)))
    const [outcome = '', at, ...counts] = toTexts(await run((command) => evaluate(command, reserveScript, keys, args)))
    const now = Number(at)
    const read = meters.map((meter, n): MeterCount => {
      return { meter, now, current: Number(counts[2 * n]), previous: Number(counts[2 * n + 1]) }
    })
    return { outcome, now, read }
  }

  return {
    async reserve({ callId, tokenId, meters }): Promise<ReserveResult> {
      const { outcome, now, read } = await evaluateReserve('reserve', tokenId, callId, meters)
      const states = read.map(stateOf)
      if (outcome === 'ok') return { ok: true, states, at: now }
      const refusedBy = Number(outcome)
      const refusing = read[refusedBy]
      return { ok: false, refusedBy, waitMs: refusing && waitOf(refusing), states }
    },
    async settle({ callId, tokenId, at, meters, sums }) {
      const day = keyOf(tokenId, `sums:${sums?.day ?? ''}`)
      const keys = [callKey(tokenId, callId), day, ...meters.map((meter) => meterKey(tokenId, meter))]
      const added = sums === undefined ? [] : sumNames.filter((name) => sums.add[name] !== 0)
      const args = [callId, String(at ?? ''), String(settledMs), String(sumsDays * dayMs)]
      args.push(String(maxModelsPerDay), otherModels, sums?.model ?? '', String(added.length))
      for (const name of added) args.push(name, String(sums?.add[name]))
      for (const meter of meters) args.push(meter.kind, spanOf(meter), String(meter.amount), String(meter.actual))
      await run((command) => evaluate(command, settleScript, keys, args))
    },
    async renew(calls) {
      const running = calls
        .map((call) => ({ ...call, meters: call.meters.filter(({ kind }) => kind === 'concurrent') }))
        .filter(({ meters }) => meters.length > 0)
      if (running.length === 0) return
      await run(async (command) => {
        await Promise.all(
          running.map(({ callId, tokenId, meters }) => {
            const keys = [callKey(tokenId, callId), ...meters.map((meter) => meterKey(tokenId, meter))]
            return evaluate(command, renewScript, keys, [callId, String(leaseMs)])
          }),
        )
      })
    },
    async read(tokenId, meters) {
      if (meters.length === 0) return []
      return (await evaluateReserve('read', tokenId, '', meters)).read.map(stateOf)
    },
    async sums({ tokenId, from, to }) {
      const days = daysBetween(from, to)
      if (days.length === 0) return []
      const keys = days.map((day) => keyOf(tokenId, `sums:${day}`))
      const replies = await run((command) => evaluate(command, sumsScript, keys, []), { limit: 'command' })
      return days.flatMap((day, n) =>
        sumsOf(Array.isArray(replies) ? replies[n] : []).map((sums) => ({ day, ...sums })),
      )
    },
  }
}

const spanOf = (meter: Meter): string =>
  meter.kind === 'window' ? String(meter.windowMs) : meter.kind === 'period' ? meter.period : ''

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
