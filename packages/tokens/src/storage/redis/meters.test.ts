import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Meter, Settlement } from '../../contract/meter-store.ts'
import type { Period } from '../../contract/token.ts'
import { periodAt } from '../time-spans.ts'
import { type Command, commandOf } from './client.ts'
import { prelude } from './meter-scripts.ts'
import { createRedisMeters, type MeterCount, stateOf, waitOf } from './meters.ts'
import {
  type Connection,
  connect,
  connectToCluster,
  sharedRedis,
  startRedis,
  testPrefix,
  withoutRedis,
  withoutRedisToKill,
} from './redis.test-support.ts'

const window: Meter = { kind: 'window', name: 'window:requests', windowMs: 60_000, limit: 10, amount: 1 }
const month: Meter = { kind: 'period', name: 'period:money', period: 'month', limit: 9e15, amount: 5 }
const slots: Meter = { kind: 'concurrent', name: 'concurrent', limit: 2, amount: 1 }
const none = { calls: 0, inputTokens: 0, cachedTokens: 0, outputTokens: 0, cost: 0, unpriced: 0 }

/** Creates a separate meter store and records the commands that it sends. */
const on = (connection: Connection, prefix = testPrefix()) => {
  const command = commandOf(connection.client)
  const sent: (readonly string[])[] = []
  const noted: Command = (key, args) => {
    sent.push(args)
    return command(key, args)
  }
  const meters = createRedisMeters(
    (work) => work(noted),
    (id, what) => `${prefix}{${id}}:${what}`,
  )
  return { meters, command, sent, prefix }
}

let calls = 0
const callId = (): string => `call-${++calls}`
const settled = (
  call: string,
  meters: readonly Meter[],
  actual: number,
  more: Partial<Settlement> = {},
): Settlement => ({
  callId: call,
  tokenId: 't',
  at: undefined,
  meters: meters.map((meter) => ({ ...meter, actual })),
  ...more,
})

describe.skipIf(withoutRedis !== undefined).each(Object.entries(connect))('meters in Redis, by %s', (_, connected) => {
  let server: Awaited<ReturnType<typeof sharedRedis>>
  let connection: Connection
  beforeAll(async () => {
    server = await sharedRedis()
    connection = await connected(server.url)
  })
  afterAll(async () => {
    await connection?.close()
    await server?.close()
  })

  it('reserve any number of meters in one round trip', async () => {
    const { meters, sent } = on(connection)
    await meters.reserve({ callId: callId(), tokenId: 't', meters: [window, month, slots] })
    sent.length = 0
    const result = await meters.reserve({ callId: callId(), tokenId: 't', meters: [window, month, slots] })
    expect(result).toMatchObject({ ok: true, states: [{ used: 2 }, { used: 10 }, { used: 2 }] })
    expect(sent).toHaveLength(1)
  })

  it('send the scripts as source text again after Redis has lost them', async () => {
    const { meters, command, sent } = on(connection)
    await meters.reserve({ callId: callId(), tokenId: 't', meters: [window] })
    await command('', ['SCRIPT', 'FLUSH'])
    sent.length = 0
    const result = await meters.reserve({ callId: callId(), tokenId: 't', meters: [window] })
    expect(result).toMatchObject({ ok: true, states: [{ used: 2 }] })
    expect(sent.map(([name]) => name)).toEqual(['EVALSHA', 'EVAL'])
  })

  it('count large amounts exactly', async () => {
    const { meters } = on(connection)
    const large = 4_000_000_123_456_789
    const meter = { ...month, amount: large }
    const sums = { day: new Date().toISOString().slice(0, 10), model: 'a:b', add: { ...none, calls: 1, cost: large } }
    for (const n of [1, 2]) {
      const id = callId()
      const result = await meters.reserve({ callId: id, tokenId: 't', meters: [meter] })
      expect(result).toMatchObject({ ok: true, states: [{ used: n * large }] })
      await meters.settle(settled(id, [meter], large, { sums }))
    }
    const [day] = await meters.sums({ tokenId: 't', from: sums.day, to: sums.day })
    expect(day).toEqual({ ...none, day: sums.day, model: 'a:b', calls: 2, cost: 2 * large })
  })

  it.each([1.5, 1e300, Number.POSITIVE_INFINITY])('are not partially settled by an amount of %s', async (odd) => {
    const { meters } = on(connection)
    const id = callId()
    const [first, second] = [month, { ...month, name: 'period:tokens' }] as const
    await meters.reserve({ callId: id, tokenId: 't', meters: [first, second] })
    const sums = { day: new Date().toISOString().slice(0, 10), model: 'm', add: { ...none, calls: 1 } }
    const half = settled(id, [first], 3, { sums })
    const wrong = { ...half, meters: [...half.meters, { ...second, actual: odd }] }
    await expect(meters.settle(wrong)).rejects.toThrow('invalid count')
    expect(await meters.read('t', [first, second])).toMatchObject([{ used: 5 }, { used: 5 }])
    await meters.settle(settled(id, [first, second], 3, { sums }))
    expect(await meters.read('t', [first, second])).toMatchObject([{ used: 3 }, { used: 3 }])
    expect(await meters.sums({ tokenId: 't', from: sums.day, to: sums.day })).toMatchObject([{ calls: 1 }])
  })

  it('count a call once if several limits share a counter', async () => {
    const { meters } = on(connection)
    const id = callId()
    const two = [window, { ...window, limit: 2 }].map((meter) => ({ ...meter, amount: 2 }))
    const result = await meters.reserve({ callId: id, tokenId: 't', meters: two })
    expect(result).toMatchObject({ ok: true, states: [{ used: 2 }, { used: 2 }] })
    await meters.settle(settled(id, two, 1))
    expect(await meters.read('t', two)).toMatchObject([{ used: 1 }, { used: 1 }])
    expect(await meters.reserve({ callId: callId(), tokenId: 't', meters: two })).toMatchObject({
      ok: false,
      refusedBy: 1,
    })
  })

  it('do not count a reservation that arrives twice', async () => {
    const { meters } = on(connection)
    const reservation = { callId: callId(), tokenId: 't', meters: [{ ...window, limit: 1 }, slots] }
    await meters.reserve(reservation)
    const again = await meters.reserve(reservation)
    expect(again).toMatchObject({ ok: true, states: [{ used: 1 }, { used: 1 }] })
  })

  it('apply corrections by the clock of Redis, whatever the time in the settlement', async () => {
    const { meters } = on(connection)
    const id = callId()
    const reserved = [
      { ...window, amount: 8 },
      { ...month, amount: 8 },
    ]
    await meters.reserve({ callId: id, tokenId: 't', meters: reserved })
    await meters.settle(settled(id, reserved, 3, { at: Date.now() - 90 * 86_400_000 }))
    expect(await meters.read('t', reserved)).toMatchObject([{ used: 3 }, { used: 3 }])
  })

  it('do not restore a settled call on a renewal', async () => {
    const { meters } = on(connection)
    const id = callId()
    await meters.reserve({ callId: id, tokenId: 't', meters: [slots] })
    await meters.settle(settled(id, [slots], 1))
    await meters.renew([{ callId: id, tokenId: 't', meters: [slots] }])
    expect(await meters.read('t', [slots])).toMatchObject([{ used: 0 }])
  })

  it('count a running call by its renewal if Redis does not know it', async () => {
    const { meters } = on(connection)
    await meters.renew([{ callId: callId(), tokenId: 't', meters: [window, slots] }])
    expect(await meters.read('t', [window, slots])).toMatchObject([{ used: 0 }, { used: 1 }])
  })

  it('let all keys expire except totals', async () => {
    const { meters, command, prefix } = on(connection)
    const total: Meter = { kind: 'period', name: 'period:total', period: 'total', limit: 10, amount: 1 }
    const all = [window, month, slots, total]
    const [open, over] = [callId(), callId()]
    await meters.reserve({ callId: open, tokenId: 't', meters: all })
    await meters.reserve({ callId: over, tokenId: 't', meters: all })
    const day = new Date().toISOString().slice(0, 10)
    await meters.settle(settled(over, all, 1, { sums: { day, model: 'm', add: { ...none, calls: 1 } } }))
    const keys = {
      [`call:${open}`]: 86_400,
      [`call:${over}`]: 900,
      'window:window:requests': 120,
      'period:period:money': 31 * 86_400,
      'concurrent:concurrent': 60,
      'period:period:total': -1,
      [`sums:${day}`]: 400 * 86_400,
    }
    for (const [what, seconds] of Object.entries(keys)) {
      const left = Number(await command('', ['TTL', `${prefix}{t}:${what}`]))
      expect(left, what).toBeLessThanOrEqual(seconds)
      expect(left, what).toBeGreaterThanOrEqual(seconds - 5)
    }
  })

  it('compute days, weeks and months according to the calendar', async () => {
    const { command } = on(connection)
    const numberOf = async (period: Period, at: number): Promise<number> => {
      const lua = `${prelude} return period(ARGV[1], tonumber(ARGV[2]))`
      return Number(await command('', ['EVAL', lua, '0', period, String(at)]))
    }
    for (const period of ['day', 'week', 'month'] as const) {
      // Irregular steps across leap years and centuries.
      for (let at = Date.UTC(2024, 0, 1); at < Date.UTC(2110, 0, 1); at += 97.3 * 86_400_000) {
        const end = periodAt(period, at).until
        const number = await numberOf(period, at)
        expect(await numberOf(period, end - 1), `${period} of ${new Date(at).toISOString()}`).toBe(number)
        expect(await numberOf(period, end), `${period} after ${new Date(at).toISOString()}`).toBe(number + 1)
      }
    }
  })
})

const clusters = Object.entries(connectToCluster)
describe.skipIf(withoutRedisToKill !== undefined).each(clusters)('meters in a cluster, by %s', (_, connected) => {
  it('share the hash slot of their token', async () => {
    const server = await startRedis({ cluster: true })
    const connection = await connected(server.url)
    try {
      const { meters } = on(connection)
      const id = callId()
      const day = new Date().toISOString().slice(0, 10)
      const all = [window, month, slots]
      expect(await meters.reserve({ callId: id, tokenId: 't', meters: all })).toMatchObject({ ok: true })
      await meters.renew([{ callId: id, tokenId: 't', meters: all }])
      await meters.settle(settled(id, all, 1, { sums: { day, model: 'm', add: { ...none, calls: 1 } } }))
      expect(await meters.read('t', all)).toMatchObject([{ used: 1 }, { used: 1 }, { used: 0 }])
      const sums = await meters.sums({ tokenId: 't', from: '2020-01-01', to: '2099-12-31' })
      expect(sums).toEqual([{ ...none, day, model: 'm', calls: 1 }])
    } finally {
      await connection.close()
      await server.close()
    }
  })
})

const counted = (meter: Partial<Meter>, rest: Omit<MeterCount, 'meter'>): MeterCount => ({
  meter: { kind: 'window', windowMs: 1000, name: 'm', limit: 10, amount: 1, ...meter } as Meter,
  ...rest,
})

describe('a sliding window', () => {
  it.each([
    // now, current, previous: used
    [5000, 3, 10, 13],
    [5250, 3, 10, 11],
    [5999, 3, 10, 4],
    [5500, 0, 0, 0],
  ])('at %i with %i in the current and %i in the previous window counts %i', (now, current, previous, used) => {
    expect(stateOf(counted({}, { now, current, previous }))).toEqual({
      name: 'm',
      limit: 10,
      used,
      resetsAt: 6000,
    })
  })

  it.each([
    ['the previous window slides out', { amount: 1 }, 5000, 3, 10, 400],
    ['more of the previous window has slid out', { amount: 6 }, 5500, 3, 10, 400],
    ['the current window slides out after it', { amount: 5 }, 5000, 10, 0, 1500],
    ['the whole current window has slid out', { amount: 10 }, 5200, 4, 0, 1800],
    ['forever, because the amount exceeds the limit', { amount: 11 }, 5200, 4, 0, undefined],
  ])('waits until %s', (_, meter, now, current, previous, wait) => {
    expect(waitOf(counted(meter, { now, current, previous }))).toBe(wait)
  })

  it('admits the amount exactly when the wait ends, and not earlier', () => {
    const room = (meter: Meter, at: number, current: number, previous: number): boolean => {
      const [start, resetAt] = [5000, Math.floor(at / 1000) * 1000]
      const now =
        resetAt === start
          ? { current, previous }
          : resetAt === start + 1000
            ? { current: 0, previous: current }
            : { current: 0, previous: 0 }
      return stateOf({ meter, now: at, ...now }).used + meter.amount <= meter.limit
    }
    let checked = 0
    for (let current = 0; current <= 12; current++) {
      for (let previous = 0; previous <= 12; previous++) {
        for (let amount = 0; amount <= 10; amount++) {
          const all = counted({ amount }, { now: 5137, current, previous })
          if (room(all.meter, all.now, current, previous)) continue
          const wait = waitOf(all) ?? Number.NaN
          expect(room(all.meter, all.now + wait, current, previous), `${current} ${previous} ${amount}`).toBe(true)
          expect(room(all.meter, all.now + wait - 1, current, previous), `${current} ${previous} ${amount}`).toBe(false)
          checked++
        }
      }
    }
    expect(checked).toBeGreaterThan(500)
  })
})

describe('a period', () => {
  it('waits until its end', () => {
    const now = Date.parse('2026-11-21T11:00:00Z')
    const all = counted({ kind: 'period', period: 'day' }, { now, current: 10, previous: 0 })
    expect(stateOf(all)).toEqual({ name: 'm', limit: 10, used: 10, resetsAt: now + 13 * 3_600_000 })
    expect(waitOf(all)).toBe(13 * 3_600_000)
  })

  it('that is the total never ends', () => {
    const all = counted({ kind: 'period', period: 'total' }, { now: 5000, current: 10, previous: 0 })
    expect(stateOf(all)).toEqual({ name: 'm', limit: 10, used: 10 })
    expect(waitOf(all)).toBeUndefined()
  })
})

it('returns no wait time for a limit on running calls', () => {
  const all = counted({ kind: 'concurrent' }, { now: 5000, current: 10, previous: 0 })
  expect([stateOf(all), waitOf(all)]).toEqual([{ name: 'm', limit: 10, used: 10 }, undefined])
})
