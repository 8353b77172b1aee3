import { describe, expect, test } from 'vitest'
import type { Awaitable } from '../base/async.ts'
import { leaseMs, maxModelsPerDay, otherModels, type Sums } from '../contract/meter-store.ts'
import {
  dayMs,
  dayOf,
  type Entered,
  type MetersUnderTest,
  meterScene,
  minute,
  noSums,
  perMinute,
  perPeriod,
  slots,
  total,
} from './meter-scene.test-support.ts'
import { metersInTime } from './meter-time.test-support.ts'

export type { MetersUnderTest } from './meter-scene.test-support.ts'

/**
 * Contract tests of every meter store.
 *
 * @param clock true if the store of `make` has a clock that can be set; otherwise windows are short and run in real time
 */
export function meterStoreContract(
  name: string,
  make: () => Awaitable<MetersUnderTest>,
  { clock = true }: { readonly clock?: boolean } = {},
): void {
  describe(`${name} as a meter store`, () => {
    const scene = meterScene(make, clock)
    const { store, hasClock, reserve, enter, settle, used, time, clockedTest } = scene

    describe('a reservation', () => {
      test('is counted by all meters, and reported in their order', async () => {
        const before = Date.now()
        const meters = [{ ...perMinute, amount: 3 }, slots, total]
        expect(await reserve(meters)).toMatchObject({ ok: true, at: expect.any(Number) })
        const result = await reserve(meters)
        expect(result.states).toEqual([
          { name: 'window:requests', limit: 10, used: 6, resetsAt: expect.any(Number) },
          { name: 'concurrent', limit: 2, used: 2 },
          { name: 'period:total', limit: 100, used: 20 },
        ])
        if (!hasClock) expect(Math.abs((await time()) - before)).toBeLessThan(minute)
      })

      test.each([
        ['the first', 0, [{ ...total, limit: 15 }, slots, perMinute]],
        ['the last', 2, [slots, perMinute, { ...total, limit: 15 }]],
        ['the first of two', 1, [perMinute, { ...slots, limit: 1 }, { ...total, limit: 15 }]],
      ])('is counted by no meter if %s rejects it', async (_, refusedBy, meters) => {
        await enter(meters)
        const before = await used(...meters)
        const result = await reserve(meters)
        expect(result).toMatchObject({ ok: false, refusedBy, states: before.map((used) => ({ used })) })
        expect(await used(...meters)).toEqual(before)
      })

      test('requires room only for its minimum amount', async () => {
        const tight = { ...total, limit: 20 }
        const guess = { ...tight, amount: 50, least: 5 }
        await enter([tight])
        const entered = await enter([guess])
        expect(await used(tight)).toEqual([60])
        expect((await reserve([{ ...tight, amount: 1 }])).ok).toBe(false)
        await settle(entered, 6)
        expect(await used(tight)).toEqual([16])
        expect(await reserve([guess])).toMatchObject({ ok: false, waitMs: undefined })
        expect((await reserve([{ ...guess, least: 4 }])).ok).toBe(true)
        const window = { ...perMinute, amount: 500, least: 1 }
        await enter([window])
        const refused = await reserve([window])
        expect(refused.ok ? 'accepted' : typeof refused.waitMs).toBe('number')
      })

      test('requires no room for what an earlier reservation of the same call has counted', async () => {
        const tight = { ...total, limit: 20 }
        await enter([{ ...tight, amount: 50, least: 5 }])
        expect(await reserve([{ ...tight, amount: 10, least: -29 }])).toMatchObject({ ok: false, waitMs: undefined })
        const more = await enter([{ ...tight, amount: 10, least: -30 }])
        expect(await used(tight)).toEqual([60])
        await settle(more, 0)
        expect(await used(tight)).toEqual([50])
      })

      test('may use at most the remainder', async () => {
        const tight = { ...total, limit: 20 }
        await enter([tight])
        expect((await reserve([{ ...tight, amount: 11 }])).ok).toBe(false)
        expect((await reserve([tight])).ok).toBe(true)
        expect((await reserve([{ ...tight, amount: 1 }])).ok).toBe(false)
        expect(await used(tight)).toEqual([20])
      })

      test('of zero counts nothing, and is rejected only if the limit is exceeded', async () => {
        const looking = [
          { ...total, limit: 10, amount: 0 },
          { ...perMinute, amount: 0 },
        ]
        await enter([{ ...total, limit: 10 }])
        expect((await reserve(looking)).ok).toBe(true)
        expect(await used(...looking)).toEqual([10, 0])
        await settle({ callId: 'more', at: undefined, meters: [total] }, 1)
        expect((await reserve(looking)).ok).toBe(false)
      })

      test.each([
        ['a limit on running calls', { ...slots, limit: 1 }],
        ['a total budget', { ...total, limit: 10 }],
        ['a window whose limit is smaller', { ...perMinute, amount: 11 }],
        ['a window with a limit of zero', { ...perMinute, limit: 0 }],
        ['a day whose budget is smaller', { ...perPeriod('day'), limit: 9 }],
      ])('that is rejected by %s has no wait time', async (_, meter) => {
        await reserve([meter])
        expect(await reserve([meter])).toMatchObject({ ok: false, refusedBy: 0, waitMs: undefined })
      })

      test('that is repeated is counted once and accepted, even if its own amounts fill the limit', async () => {
        const meters = [{ ...total, limit: 10 }, { ...slots, limit: 1 }, perMinute]
        const { callId } = await enter(meters)
        const again = await reserve(meters, callId)
        expect(again).toMatchObject({ ok: true, states: [{ used: 10 }, { used: 1 }, { used: 1 }] })
        await settle({ callId, at: undefined, meters }, 4)
        expect(await used(...meters)).toEqual([4, 0, 4])
      })

      test('counts once for two limits that share a counter', async () => {
        const meters = [perMinute, { ...perMinute, limit: 3 }, slots, { ...slots, limit: 5 }]
        const entered = await enter(meters)
        expect(await used(...meters)).toEqual([1, 1, 1, 1])
        await settle(entered, 3)
        expect(await used(...meters)).toEqual([3, 3, 0, 0])
        expect(await reserve(meters)).toMatchObject({ ok: false, refusedBy: 1 })
      })

      test('counts for only one token and one name', async () => {
        const tight = { ...total, limit: 10 }
        await enter([tight])
        expect((await reserve([tight], 'of another token', 'other')).ok).toBe(true)
        expect((await reserve([{ ...tight, name: 'period:total:other' }])).ok).toBe(true)
        expect((await reserve([tight])).ok).toBe(false)
      })
    })

    describe('a settlement', () => {
      test.each([
        ['less was used', 2],
        ['more was used', 37],
        ['the same amount was used', 10],
        ['nothing was used', 0],
      ])('replaces the reservation with the actual use when %s', async (_, actual) => {
        const meters = [total, { ...perMinute, limit: 100, amount: 10 }]
        const [first, second] = [await enter(meters), await enter(meters)]
        await settle(first, actual)
        expect(await used(...meters)).toEqual([10 + actual, 10 + actual])
        await settle(second, 1)
        expect(await used(...meters)).toEqual([1 + actual, 1 + actual])
      })

      test('may exceed the limit, and further calls are rejected', async () => {
        const entered = await enter([total])
        await settle(entered, 250)
        expect(await used(total)).toEqual([250])
        expect((await reserve([{ ...total, amount: 1 }])).ok).toBe(false)
      })

      test('releases only one running call', async () => {
        const first = await enter([slots])
        await enter([slots])
        expect((await reserve([slots])).ok).toBe(false)
        await settle(first, 1)
        await settle(first, 1)
        await settle({ callId: 'unknown', at: undefined, meters: [slots] }, 1)
        expect(await used(slots)).toEqual([1])
        expect((await reserve([slots])).ok).toBe(true)
        expect((await reserve([slots])).ok).toBe(false)
      })

      test('counts once, however often it is repeated', async () => {
        const entered = await enter([total, perMinute])
        const day = dayOf(await time())
        const sums = { day, model: 'm', add: { ...noSums, calls: 1, cost: 5 } }
        for (const actual of [3, 3, 50]) await settle(entered, actual, sums)
        expect(await used(total, perMinute)).toEqual([3, 3])
        expect(await store().sums({ tokenId: 't', from: day, to: day })).toEqual([{ ...sums.add, day, model: 'm' }])
      })

      test.each([
        ['its time is unknown', false],
        ['its time is now', true],
      ])('counts the use of a call whose reservation never arrived when %s', async (_, known) => {
        const at = known ? await time() : undefined
        await settle({ callId: 'lost', at, meters: [total, perMinute, slots] }, 7)
        expect(await used(total, perMinute, slots)).toEqual([7, 7, 0])
      })

      test('returns use that another call has counted if its own use is below 0', async () => {
        const entered = await enter([total, perMinute])
        await settle(entered, 8)
        await settle({ callId: 'correction', at: entered.at, meters: [total, perMinute] }, -5)
        expect(await used(total, perMinute)).toEqual([3, 3])
        await settle({ callId: 'correction', at: entered.at, meters: [total, perMinute] }, -5)
        expect(await used(total, perMinute)).toEqual([3, 3])
      })

      test('prevents a reservation that arrives later from being counted', async () => {
        const delayed = { callId: 'late', at: undefined, meters: [total, perMinute, slots] }
        await settle(delayed, 7)
        await reserve(delayed.meters, delayed.callId)
        expect(await used(...delayed.meters)).toEqual([7, 7, 0])
        await settle(delayed, 7)
        expect(await used(...delayed.meters)).toEqual([7, 7, 0])
      })

      test('may arrive in any order', async () => {
        const wide = { ...total, limit: 1000 }
        const entered: Entered[] = []
        for (let n = 0; n < 8; n++) entered.push(await enter([wide]))
        for (const [actual, n] of [5, 2, 7, 0, 6, 1, 4, 3].entries()) {
          const call = entered[n]
          if (call !== undefined) await settle(call, actual)
        }
        expect(await used(wide)).toEqual([28])
      })

      test('counts money in billionths exactly', async () => {
        const large = 4_000_000_123_456_789
        const money = { ...total, limit: Number.MAX_SAFE_INTEGER, amount: large }
        const entered = await enter([money])
        await settle(entered, large - 1)
        await enter([money])
        expect(await used(money)).toEqual([2 * large - 1])
      })
    })

    describe('running calls', () => {
      test('are not restored by a renewal after their settlement', async () => {
        const { callId, at, meters } = await enter([slots])
        await settle({ callId, at, meters }, 1)
        await store().renew([{ callId, tokenId: 't', meters }])
        expect(await used(slots)).toEqual([0])
      })

      test('are counted once, however often they are renewed', async () => {
        const call = { ...(await enter([slots])), tokenId: 't' }
        await store().renew([call, call])
        await store().renew([call])
        expect(await used(slots)).toEqual([1])
      })

      test('do not affect other counters', async () => {
        await store().renew([{ callId: 'a', tokenId: 't', meters: [perMinute, total] }])
        expect(await used(perMinute, total)).toEqual([0, 0])
      })

      clockedTest('give back their place after a minute without renewal', async (advance) => {
        const meter = { ...slots, limit: 1 }
        await enter([meter])
        advance(leaseMs - 1)
        expect((await reserve([meter])).ok).toBe(false)
        advance(1)
        expect(await used(meter)).toEqual([0])
        expect((await reserve([meter])).ok).toBe(true)
      })

      clockedTest('hold their place while they are renewed, and not for those beside them', async (advance) => {
        const [first] = [await enter([slots]), await enter([slots])]
        for (let n = 0; n < 9; n++) {
          advance(20_000)
          await store().renew([{ ...first, tokenId: 't' }])
        }
        expect(await used(slots)).toEqual([1])
        await enter([slots])
        advance(leaseMs - 1)
        // One lease expired, whatever the order of renewal.
        await store().renew([{ ...first, tokenId: 't' }])
        advance(1)
        expect(await used(slots)).toEqual([1])
        await settle(first, 1)
        expect(await used(slots)).toEqual([0])
      })

      clockedTest('that ran out are settled without harm', async (advance) => {
        const first = await enter([slots, total])
        advance(leaseMs)
        await enter([slots])
        await settle(first, 3)
        expect(await used(slots, total)).toEqual([1, 3])
      })
    })

    metersInTime(scene)

    describe('a read', () => {
      test('counts nothing, whatever the amounts', async () => {
        const meters = [total, perMinute, slots]
        await enter(meters)
        for (let n = 0; n < 30; n++) await store().read('t', meters)
        expect(await store().read('t', meters)).toEqual([
          { name: 'period:total', limit: 100, used: 10 },
          { name: 'window:requests', limit: 10, used: 1, resetsAt: expect.any(Number) },
          { name: 'concurrent', limit: 2, used: 1 },
        ])
        expect(await store().read('t', [])).toEqual([])
      })

      test('returns 0 for an unused meter', async () => {
        expect(await used(total, perMinute, slots, perPeriod('day'))).toEqual([0, 0, 0, 0])
      })
    })

    describe('usage sums', () => {
      let calls = 0
      const add = (day: string, model: string, sums: Partial<Sums>, tokenId = 't') =>
        store().settle({
          callId: `sum-${++calls}`,
          tokenId,
          at: undefined,
          meters: [],
          sums: { day, model, add: { ...noSums, ...sums } },
        })

      test('are accumulated for each day and model, and returned in order', async () => {
        const today = await time()
        const [first, second, third] = [dayOf(today - 2 * dayMs), dayOf(today - dayMs), dayOf(today)]
        const all = { calls: 1, inputTokens: 20, cachedTokens: 3, outputTokens: 40, cost: 5_000_000_001, unpriced: 1 }
        await add(third, 'b', all)
        await add(first, 'vendor/model:free', { calls: 1 })
        await add(third, 'a', { calls: 1, cost: 1 })
        await add(second, 'with\na "line"', { calls: 1, unpriced: 1 })
        await add(third, 'b', { ...all, cachedTokens: 0 })
        await add(third, 'a', { calls: 5 }, 'other')
        const rows = [
          { ...noSums, day: first, model: 'vendor/model:free', calls: 1 },
          { ...noSums, day: second, model: 'with\na "line"', calls: 1, unpriced: 1 },
          { ...noSums, day: third, model: 'a', calls: 1, cost: 1 },
          {
            day: third,
            model: 'b',
            calls: 2,
            inputTokens: 40,
            cachedTokens: 3,
            outputTokens: 80,
            cost: 10_000_000_002,
            unpriced: 2,
          },
        ]
        const sums = (from: string, to: string) => store().sums({ tokenId: 't', from, to })
        expect(await sums(first, third)).toEqual(rows)
        expect(await sums('2020-01-01', '2199-12-31')).toEqual(rows)
        expect(await sums(second, second)).toEqual(rows.slice(1, 2))
        expect(await sums(second, third)).toEqual(rows.slice(1))
        expect(await sums(third, first)).toEqual([])
        expect(await store().sums({ tokenId: 'nobody', from: first, to: third })).toEqual([])
      })

      test('belong to the named day, whenever the call is settled', async () => {
        const day = dayOf((await time()) - dayMs)
        const sums = { day, model: 'm', add: { ...noSums, calls: 1 } }
        await settle(await enter([total]), 3, sums)
        expect(await store().sums({ tokenId: 't', from: day, to: day })).toEqual([{ ...sums.add, day, model: 'm' }])
      })

      test('have a limited number of model names for each day, and one shared name for all others', async () => {
        const today = dayOf(await time())
        for (let n = 0; n < maxModelsPerDay; n++) await add(today, `m${n}`, { calls: 1, cost: 1 })
        await add(today, 'one more', { calls: 1, inputTokens: 5 })
        await add(today, 'and another', { calls: 1, cost: 2 })
        await add(today, 'm7', { calls: 1, cost: 4 })
        const rows = await store().sums({ tokenId: 't', from: today, to: today })
        expect(rows).toHaveLength(maxModelsPerDay + 1)
        expect(rows.find(({ model }) => model === otherModels)).toMatchObject({ calls: 2, inputTokens: 5, cost: 2 })
        expect(rows.find(({ model }) => model === 'm7')).toMatchObject({ calls: 2, cost: 5 })
        await add(today, 'one more', { calls: 1 }, 'other')
        expect(await store().sums({ tokenId: 'other', from: today, to: today })).toMatchObject([{ model: 'one more' }])
      })

      test('are not changed by a settlement without sums', async () => {
        await settle(await enter([total]), 3)
        expect(await store().sums({ tokenId: 't', from: '2020-01-01', to: '2199-12-31' })).toEqual([])
      })
    })
  })
}
