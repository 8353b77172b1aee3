import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import type { Meter } from '../contract/meter-store.ts'
import type { Period } from '../contract/token.ts'
import { dayMs, type MeterScene, minute, perMinute, perPeriod, total, waitOf } from './meter-scene.test-support.ts'

/** Contract tests of windows and periods as time passes. */
export function metersInTime(scene: MeterScene): void {
  const { store, hasClock, reserve, enter, settle, take, used, time } = scene
  const { advance, clockedTest, goTo, goToWindow } = scene

  describe('a sliding window', () => {
    clockedTest('counts what is left of the window before', async (advance) => {
      const meter = { ...perMinute, limit: 20, amount: 10 }
      const start = await goToWindow(minute)
      const table = [
        [0, 10],
        [59_999, 10],
        [60_000, 10],
        [60_001, 10],
        [66_000, 9],
        [90_000, 5],
        [90_001, 5],
        [119_999, 1],
        [120_000, 0],
      ] as const
      await enter([meter])
      for (const [after, full] of table) {
        await goTo(start + after)
        const resetsAt = start + (Math.floor(after / minute) + 1) * minute
        const state = { name: meter.name, limit: 20, used: full, resetsAt }
        expect(await store().read('t', [meter]), `after ${after} ms`).toEqual([state])
      }
      advance(10 * minute)
      expect(await used(meter)).toEqual([0])
    })

    clockedTest('adds a call to the current window', async () => {
      const start = await goToWindow(minute)
      await enter([{ ...perMinute, amount: 10 }])
      await goTo(start + 90_000)
      expect((await reserve([{ ...perMinute, amount: 6 }])).ok).toBe(false)
      await enter([{ ...perMinute, amount: 5 }])
      expect(await used(perMinute)).toEqual([10])
      await goTo(start + 150_000)
      expect(await used(perMinute)).toEqual([3])
    })

    // Columns: use in the previous window, use in the current one, elapsed time, amount, limit.
    if (hasClock)
      test.for([
        [10, 3, 0, 1, 10],
        [10, 3, 500, 6, 10],
        [0, 10, 0, 5, 10],
        [0, 4, 200, 10, 10],
        [7, 3, 1, 5, 10],
        [10, 10, 333, 10, 20],
        [999, 1, 1, 7, 1_000],
        [123_456, 98_765, 777, 33_333, 150_000],
      ] as const)(
        'with %i before and %i now, after %i ms, reports how long %i of %i must wait',
        async ([before, used, after, amount, limit]) => {
          const second = { ...perMinute, name: 'window:second', windowMs: 1000, limit, amount }
          const start = await goToWindow(1000)
          await take([second], before)
          await goTo(start + 1000)
          await take([second], used)
          await goTo(start + 1000 + after)
          const wait = waitOf(await reserve([second]))
          expect(wait).toBeGreaterThan(0)
          advance(Number(wait) - 1)
          expect(waitOf(await reserve([second]))).toBe(1)
          advance(1)
          expect(waitOf(await reserve([second]))).toBe('ok')
        },
      )

    clockedTest('is corrected down where the call was reserved', async () => {
      const start = await goToWindow(minute)
      const entered = await enter([{ ...perMinute, amount: 10 }])
      await goTo(start + 75_000)
      expect(await used(perMinute)).toEqual([8])
      await settle(entered, 4)
      expect(await used(perMinute)).toEqual([3])
      await goTo(start + 120_000)
      expect(await used(perMinute)).toEqual([0])
    })

    clockedTest('is corrected by a settlement in the current window', async () => {
      const start = await goToWindow(minute)
      const entered = await enter([{ ...perMinute, amount: 4 }])
      await goTo(start + 90_000)
      await settle(entered, 10)
      expect(await used(perMinute)).toEqual([8])
      await goTo(start + 150_000)
      expect(await used(perMinute)).toEqual([3])
    })

    clockedTest('is not corrected for use in windows that have expired', async (advance) => {
      await goToWindow(minute)
      const entered = await enter([{ ...perMinute, amount: 10 }])
      advance(2 * minute)
      await enter([{ ...perMinute, amount: 5 }])
      await settle(entered, 0)
      expect(await used(perMinute)).toEqual([5])
    })

    if (!hasClock)
      test('admits calls again in real time', async () => {
        const short: Meter = { ...perMinute, name: 'window:short', windowMs: 200, limit: 4, amount: 2 }
        for (let round = 0; round < 3; round++) {
          let result = await reserve([short])
          for (let n = 0; result.ok && n < 100; n++) result = await reserve([short])
          const wait = Number(waitOf(result))
          expect(wait).toBeGreaterThan(0)
          expect(wait).toBeLessThanOrEqual(400)
          // Timers may be early by part of a millisecond.
          await sleep(wait + 2)
          expect(waitOf(await reserve([short]))).toBe('ok')
        }
        await sleep(402)
        expect(await used(short)).toEqual([0])
      })
  })

  if (hasClock)
    describe('a period', () => {
      // Time of a call, and the reset of its period. 2032 is a leap year, 2034 is not; 2032-01-05 is a Monday.
      const table: readonly (readonly [Period, string, string])[] = [
        ['day', '2032-01-05T00:00:00.000', '2032-01-06'],
        ['day', '2032-02-28T23:59:59.998', '2032-02-29'],
        ['day', '2032-02-29T12:00:00.000', '2032-03-01'],
        ['day', '2034-12-31T12:00:00.000', '2035-01-01'],
        ['week', '2032-01-05T00:00:00.000', '2032-01-12'],
        ['week', '2032-01-11T23:59:59.998', '2032-01-12'],
        ['week', '2032-02-28T12:00:00.000', '2032-03-01'],
        ['week', '2034-12-31T12:00:00.000', '2035-01-01'],
        ['month', '2032-01-01T00:00:00.000', '2032-02-01'],
        ['month', '2032-02-01T00:00:00.000', '2032-03-01'],
        ['month', '2032-02-28T23:59:59.998', '2032-03-01'],
        ['month', '2032-02-29T23:59:59.998', '2032-03-01'],
        ['month', '2034-02-01T00:00:00.000', '2034-03-01'],
        ['month', '2034-04-30T12:00:00.000', '2034-05-01'],
        ['month', '2034-12-31T12:00:00.000', '2035-01-01'],
      ]
      if (hasClock)
        test.for(table)('of one %s counts use at %s until %s', async ([period, from, until]) => {
          const meter = { ...perPeriod(period), limit: 10 }
          const [start, end] = [Date.parse(`${from}Z`), Date.parse(`${until}T00:00:00Z`)]
          await goTo(start)
          expect((await enter([meter])).at).toBe(start)
          expect(await store().read('t', [meter])).toEqual([{ name: meter.name, limit: 10, used: 10, resetsAt: end }])
          expect(waitOf(await reserve([meter]))).toBe(end - start)
          await goTo(end - 1)
          expect(waitOf(await reserve([meter]))).toBe(1)
          advance(1)
          expect(await used(meter)).toEqual([0])
          expect(waitOf(await reserve([meter]))).toBe('ok')
        })

      clockedTest('that is the total never resets', async (advance) => {
        await enter([{ ...total, amount: 60 }])
        advance(4000 * dayMs)
        expect(await store().read('t', [total])).toEqual([{ name: total.name, limit: 100, used: 60 }])
        expect((await reserve([{ ...total, amount: 41 }])).ok).toBe(false)
      })

      clockedTest('is empty after a pause of several', async (advance) => {
        const meters = [perPeriod('day'), perPeriod('week'), perPeriod('month')]
        await enter(meters)
        advance(100 * dayMs)
        expect(await used(...meters)).toEqual([0, 0, 0])
      })

      if (hasClock)
        test.for([
          ['less', 3],
          ['more', 50],
        ] as const)(
          'is corrected in the period of the reservation, not of the end, when the call used %s',
          async ([, actual]) => {
            const meters = [perPeriod('day'), perPeriod('month'), total]
            await goTo(Date.parse('2032-03-30T23:59:59Z'))
            const entered = await enter(meters)
            advance(2000)
            expect(await used(...meters)).toEqual([0, 10, 10])
            await settle(entered, actual)
            expect(await used(...meters)).toEqual([0, actual, actual])
          },
        )

      clockedTest('counts a call without reservation in the period of its reported start', async (advance) => {
        const meters = [perPeriod('day'), perPeriod('month')]
        await goTo(Date.parse('2032-03-30T23:59:59Z'))
        const at = await time()
        advance(2000)
        await settle({ callId: 'lost', at, meters }, 5)
        await settle({ callId: 'lost too', at: undefined, meters }, 2)
        expect(await used(...meters)).toEqual([2, 7])
      })
    })
}
