import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { Meter } from '../../contract/meter-store.ts'
import { StorageAwayError } from '../../contract/storage.ts'
import { createMemoryMeters } from '../memory/meters.ts'
import { createLocalShares } from './local-shares.ts'

beforeEach(() => void vi.useFakeTimers({ now: Date.parse('2026-11-21T12:00:00Z') }))
afterEach(() => void vi.useRealTimers())

const minute: Meter = { kind: 'window', name: 'minute', windowMs: 60_000, limit: 10, amount: 1 }
const running: Meter = { kind: 'concurrent', name: 'running', limit: 5, amount: 1 }
const day: Meter = { kind: 'period', name: 'day', period: 'day', limit: 100, amount: 10 }
const total: Meter = { kind: 'period', name: 'total', period: 'total', limit: 100, amount: 10 }

const make = () => {
  const shares = createLocalShares(createMemoryMeters())
  let calls = 0
  /** `ok`, the index of the meter that rejects the call, or `away`. */
  const enter = async (sharedBy: number, ...meters: Meter[]): Promise<'ok' | 'away' | number> => {
    const callId = `call-${++calls}`
    try {
      const result = await shares.reserve({ callId, tokenId: 't', meters }, sharedBy)
      return result.ok ? 'ok' : result.refusedBy
    } catch (error) {
      if (error instanceof StorageAwayError) return 'away'
      throw error
    }
  }
  const enterAll = async (sharedBy: number, ...meters: Meter[]) => {
    for (let entered = 0; ; entered++) {
      const outcome = await enter(sharedBy, ...meters)
      if (outcome !== 'ok') return { entered, outcome }
    }
  }
  const settle = async (call: number, meter: Meter, actual: number): Promise<void> => {
    await shares.settle(
      { callId: `call-${call}`, tokenId: 't', at: Date.now(), meters: [{ ...meter, actual }] },
      Date.now(),
    )
  }
  const known = (meter: Meter, used: number, resetsAt?: number) =>
    shares.updateKnown(
      't',
      [meter],
      [{ name: meter.name, limit: meter.limit, used, ...(resetsAt !== undefined && { resetsAt }) }],
    )
  return { shares, enter, enterAll, settle, known }
}

describe('the share of an owner', () => {
  const ofOwner: Meter = { ...total, account: 'owner:team' }

  it('is one for all its tokens, and the remainder is known from the calls of any of them', async () => {
    const shares = createLocalShares(createMemoryMeters())
    await shares.updateKnown(
      't1',
      [total, ofOwner],
      [
        { name: 'total', limit: 100, used: 0 },
        { name: 'total', limit: 100, used: 40 },
      ],
    )
    let calls = 0
    const enter = (tokenId: string) => shares.reserve({ callId: `${++calls}`, tokenId, meters: [ofOwner] }, 2)
    // Half of the remaining 60.
    for (const tokenId of ['t1', 't2', 't3']) expect((await enter(tokenId)).ok).toBe(true)
    await expect(enter('t1')).rejects.toThrow(StorageAwayError)
    const settled = { callId: '1', tokenId: 't1', at: Date.now(), meters: [{ ...ofOwner, actual: 0 }] }
    await shares.settle(settled, Date.now())
    expect((await enter('t4')).ok).toBe(true)
    await expect(enter('t4')).rejects.toThrow(StorageAwayError)
  })

  it('is separate from the budget of a token with the same period', async () => {
    const shares = createLocalShares(createMemoryMeters())
    await shares.updateKnown(
      't1',
      [total, ofOwner],
      [
        { name: 'total', limit: 100, used: 100 },
        { name: 'total', limit: 100, used: 0 },
      ],
    )
    const enter = (meters: Meter[]) => shares.reserve({ callId: String(meters.length), tokenId: 't1', meters }, 1)
    expect(await enter([ofOwner, total])).toMatchObject({ ok: false, refusedBy: 1 })
    expect(await enter([ofOwner])).toMatchObject({ ok: true, states: [{ used: 10 }] })
  })
})

describe('the share of a limit', () => {
  it.each([
    ['the whole limit for one process', minute, 1, 10],
    ['half of it for two processes', minute, 2, 5],
    ['a third of it, rounded down, for three processes', minute, 3, 3],
    ['at least one for many processes', minute, 25, 1],
    ['zero for a limit of zero', { ...minute, limit: 0 }, 2, 0],
    ['half of a limit on running calls for two processes', running, 2, 2],
  ])('is %s', async (_, meter, sharedBy, entered) => {
    expect(await make().enterAll(sharedBy, meter)).toEqual({ entered, outcome: 0 })
  })

  it('keeps its count from one outage to the next', async () => {
    const { enterAll, known } = make()
    expect((await enterAll(2, minute)).entered).toBe(5)
    await known(minute, 3)
    expect((await enterAll(2, minute)).entered).toBe(0)
    vi.advanceTimersByTime(120_000)
    expect((await enterAll(2, minute)).entered).toBe(5)
  })

  it('does not cause a call to be reported as too large for its limit', async () => {
    const { enter } = make()
    expect(await enter(4, { ...minute, amount: 3 })).toBe('away')
    expect(await enter(4, { ...minute, amount: 11 })).toBe(0)
  })

  it('is not reported as used up by a call that is larger than the share', async () => {
    const call = { callId: 'call', tokenId: 't', meters: [{ ...minute, amount: 3 }] }
    await expect(make().shares.reserve(call, 4)).rejects.toThrow(
      "this process's share of the limit is too small for the call: minute",
    )
  })
})

describe('the share of a budget', () => {
  it('is zero if the budget is unknown', async () => {
    expect(await make().enter(1, total)).toBe('away')
  })

  it('is the remainder, divided', async () => {
    const { known, enterAll } = make()
    await known(total, 40)
    expect(await enterAll(2, total)).toEqual({ entered: 3, outcome: 'away' })
  })

  it('is zero if the budget is spent, and the call fails with the limit error', async () => {
    const { known, enter } = make()
    await known(total, 95)
    expect(await enter(1, total)).toBe(0)
  })

  it('counts the actual use of calls', async () => {
    const { known, enterAll, settle } = make()
    await known(total, 0)
    expect((await enterAll(2, total)).entered).toBe(5)
    await settle(1, total, 0)
    expect((await enterAll(2, total)).entered).toBe(1)
    await settle(2, total, 20)
    await settle(3, total, 0)
    expect((await enterAll(2, total)).entered).toBe(0)
  })

  it('is computed again for the next outage, minus the unwritten usage', async () => {
    const { shares, known, enterAll, settle } = make()
    await known(total, 0)
    expect((await enterAll(2, total)).entered).toBe(5)
    // Two of five settlements are written; Redis has usage of other processes too.
    await settle(1, total, 10)
    await settle(2, total, 10)
    shares.release('call-1')
    shares.release('call-2')
    await known(total, 20)
    // Half of 80, minus 30.
    expect((await enterAll(2, total)).entered).toBe(1)
  })

  it('resets with the day', async () => {
    const { known, enterAll } = make()
    await known(day, 100, Date.parse('2026-11-22T00:00:00Z'))
    expect(await enterAll(2, day)).toEqual({ entered: 0, outcome: 0 })
    vi.setSystemTime(Date.parse('2026-11-22T00:00:01Z'))
    expect((await enterAll(2, day)).entered).toBe(5)
    vi.setSystemTime(Date.parse('2026-11-23T00:00:01Z'))
    expect((await enterAll(2, day)).entered).toBe(5)
  })
})

it('does not raise the remainder of a budget by calls of the previous day', async () => {
  const { shares, known, enterAll, settle } = make()
  const [today, tomorrow] = [Date.parse('2026-11-22T00:00:00Z'), Date.parse('2026-11-23T00:00:00Z')]
  await known(day, 0, today)
  expect((await enterAll(2, day)).entered).toBe(5)
  vi.setSystemTime(today + 1000)
  expect((await enterAll(2, day)).entered).toBe(5)
  for (const call of [1, 2, 3, 4, 5]) {
    await settle(call, day, 10)
    shares.release(`call-${call}`)
  }
  await known(day, 0, tomorrow)
  expect((await enterAll(2, day)).entered).toBe(0)
})

it('counts a call that one share rejects in no share, and reports the first rejecting one', async () => {
  const { enter, enterAll, known } = make()
  await known(total, 100)
  for (let n = 0; n < 20; n++) expect(await enter(2, minute, total)).toBe(1)
  expect((await enterAll(2, minute, running)).entered).toBe(2)
  expect(await enter(2, minute, running, total)).toBe(1)
})
