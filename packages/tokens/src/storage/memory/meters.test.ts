import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { leaseMs, type Meter, type MeterStore } from '../../contract/meter-store.ts'
import { createMeterModel } from '../meter-model.test-support.ts'
import { dayMs, minute, noSums, perMinute, perPeriod, slots, total } from '../meter-scene.test-support.ts'
import { meterStoreContract } from '../meter-store.test-support.ts'
import { createMemoryMeters, type SavedEntry } from './meters.ts'

/** A Saturday. */
const start = Date.parse('2026-11-21T12:00:00Z')

meterStoreContract('memory', () => {
  let time = start
  return {
    store: createMemoryMeters({ now: () => time }),
    now: {
      advance: (ms) => {
        time += ms
      },
    },
  }
})
meterStoreContract('memory, by the real clock,', () => ({ store: createMemoryMeters() }), { clock: false })

/** The reported changes as a file would store them: the last value of each key. */
const keeper = () => {
  const kept = new Map<string, SavedEntry['value']>()
  let most = 0
  return {
    onChange: ({ key, value }: SavedEntry): void => {
      if (value === null) kept.delete(key)
      else kept.set(key, value)
      most = Math.max(most, kept.size)
    },
    saved: (): SavedEntry[] => JSON.parse(JSON.stringify([...kept].map(([key, value]) => ({ key, value })))),
    size: () => kept.size,
    most: () => most,
  }
}

it('returns its results synchronously, without a promise', () => {
  const meters = createMemoryMeters()
  const call = { callId: 'a', tokenId: 't', meters: [perMinute, slots, total] }
  const answers = [
    meters.reserve(call),
    meters.renew([call]),
    meters.read('t', call.meters),
    meters.settle({ ...call, at: undefined, meters: [] }),
    meters.sums({ tokenId: 't', from: '2026-01-01', to: '2026-12-31' }),
  ]
  expect(answers.filter((answer) => answer instanceof Promise)).toEqual([])
})

describe('saved counts', () => {
  const counted = [perMinute, perPeriod('day'), perPeriod('week'), perPeriod('month'), total]

  it('restore the same counts and sums, immediately and later', async () => {
    let time = start
    const now = () => time
    const { onChange, saved } = keeper()
    const before = createMemoryMeters({ now, onChange })
    const wide = counted.map((meter) => ({ ...meter, limit: 1e9 }))
    for (let n = 0; n < 200; n++) {
      const call = { callId: `call-${n}`, tokenId: `token ${n % 3}: "a"\n`, meters: wide }
      const at = time
      await before.reserve(call)
      time += 1237 * (n % 9)
      const sums = { day: `2026-11-${20 + (n % 3)}`, model: `m:${n % 4}\n`, add: { ...noSums, calls: 1, cost: n } }
      if (n % 5 > 0)
        await before.settle({ ...call, at, meters: wide.map((meter) => ({ ...meter, actual: n % 30 })), sums })
    }
    const after = createMemoryMeters({ now, saved: saved() })
    for (const passes of [0, 20_000, minute, dayMs, 2 * dayMs, 30 * dayMs]) {
      time += passes
      for (let n = 0; n < 3; n++) {
        const tokenId = `token ${n}: "a"\n`
        const states = await before.read(tokenId, wide)
        expect(states.filter(({ used }) => used > 0).length).toBeGreaterThan(0)
        expect(await after.read(tokenId, wide)).toEqual(states)
        const query = { tokenId, from: '2026-01-01', to: '2026-12-31' }
        const sums = await before.sums(query)
        expect(sums).toHaveLength(4)
        expect(await after.sums(query)).toEqual(sums)
      }
    }
  })

  it('are reported for each change before reserve returns, and not for reads or rejections', async () => {
    const saved: SavedEntry[] = []
    const meters = createMemoryMeters({ now: () => start, onChange: (entry) => saved.push(entry) })
    const tight = { ...total, limit: 10 }
    await meters.reserve({ callId: 'a', tokenId: 't', meters: [tight, slots] })
    expect(saved).toHaveLength(1)
    await meters.reserve({ callId: 'b', tokenId: 't', meters: [perMinute, tight] })
    await meters.read('t', [perMinute, tight, slots])
    expect(saved).toHaveLength(1)
    await meters.settle({ callId: 'a', tokenId: 't', at: start, meters: [{ ...tight, actual: 3 }] })
    expect(saved.map(({ key }) => key)).toEqual([saved[0]?.key, saved[0]?.key])
  })

  it('continue counting after a restore', async () => {
    const { onChange, saved } = keeper()
    const before = createMemoryMeters({ now: () => start, onChange })
    for (let n = 0; n < 9; n++) await before.reserve({ callId: `a${n}`, tokenId: 't', meters: [perMinute] })
    const after = createMemoryMeters({ now: () => start, saved: saved() })
    expect(await after.reserve({ callId: 'b1', tokenId: 't', meters: [perMinute] })).toMatchObject({ ok: true })
    expect(await after.reserve({ callId: 'b2', tokenId: 't', meters: [perMinute] })).toMatchObject({ ok: false })
  })

  it('do not include running calls', async () => {
    const { onChange, saved } = keeper()
    const before = createMemoryMeters({ onChange })
    await before.reserve({ callId: 'a', tokenId: 't', meters: [slots] })
    expect(await createMemoryMeters({ saved: saved() }).read('t', [slots])).toMatchObject([{ used: 0 }])
  })
})

describe('an expired counter', () => {
  it('is dropped: of 100,000 tokens with windows of one second, only those of the last seconds remain', async () => {
    let time = start
    const { onChange, most, size } = keeper()
    const meters = createMemoryMeters({ now: () => time, onChange })
    const second: Meter = { ...perMinute, name: 'window:second', windowMs: 1000 }
    for (let n = 0; n < 100_000; n++) {
      const call = { callId: `c${n}`, tokenId: `t${n}`, meters: [second] }
      await meters.reserve(call)
      await meters.settle({ ...call, at: time, meters: [{ ...second, actual: 1 }] })
      // At a thousand calls per second, two thousand tokens have active counters.
      time++
    }
    expect(most()).toBeGreaterThan(1000)
    expect(most()).toBeLessThan(10_000)
    time += 2000
    for (let n = 0; n < 10_000; n++) await meters.reserve({ callId: `d${n}`, tokenId: 'one', meters: [second] })
    expect(size()).toBe(1)
  })

  it('is also dropped for periods, and never for a total', async () => {
    let time = start
    const { onChange, size, saved } = keeper()
    const meters = createMemoryMeters({ now: () => time, onChange })
    const all = [perPeriod('day'), perPeriod('week'), perPeriod('month'), total]
    for (let n = 0; n < 100; n++) await meters.reserve({ callId: `c${n}`, tokenId: `t${n}`, meters: all })
    expect(size()).toBe(400)
    time += 32 * dayMs
    for (let n = 0; n < 1000; n++) await meters.reserve({ callId: `d${n}`, tokenId: 'one', meters: [slots] })
    // The clock may have been set ahead by mistake.
    expect(size()).toBe(400)
    time += 60 * minute
    for (let n = 0; n < 1000; n++) await meters.reserve({ callId: `e${n}`, tokenId: 'one', meters: [slots] })
    expect(size()).toBe(100)
    const again = createMemoryMeters({ now: () => time, saved: saved() })
    expect(await again.read('t7', all)).toMatchObject([{ used: 0 }, { used: 0 }, { used: 0 }, { used: 10 }])
  })

  it('is dropped for sums after 400 days', async () => {
    let time = start
    const { onChange, saved } = keeper()
    const meters = createMemoryMeters({ now: () => time, onChange })
    const settle = (day: string) =>
      meters.settle({
        callId: day,
        tokenId: 't',
        at: time,
        meters: [],
        sums: { day, model: 'm', add: { ...noSums, calls: 1 } },
      })
    await settle('2026-11-20')
    await settle('2026-11-21')
    time += 400 * dayMs
    await settle('2027-12-26')
    const query = { tokenId: 't', from: '2026-01-01', to: '2028-12-31' }
    const days = ['2026-11-21', '2027-12-26']
    expect((await meters.sums(query)).map(({ day }) => day)).toEqual(days)
    expect((await createMemoryMeters({ saved: saved() }).sums(query)).map(({ day }) => day)).toEqual(days)
  })
})

describe('a clock change', () => {
  const windows: Meter[] = [perMinute, perPeriod('day')]

  it('back by a little resets no counter', async () => {
    let time = start
    const meters = createMemoryMeters({ now: () => time })
    await meters.reserve({ callId: 'a', tokenId: 't', meters: windows })
    time -= 500
    expect(await meters.read('t', windows)).toMatchObject([{ used: 1 }, { used: 10 }])
    const full = { ...perMinute, limit: 1 }
    const refused = await meters.reserve({ callId: 'b', tokenId: 't', meters: [full] })
    time += refused.ok ? 0 : (refused.waitMs ?? 0) - 1
    expect((await meters.reserve({ callId: 'b', tokenId: 't', meters: [full] })).ok).toBe(false)
    time++
    expect((await meters.reserve({ callId: 'b', tokenId: 't', meters: [full] })).ok).toBe(true)
  })

  it('to the correct time after years ahead frees no quota for calls that end now', async () => {
    let time = start + 3650 * dayMs
    const meters = createMemoryMeters({ now: () => time })
    await meters.reserve({ callId: 'a', tokenId: 't', meters: windows })
    const at = time
    time = start
    await meters.settle({ callId: 'a', tokenId: 't', at, meters: windows.map((meter) => ({ ...meter, actual: 0 })) })
    expect(await meters.read('t', windows)).toMatchObject([{ used: 0 }, { used: 0 }])
  })

  it('to the correct time after years ahead grants no second budget, and rejects calls for at most one period', async () => {
    let time = start + 3650 * dayMs
    const meters = createMemoryMeters({ now: () => time })
    const tight = windows.map((meter) => ({ ...meter, limit: meter.amount }))
    await meters.reserve({ callId: 'a', tokenId: 't', meters: tight })
    time = start
    expect(await meters.reserve({ callId: 'b', tokenId: 't', meters: tight })).toMatchObject({ ok: false })
    time += dayMs - 1
    expect(await meters.reserve({ callId: 'c', tokenId: 't', meters: tight })).toMatchObject({
      ok: false,
      refusedBy: 1,
    })
    time += 1
    expect((await meters.reserve({ callId: 'd', tokenId: 't', meters: tight })).ok).toBe(true)
    expect((await meters.reserve({ callId: 'e', tokenId: 't', meters: tight })).ok).toBe(false)
  })

  describe('while a process runs', () => {
    beforeEach(() => void vi.useFakeTimers({ now: start }))
    afterEach(() => void vi.useRealTimers())
    /** Sets the time of day, as an administrator or NTP does; the monotonic clock is unaffected. */
    const step = (ms: number): void => void vi.setSystemTime(Date.now() + ms)
    const hours = 60 * minute

    it.each([
      ['ahead by 301 s', 301_000],
      ['ahead by a day', dayMs],
      ['back by an hour', -hours],
      ['back by a year', -365 * dayMs],
    ])('%s neither resets a window nor extends it', async (_, ms) => {
      const meters = createMemoryMeters()
      const full: Meter = { ...perMinute, limit: 2 }
      await meters.reserve({ callId: 'a', tokenId: 't', meters: [full] })
      await meters.reserve({ callId: 'b', tokenId: 't', meters: [full] })
      step(ms)
      const refused = await meters.reserve({ callId: 'c', tokenId: 't', meters: [full] })
      expect(refused).toMatchObject({ ok: false, waitMs: 1.5 * minute, states: [{ resetsAt: Date.now() + minute }] })
      vi.advanceTimersByTime(1.5 * minute)
      expect((await meters.reserve({ callId: 'd', tokenId: 't', meters: [full] })).ok).toBe(true)
    })

    it.each([
      ['ahead', 2 * hours],
      ['back', -2 * hours],
    ])('%s neither ends nor extends the lease of a running call', async (_, ms) => {
      const meters = createMemoryMeters()
      const one = { ...slots, limit: 1 }
      await meters.reserve({ callId: 'a', tokenId: 't', meters: [one] })
      step(ms)
      vi.advanceTimersByTime(leaseMs - 1)
      expect(await meters.read('t', [one])).toMatchObject([{ used: 1 }])
      vi.advanceTimersByTime(1)
      expect(await meters.read('t', [one])).toMatchObject([{ used: 0 }])
    })

    it('ahead past the end of a period and back grants one budget for each period', async () => {
      const meters = createMemoryMeters()
      const day = { ...perPeriod('day'), limit: 10 }
      vi.setSystemTime(Date.parse('2026-11-21T23:58:00Z'))
      const reserve = async (callId: string) => (await meters.reserve({ callId, tokenId: 't', meters: [day] })).ok
      expect([await reserve('a'), await reserve('b')]).toEqual([true, false])
      step(301_000)
      expect([await reserve('c'), await reserve('d')]).toEqual([true, false])
      step(-301_000)
      expect(await reserve('e')).toBe(false)
      vi.advanceTimersByTime(3 * minute)
      expect(await reserve('f')).toBe(false)
      vi.setSystemTime(Date.parse('2026-11-23T00:00:00Z'))
      expect(await reserve('g')).toBe(true)
    })

    it('ahead past the end of a period keeps the budgets of tokens without calls', async () => {
      const meters = createMemoryMeters()
      const day = { ...perPeriod('day'), limit: 10 }
      await meters.reserve({ callId: 'a', tokenId: 't', meters: [day] })
      step(dayMs)
      for (let n = 0; n < 10; n++) await meters.reserve({ callId: `other ${n}`, tokenId: 'other', meters: [day] })
      step(-dayMs)
      expect((await meters.reserve({ callId: 'b', tokenId: 't', meters: [day] })).ok).toBe(false)
    })

    it('does not move the usage of a call out of the period of its reservation', async () => {
      const meters = createMemoryMeters()
      const counted = [perMinute, perPeriod('day')]
      vi.setSystemTime(Date.parse('2026-11-21T00:02:00Z'))
      const result = await meters.reserve({ callId: 'a', tokenId: 't', meters: counted })
      step(-301_000)
      const at = result.ok ? result.at : undefined
      await meters.settle({ callId: 'a', tokenId: 't', at, meters: counted.map((meter) => ({ ...meter, actual: 0 })) })
      expect(await meters.read('t', counted)).toMatchObject([{ used: 0 }, { used: 0 }])
    })
  })
})

it('expires later leases even if a renewal arrives before its reservation', async () => {
  let time = start
  const meters = createMemoryMeters({ now: () => time })
  const wide = { ...slots, limit: 9 }
  const call = (callId: string) => ({ callId, tokenId: 't', meters: [wide] })
  await meters.renew([call('a')])
  time += 1000
  await meters.reserve(call('b'))
  time += 30_000
  await meters.reserve(call('a'))
  time += leaseMs - 30_000
  expect(await meters.read('t', [wide])).toMatchObject([{ used: 1 }])
})

describe('random calls over time, with repeated settlements', () => {
  // Shortly before the simultaneous end of a day, a week and a month.
  const begin = Date.parse('2027-01-31T23:30:00Z')
  const meters: Meter[] = [
    { ...perMinute, name: 'window:second', windowMs: 1000, limit: 12 },
    { ...perMinute, limit: 25 },
    { ...perPeriod('day'), limit: 30 },
    { ...perPeriod('week'), limit: 31 },
    { ...perPeriod('month'), limit: 32 },
    { ...total, limit: 60 },
    { ...slots, limit: 4 },
  ]
  const which = fc.nat(30)
  const step = (mostActual: 'amount' | 'any') =>
    fc.oneof(
      { weight: 5, arbitrary: fc.record({ do: fc.constant('reserve' as const), amount: fc.nat(6) }) },
      {
        weight: 4,
        arbitrary: fc.record({
          do: fc.constant('settle' as const),
          which,
          actual: fc.nat(10),
          upTo: fc.constant(mostActual),
        }),
      },
      { weight: 1, arbitrary: fc.record({ do: fc.constant('again' as const), which }) },
      { weight: 1, arbitrary: fc.record({ do: fc.constant('renew' as const), which, upTo: fc.constant(mostActual) }) },
      {
        weight: 4,
        arbitrary: fc.record({
          do: fc.constant('pass' as const),
          ms: fc.oneof(fc.nat(30), fc.nat(1500), fc.nat(90_000), fc.nat(1_200_000)),
        }),
      },
    )
  type Step = ReturnType<typeof step> extends fc.Arbitrary<infer S> ? S : never
  interface Call {
    readonly callId: string
    readonly amount: number
    entered: boolean
    settledAt?: number
    at?: number
  }

  const run = (
    steps: readonly Step[],
    check: (store: MeterStore, model: ReturnType<typeof createMeterModel>) => void,
  ) => {
    let time = begin
    const { onChange, saved } = keeper()
    const store = createMemoryMeters({ now: () => time, onChange })
    const model = createMeterModel(() => time)
    const calls: Call[] = []
    const metersOf = ({ amount }: { amount: number }): Meter[] =>
      meters.map((meter) => ({ ...meter, amount: meter.kind === 'concurrent' ? 1 : amount }))
    const reserve = (call: Call): void => {
      const requested = metersOf(call)
      const result = store.reserve({ callId: call.callId, tokenId: 't', meters: requested })
      const refusedBy = model.reserve(call.callId, requested)
      expect(result).toMatchObject(refusedBy < 0 ? { ok: true } : { ok: false, refusedBy })
      if (refusedBy < 0 && !call.entered) Object.assign(call, { entered: true, at: time })
    }
    const settle = (call: Call, actual: number): void => {
      // A store may have dropped the call after that time.
      if (call.settledAt !== undefined && time - call.settledAt > 50_000) return
      const settled = metersOf(call).map((meter) => ({ ...meter, actual }))
      store.settle({ callId: call.callId, tokenId: 't', at: call.at, meters: settled })
      model.settle(call.callId, settled)
      call.settledAt ??= time
    }
    for (const one of steps) {
      const call = 'which' in one ? calls[one.which] : undefined
      if (one.do === 'pass') time += one.ms
      else if (one.do === 'reserve') {
        const fresh: Call = { callId: `c${calls.length}`, amount: one.amount, entered: false }
        calls.push(fresh)
        reserve(fresh)
      } else if (call === undefined) continue
      else if (one.do === 'again') {
        if (call.settledAt === undefined || time - call.settledAt < 50_000) reserve(call)
      } else if (one.do === 'renew') {
        if (call.settledAt !== undefined && time - call.settledAt > 50_000) continue
        // A renewal would restore its slot, although other calls may use it by now.
        if (one.upTo === 'amount' && !model.runs(call.callId)) continue
        store.renew([{ callId: call.callId, tokenId: 't', meters }])
        model.renew(call.callId, meters)
      } else if (one.upTo === 'any') settle(call, one.actual)
      else if (call.entered) settle(call, Math.min(call.amount, one.actual))
      check(store, model)
    }
    for (const call of calls) if (call.entered && call.settledAt === undefined) settle(call, call.amount >> 1)
    check(store, model)
    const pass = (ms: number): void => {
      time += ms
    }
    return { store, model, calls, saved, pass, now: () => time }
  }
  const read = (store: MeterStore, of: readonly Meter[] = meters) => store.read('t', of) as readonly { used: number }[]

  it('return the same counts as a plain list of all events', () => {
    fc.assert(
      fc.property(fc.array(step('any'), { minLength: 5, maxLength: 60 }), (steps) => {
        const { store, saved, pass, now } = run(steps, (store, model) => {
          expect(read(store).map(({ used }) => used)).toEqual(meters.map(model.used))
        })
        const counted = meters.filter(({ kind }) => kind !== 'concurrent')
        const again = createMemoryMeters({ now, saved: saved() })
        for (const ms of [0, 700, 45_000, dayMs]) {
          pass(ms)
          expect(read(again, counted)).toEqual(read(store, counted))
        }
      }),
      { numRuns: 400 },
    )
  })

  it('never exceed a limit by reservations, and end with the usage of all calls and no running call', () => {
    fc.assert(
      fc.property(fc.array(step('amount'), { minLength: 5, maxLength: 60 }), (steps) => {
        const { store, model, calls, pass } = run(steps, (store) => {
          for (const [n, { used }] of read(store).entries()) expect(used).toBeLessThanOrEqual(meters[n]?.limit ?? 0)
        })
        const took = calls.filter(({ entered }) => entered).map(({ callId }) => model.tookOf(callId))
        const sum = took.reduce((all, one) => all + one, 0)
        expect(read(store, [total])).toMatchObject([{ used: sum }])
        pass(leaseMs)
        expect(read(store, [slots])).toMatchObject([{ used: 0 }])
      }),
      { numRuns: 200 },
    )
  })
})
