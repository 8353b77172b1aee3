import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { meterStoreContract } from '../meters/meter-store.test-support.ts'
import type { Meter, Settlement } from '../meters/meter-store.ts'
import { createClaim } from './folder-claim.ts'
import { createFolderMeters } from './folder-meters.ts'
import { readSavedCounts } from './saved-counts.ts'
import { openDatabase } from './sqlite.ts'
import { StorageAwayError } from './storage.ts'

let folder: string
let opened: { close(): void }[]
let warnings: string[]
let lastCall = 0
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'modelgate-meters-'))
  opened = []
  warnings = []
})
afterEach(() => {
  vi.useRealTimers()
  for (const one of opened) one.close()
  rmSync(folder, { recursive: true })
})

/** As another process would: locks hold between connections of one process too. */
const open = (localMs = 30_000) => {
  const meters = createFolderMeters(folder, 'meters.db', createClaim(folder, 'counting.lock'), {
    localMs,
    logger: { warn: (message) => warnings.push(message) },
  })
  opened.push(meters)
  return meters
}
const total = (limit = 100): Meter => ({ name: 'total', limit, amount: 10, kind: 'period', period: 'total' })
const aCall = (meter = total()) => ({ callId: `call ${lastCall++}`, tokenId: 'tok', meters: [meter] })
const day = '2026-11-21'
const settled = (call: ReturnType<typeof aCall>, actual: number, at?: number): Settlement => ({
  ...call,
  at,
  meters: call.meters.map((meter) => ({ ...meter, actual })),
  sums: {
    day,
    model: 'm',
    add: { calls: 1, inputTokens: actual, cachedTokens: 0, outputTokens: 0, cost: 0, unpriced: 0 },
  },
})
type Meters = ReturnType<typeof open>
const used = async (meters: Meters) => (await meters.read('tok', [total()]))[0]?.used
const calls = async (meters: Meters) => (await meters.sums({ tokenId: 'tok', from: day, to: day }))[0]?.calls
const reserve = async (meters: Meters, call: ReturnType<typeof aCall>) => meters.reserve(call)

describe('counts are written behind', () => {
  test('within 100 ms of the first change, all in one transaction', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const meters = open()
    await meters.reserve(aCall())
    vi.advanceTimersByTime(99)
    await meters.reserve(aCall())
    const file = join(folder, 'meters.db')
    expect(readSavedCounts(file)).toEqual([])
    vi.advanceTimersByTime(1)
    expect(readSavedCounts(file)).toHaveLength(1)
    expect(await used(open())).toBe(20)
    expect(vi.getTimerCount()).toBe(0)
  })

  test('of what changed only', async () => {
    const meters = open()
    await meters.reserve(aCall())
    await meters.reserve({ ...aCall(), tokenId: 'other' })
    meters.flush()
    // What somebody else put there shows what is written next.
    const spoilt = openDatabase(join(folder, 'meters.db'), {})
    spoilt.exec(`UPDATE meters SET value = '"spoilt"'`)
    await meters.reserve(aCall())
    meters.flush()
    const values = spoilt.prepare('SELECT value FROM meters').all()
    spoilt.close()
    expect(values).toHaveLength(2)
    expect(values.filter(([value]) => value === '"spoilt"')).toHaveLength(1)
  })

  test('at last by close, which leaves nothing unwritten', async () => {
    const meters = open()
    for (let n = 0; n < 5; n++) {
      const call = aCall()
      const reserved = await meters.reserve(call)
      await meters.settle(settled(call, 3, reserved.ok ? reserved.at : undefined))
    }
    meters.close()
    const again = open()
    expect(await used(again)).toBe(15)
    expect(await calls(again)).toBe(5)
  })

  test('again and again while they cannot be, and nothing is lost', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const meters = open()
    await meters.reserve(aCall())
    meters.flush()
    const other = openDatabase(join(folder, 'meters.db'), {})
    other.exec('BEGIN IMMEDIATE')
    await meters.reserve(aCall())
    vi.advanceTimersByTime(100)
    await meters.reserve(aCall())
    expect(() => meters.flush()).toThrow(StorageAwayError)
    vi.advanceTimersByTime(3_000)
    expect(warnings).toEqual([expect.stringContaining('counts cannot be written')])
    other.exec('ROLLBACK')
    other.close()
    vi.advanceTimersByTime(1_000)
    expect(warnings).toEqual([expect.anything(), expect.stringContaining('are written to')])
    expect(await used(open())).toBe(30)
  })

  test('a counter that is past is gone from the file', async () => {
    const file = join(folder, 'meters.db')
    let now = Date.UTC(2026, 10, 21)
    const meters = createFolderMeters(folder, 'meters.db', createClaim(folder, 'counting.lock'), {
      localMs: 0,
      now: () => now,
    })
    opened.push(meters)
    const second: Meter = { name: 'second', limit: 9, amount: 1, kind: 'window', windowMs: 1_000 }
    await meters.reserve(aCall(second))
    meters.flush()
    expect(readSavedCounts(file)).toHaveLength(1)
    now += 60_000
    for (let n = 0; n < 9; n++) await meters.reserve({ ...aCall(), tokenId: `other ${n}` })
    meters.flush()
    expect(readSavedCounts(file).filter(({ key }) => key.includes('second'))).toEqual([])
  })
})

describe('one process counts in a folder', () => {
  test('who only looks takes nothing, and sees what was written', async () => {
    const [looking, counting] = [open(), open()]
    expect(await used(looking)).toBe(0)
    expect(await calls(looking)).toBeUndefined()
    const call = aCall()
    await counting.reserve(call)
    await counting.settle(settled(call, 7))
    counting.flush()
    expect(await used(looking)).toBe(7)
    expect(await calls(looking)).toBe(1)
    expect(warnings).toEqual([])
  })

  test('a second one goes on from what the first has written, tells of it once, and refuses in the end', async () => {
    const [first, second] = [open(), open(200)]
    await first.reserve(aCall(total(40)))
    first.flush()
    expect(await reserve(second, aCall(total(40)))).toMatchObject({ ok: true, states: [{ used: 20 }] })
    expect(await reserve(second, aCall(total(25)))).toMatchObject({ ok: false, refusedBy: 0 })
    expect(warnings).toHaveLength(1)
    expect(warnings[0]).toMatch(/another process counts calls in .*redisStorage/)
    await new Promise((resolve) => setTimeout(resolve, 210))
    await expect(reserve(second, aCall())).rejects.toThrow(StorageAwayError)
    await expect(reserve(second, aCall())).rejects.toThrow(/another process counts calls in .*redisStorage/)
    expect(warnings).toHaveLength(1)
    // The first has noticed nothing.
    expect(await reserve(first, aCall())).toMatchObject({ ok: true, states: [{ used: 20 }] })
  })

  test('when the first is gone, the second takes over and adds what it counted meanwhile', async () => {
    const [first, second] = [open(), open()]
    await first.reserve(aCall())
    first.flush()
    const [done, running] = [aCall(), aCall()]
    const reserved = await reserve(second, done)
    await reserve(second, running)
    await second.settle(settled(done, 4, reserved.ok ? reserved.at : undefined))
    await second.settle(settled(done, 4, reserved.ok ? reserved.at : undefined))
    // Unseen by the second until it takes over.
    await first.reserve(aCall())
    first.close()
    expect(await reserve(second, aCall())).toMatchObject({ ok: true, states: [{ used: 20 + 4 + 10 }] })
    await second.settle(settled(running, 6))
    expect(await used(second)).toBe(40)
    expect(await calls(second)).toBe(2)
    second.close()
    expect(await used(open())).toBe(40)
    expect(warnings).toEqual([expect.anything(), expect.stringContaining('this process now counts')])
  })

  test('one that is closed while another counts tells what it could not write', async () => {
    const [first, second] = [open(), open()]
    await first.reserve(aCall())
    await second.settle(settled(aCall(), 4))
    second.close()
    expect(warnings.at(-1)).toContain('1 calls are not counted')
    first.flush()
    expect(await used(first)).toBe(10)
  })

  test('one that is closed when the first is gone writes what it counted', async () => {
    const [first, second] = [open(), open()]
    await first.reserve(aCall())
    await second.settle(settled(aCall(), 4))
    first.close()
    second.close()
    expect(await used(open())).toBe(14)
  })
})

meterStoreContract('a folder', () => {
  let time = Date.parse('2026-11-21T12:00:00Z')
  const place = mkdtempSync(join(tmpdir(), 'modelgate-meters-'))
  const store = createFolderMeters(place, 'meters.db', createClaim(place, 'counting.lock'), {
    localMs: 0,
    now: () => time,
  })
  return {
    store,
    now: {
      advance: (ms) => {
        time += ms
      },
    },
    close: async () => {
      store.close()
      rmSync(place, { recursive: true })
    },
  }
})
