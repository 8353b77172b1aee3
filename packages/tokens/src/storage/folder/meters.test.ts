import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { Meter, Settlement } from '../../contract/meter-store.ts'
import { StorageAwayError } from '../../contract/storage.ts'
import { meterStoreContract } from '../meter-store.test-support.ts'
import { createProcessLock } from './files.ts'
import { createFolderMeters } from './meters.ts'
import { pendingFile, readPendingBatches } from './pending-calls.ts'
import { readSavedCounts } from './saved-counts.ts'
import { openDatabase } from './sqlite.ts'

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

/** Opens the folder as another process would: locks also apply between connections of one process. */
const open = (localMs = 30_000) => {
  const meters = createFolderMeters(folder, 'meters.db', createProcessLock(folder, 'counting.lock'), {
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

describe('the writing of counts', () => {
  test('happens within 100 ms of the first change, in one transaction', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const meters = open()
    await meters.reserve(aCall())
    vi.advanceTimersByTime(99)
    await meters.reserve(aCall())
    const file = join(folder, 'meters.db')
    expect(readSavedCounts(file).meters).toEqual([])
    vi.advanceTimersByTime(1)
    expect(readSavedCounts(file).meters).toHaveLength(1)
    expect(await used(open())).toBe(20)
    expect(vi.getTimerCount()).toBe(0)
  })

  test('contains changed entries only', async () => {
    const meters = open()
    await meters.reserve(aCall())
    await meters.reserve({ ...aCall(), tokenId: 'other' })
    meters.flush()
    // A value from outside stays only if the next write does not include it.
    const spoilt = openDatabase(join(folder, 'meters.db'), {})
    spoilt.exec(`UPDATE meters SET value = '"spoilt"'`)
    await meters.reserve(aCall())
    meters.flush()
    const values = spoilt.prepare('SELECT value FROM meters').all()
    spoilt.close()
    expect(values).toHaveLength(2)
    expect(values.filter(([value]) => value === '"spoilt"')).toHaveLength(1)
  })

  test('is completed by close', async () => {
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

  test('is repeated until it succeeds, without a loss', async () => {
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

  test('deletes expired counters from the file', async () => {
    const file = join(folder, 'meters.db')
    let now = Date.UTC(2026, 10, 21)
    const meters = createFolderMeters(folder, 'meters.db', createProcessLock(folder, 'counting.lock'), {
      localMs: 0,
      now: () => now,
    })
    opened.push(meters)
    const second: Meter = { name: 'second', limit: 9, amount: 1, kind: 'window', windowMs: 1_000 }
    await meters.reserve(aCall(second))
    meters.flush()
    expect(readSavedCounts(file).meters).toHaveLength(1)
    now += 60_000
    for (let n = 0; n < 9; n++) await meters.reserve({ ...aCall(), tokenId: `other ${n}` })
    meters.flush()
    expect(readSavedCounts(file).meters.filter(({ key }) => key.includes('second'))).toEqual([])
  })
})

describe('a folder in which only one process counts', () => {
  test('lets a process that only reads see the written counts without the lock', async () => {
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

  test('makes a second process continue from the written counts, warn once and then reject calls', async () => {
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
    // The first process is not affected.
    expect(await reserve(first, aCall())).toMatchObject({ ok: true, states: [{ used: 20 }] })
  })

  test('makes the second process take over when the first has ended, and add its own counts', async () => {
    const [first, second] = [open(), open()]
    await first.reserve(aCall())
    first.flush()
    const [done, running] = [aCall(), aCall()]
    const reserved = await reserve(second, done)
    await reserve(second, running)
    await second.settle(settled(done, 4, reserved.ok ? reserved.at : undefined))
    await second.settle(settled(done, 4, reserved.ok ? reserved.at : undefined))
    // The second process does not see this until it takes over.
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

  test('contains the counts of a second process that is closed after the first has ended', async () => {
    const [first, second] = [open(), open()]
    await first.reserve(aCall())
    await second.settle(settled(aCall(), 4))
    first.close()
    second.close()
    expect(await used(open())).toBe(14)
  })
})

describe('the calls of a second process', () => {
  const pending = () => readPendingBatches(folder).flatMap(({ settlements }) => settlements)
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance', 'Date'] })
  })

  test('are added to the counts of the first while both run, and after both have ended', async () => {
    const [first, second] = [open(), open()]
    await first.reserve(aCall())
    await second.settle(settled(aCall(), 4))
    await second.settle(settled(aCall(), 3))
    vi.advanceTimersByTime(100)
    expect(pending()).toHaveLength(2)
    first.flush()
    // A read-only process sees them before the first has added them.
    expect(await used(open())).toBe(17)
    vi.advanceTimersByTime(1_000)
    expect(await used(first)).toBe(17)
    expect(await calls(first)).toBe(2)
    expect(pending()).toEqual([])
    await second.settle(settled(aCall(), 2))
    second.close()
    first.close()
    expect(await used(open())).toBe(19)
    expect(await calls(open())).toBe(3)
    expect(warnings).toHaveLength(1)
    expect(warnings[0]).toContain('The usage of this process is added to those counts later')
  })

  test('are written to the folder when it closes while another process counts, also for unlimited tokens', async () => {
    const [first, second] = [open(), open()]
    await first.reserve(aCall())
    first.flush()
    await second.settle(settled(aCall(), 4))
    await second.settle({ ...settled(aCall(), 5), meters: [] })
    second.close()
    expect(warnings).toHaveLength(1)
    vi.advanceTimersByTime(1_000)
    expect(await reserve(first, aCall())).toMatchObject({ ok: true, states: [{ used: 24 }] })
    expect(await calls(first)).toBe(2)
  })

  test('are counted at the time of the call', async () => {
    const minute: Meter = { name: 'minute', limit: 100, amount: 10, kind: 'window', windowMs: 60_000 }
    vi.setSystemTime('2026-11-21T23:59:59Z')
    const [first, second] = [open(), open()]
    await first.reserve(aCall())
    const day: Meter = { ...total(), name: 'day', kind: 'period', period: 'day' }
    await second.settle(settled(aCall(day), 4))
    vi.advanceTimersByTime(2_000)
    expect(await first.read('tok', [day, minute])).toMatchObject([{ used: 0 }, { used: 0 }])
  })

  test('are counted once if the first process ends before it has deleted them', async () => {
    const [first, second] = [open(), open()]
    await first.reserve(aCall())
    await second.settle(settled(aCall(), 4))
    second.close()
    // While one process writes, the others cannot delete.
    const writing = openDatabase(join(folder, pendingFile), {})
    writing.exec('BEGIN IMMEDIATE')
    vi.advanceTimersByTime(1_000)
    expect(await used(first)).toBe(14)
    expect(warnings.at(-1)).toContain('calls of another process could not be added')
    vi.advanceTimersByTime(1_000)
    expect(await used(first)).toBe(14)
    expect(await used(open())).toBe(14)
    first.close()
    writing.close()
    expect(pending()).toHaveLength(1)
    const next = open()
    expect(await reserve(next, aCall())).toMatchObject({ ok: true, states: [{ used: 24 }] })
    expect(pending()).toEqual([])
    next.flush()
    expect(readSavedCounts(join(folder, 'meters.db')).merged.size).toBe(1)
    vi.advanceTimersByTime(1_000)
    expect(await used(next)).toBe(24)
    next.flush()
    // No state of deleted batches remains.
    expect(readSavedCounts(join(folder, 'meters.db')).merged.size).toBe(0)
  })

  test('are counted by the next process if the first ends before writing them', async () => {
    const [first, second] = [open(), open()]
    await first.reserve(aCall())
    first.flush()
    await second.settle(settled(aCall(), 4))
    second.close()
    const writing = openDatabase(join(folder, 'meters.db'), {})
    writing.exec('BEGIN IMMEDIATE')
    vi.advanceTimersByTime(1_000)
    expect(await used(first)).toBe(14)
    expect(pending()).toHaveLength(1)
    // Counts in the memory of the first process end with it.
    const copy = mkdtempSync(join(tmpdir(), 'modelgate-copy-'))
    cpSync(folder, copy, { recursive: true })
    writing.close()
    const next = createFolderMeters(copy, 'meters.db', createProcessLock(copy, 'counting.lock'), { localMs: 0 })
    expect(await reserve(next, aCall())).toMatchObject({ ok: true, states: [{ used: 24 }] })
    next.close()
    rmSync(copy, { recursive: true })
  })

  test('stay in memory with one warning while the file cannot be written', async () => {
    const [first, second] = [open(), open()]
    await first.reserve(aCall())
    await second.settle(settled(aCall(), 4))
    vi.advanceTimersByTime(100)
    const writing = openDatabase(join(folder, pendingFile), {})
    writing.exec('BEGIN IMMEDIATE')
    await second.settle(settled(aCall(), 3))
    vi.advanceTimersByTime(3_000)
    expect(warnings.filter((warning) => warning.includes('counts cannot be written to'))).toHaveLength(1)
    expect(() => second.flush()).toThrow(StorageAwayError)
    writing.close()
    vi.advanceTimersByTime(1_000)
    expect(warnings.at(-1)).toContain('are written to')
    expect(await used(first)).toBe(17)
  })

  test('that were not written are added when that process takes over', async () => {
    const [first, second] = [open(), open()]
    await first.reserve(aCall())
    await second.settle(settled(aCall(), 4))
    vi.advanceTimersByTime(100)
    await second.settle(settled(aCall(), 3))
    first.close()
    expect(await reserve(second, aCall())).toMatchObject({ ok: true, states: [{ used: 27 }] })
    expect(pending()).toEqual([])
    second.close()
    expect(await used(open())).toBe(27)
  })

  test('are counted once if one of their batch is unreadable', async () => {
    const [first, second] = [open(), open()]
    await first.reserve(aCall())
    await second.settle(settled(aCall(), 4))
    second.close()
    // An entry as another version might write it.
    const written = openDatabase(join(folder, pendingFile), {})
    written.exec(`UPDATE batches SET settlements = json_insert(settlements, '$[#]', json('{"callId":"unreadable"}'))`)
    written.close()
    // Longer than a counter keeps the ids of settled calls.
    for (let second = 0; second < 200; second++) {
      vi.advanceTimersByTime(1_000)
      expect(await used(first)).toBe(14)
    }
    expect(await calls(first)).toBe(1)
    expect(pending()).toEqual([])
    expect(warnings.filter((warning) => warning.includes('is unreadable'))).toHaveLength(1)
  })

  test('cannot be read from a damaged file, which is reported at the start', async () => {
    writeFileSync(join(folder, pendingFile), 'no database '.repeat(500))
    expect(() => open().check()).toThrow(/pending\.db is not a database\. Restore it/)
    const meters = open()
    expect(await reserve(meters, aCall())).toMatchObject({ ok: true })
    expect(warnings).toEqual([expect.stringContaining('calls of another process could not be added')])
  })
})

meterStoreContract('a folder', () => {
  let time = Date.parse('2026-11-21T12:00:00Z')
  const place = mkdtempSync(join(tmpdir(), 'modelgate-meters-'))
  const store = createFolderMeters(place, 'meters.db', createProcessLock(place, 'counting.lock'), {
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
