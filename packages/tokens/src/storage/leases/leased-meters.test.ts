import { expect, test } from 'vitest'
import type { Meter, MeterStore, Settlement, Sums } from '../../contract/meter-store.ts'
import { createMemoryMeters } from '../memory/meters.ts'
import { meterStoreContract } from '../meter-store.test-support.ts'
import { createLeasedMeters, type LeasedMeters } from './leased-meters.ts'

const logger = { warn() {}, error: (text: string) => expect.unreachable(text) }
const period: Meter = { kind: 'period', period: 'total', name: 'period:total', limit: 100_000, amount: 10 }
const perMinute: Meter = { kind: 'window', windowMs: 60_000, name: 'window:requests', limit: 5_000, amount: 1 }
const sums: Sums = { calls: 1, inputTokens: 2, cachedTokens: 0, outputTokens: 3, cost: 5, unpriced: 0 }

meterStoreContract('memory with leases', () => {
  let time = 20_500 * 86_400_000
  const now = (): number => time
  return {
    store: createLeasedMeters(createMemoryMeters({ now }), { processes: () => 1, logger, now }),
    now: {
      advance(ms) {
        time += ms
      },
    },
  }
})

/** A central store that counts its requests, for stores of several processes with a clock of their own. */
function scene(processes: number, { isRemote = false }: { readonly isRemote?: boolean } = {}) {
  let time = 20_500 * 86_400_000
  let requests = 0
  const now = (): number => time
  const memory = createMemoryMeters({ now })
  const counted =
    <Args extends unknown[], R>(method: (...args: Args) => R) =>
    (...args: Args): R => {
      requests++
      // As a channel between processes: in order, and the result comes later.
      return (isRemote ? Promise.resolve(method(...args)).then(later) : method(...args)) as R
    }
  const later = async <T>(value: T): Promise<T> => {
    await new Promise((resolve) => setImmediate(resolve))
    return value
  }
  const central: MeterStore = { ...memory, reserve: counted(memory.reserve), settle: counted(memory.settle) }
  const stores = Array.from({ length: processes }, () =>
    createLeasedMeters(central, { processes: () => processes, logger, now }),
  )
  let calls = 0
  const reserve = async (store: LeasedMeters, meters: readonly Meter[], tokenId = 't') => {
    const callId = `call-${calls++}`
    const result = await store.reserve({ callId, tokenId, meters })
    return { ...result, callId, meters, tokenId }
  }
  type Reserved = Awaited<ReturnType<typeof reserve>>
  const settle = (store: LeasedMeters, { callId, tokenId, meters, ...result }: Reserved, actual: number): unknown => {
    const settlement: Settlement = {
      ...{ callId, tokenId, at: result.ok ? result.at : undefined },
      meters: meters.map((meter) => ({ ...meter, actual: meter.kind === 'window' ? meter.amount : actual })),
      sums: { day: '2026-11-21', model: 'm', add: sums },
    }
    return store.settle(settlement)
  }
  return {
    ...{ stores, memory, reserve, settle },
    requests: () => requests,
    advance(ms: number) {
      time += ms
    },
    used: async (meter: Meter, tokenId = 't') => (await memory.read(tokenId, [meter]))[0]?.used,
  }
}

test('counts the calls of a busy account with few requests to the central store, and exactly', async () => {
  const { stores, memory, reserve, settle, requests, used } = scene(2)
  for (let n = 0; n < 1_000; n++) {
    const store = stores[n % 2] as LeasedMeters
    const call = await reserve(store, [period, perMinute])
    expect(call.ok).toBe(true)
    await settle(store, call, 7)
  }
  expect(requests()).toBeLessThan(100)
  for (const store of stores) await store.close()
  expect(await used(period)).toBe(7_000)
  expect(await used(perMinute)).toBe(1_000)
  expect(await memory.sums({ tokenId: 't', from: '2026-11-21', to: '2026-11-21' })).toEqual([
    {
      day: '2026-11-21',
      model: 'm',
      calls: 1_000,
      inputTokens: 2_000,
      cachedTokens: 0,
      outputTokens: 3_000,
      cost: 5_000,
      unpriced: 0,
    },
  ])
})

test.each([false, true])(
  'never exceeds a limit, and admits all but the stated part of it (remote: %s)',
  async (isRemote) => {
    const processes = 4
    const { stores, reserve, used } = scene(processes, { isRemote })
    const limited: Meter = { ...perMinute, limit: 2_000 }
    let admitted = 0
    const rejectedAfter: number[] = []
    for (let round = 0; round < 80; round++) {
      await Promise.all(
        Array.from({ length: 32 }, async (_, n) => {
          const { ok } = await reserve(stores[(round + (n % 5)) % processes] as LeasedMeters, [limited])
          if (ok) admitted++
          else rejectedAfter.push(admitted)
          expect(await used(limited)).toBeLessThanOrEqual(2_000)
        }),
      )
    }
    expect(admitted).toBeLessThanOrEqual(2_000)
    // Three other processes may hold leases of a thirty-second of the room each.
    expect(rejectedAfter[0]).toBeGreaterThanOrEqual(2_000 * (1 - 1 / 8))
    expect(admitted).toBeGreaterThanOrEqual(1_990)
  },
)

test('charges the lease of a killed process in full, and no more', async () => {
  const { stores, reserve, settle, used, advance } = scene(2)
  const [killed, other] = stores as [LeasedMeters, LeasedMeters]
  for (let n = 0; n < 50; n++) settle(killed, await reserve(killed, [period]), 10)
  const charged = (await used(period)) ?? 0
  expect(charged).toBeGreaterThanOrEqual(500)
  expect(charged).toBeLessThanOrEqual(500 + 100_000 / 16)
  advance(5_000)
  settle(other, await reserve(other, [period]), 10)
  await other.close()
  expect(await used(period)).toBe(charged + 10)
})

test('returns what a lease still holds after a second, and counts calls that outlive it', async () => {
  const { stores, reserve, settle, used, advance } = scene(1)
  const [store] = stores as [LeasedMeters]
  for (let n = 0; n < 50; n++) settle(store, await reserve(store, [period]), 10)
  const [long, short] = [await reserve(store, [period]), await reserve(store, [period])]
  advance(2_000)
  // The next call finds the lease expired and asks the central store.
  settle(store, await reserve(store, [period]), 10)
  settle(store, long, 4)
  settle(store, short, 400)
  await store.close()
  expect(await used(period)).toBe(50 * 10 + 10 + 4 + 400)
})

test('charges use beyond the reservation although the lease has no more', async () => {
  const { stores, reserve, settle, used } = scene(1)
  const [store] = stores as [LeasedMeters]
  for (let n = 0; n < 20; n++) settle(store, await reserve(store, [period]), 10)
  settle(store, await reserve(store, [period]), 99_990)
  expect((await reserve(store, [period])).ok).toBe(false)
  await store.close()
  expect(await used(period)).toBe(20 * 10 + 99_990)
})

test('counts a repeated settlement and a repeated reservation once', async () => {
  const { stores, reserve, settle, used } = scene(1)
  const [store] = stores as [LeasedMeters]
  for (let n = 0; n < 20; n++) settle(store, await reserve(store, [period]), 10)
  const call = await reserve(store, [period])
  expect(await store.reserve({ callId: call.callId, tokenId: 't', meters: [period] })).toMatchObject({ ok: true })
  settle(store, call, 3)
  settle(store, call, 3)
  expect(await store.reserve({ callId: call.callId, tokenId: 't', meters: [period] })).toMatchObject({ ok: true })
  await store.close()
  expect(await used(period)).toBe(203)
})

test('never uses a lease in another window than that in which it was granted', async () => {
  const { stores, reserve, advance, used } = scene(1)
  const [store] = stores as [LeasedMeters]
  advance(59_700)
  for (let n = 0; n < 20; n++) await reserve(store, [perMinute])
  advance(400)
  await reserve(store, [perMinute])
  await store.close()
  // 20 of the previous window count with almost their full weight, and one of this window.
  expect(await used(perMinute)).toBe(21)
  advance(59_000)
  expect(await used(perMinute)).toBeLessThanOrEqual(2)
})

test('counts in the central store if it is asked rarely, close to a limit, or with a limit of concurrent calls', async () => {
  const { stores, reserve, requests, advance } = scene(1)
  const [store] = stores as [LeasedMeters]
  const requestsFor = async (work: () => Promise<unknown>): Promise<number> => {
    const before = requests()
    await work()
    return requests() - before
  }
  for (let n = 0; n < 10; n++) {
    expect(await requestsFor(() => reserve(store, [period], 'rare'))).toBe(1)
    advance(1_000)
  }
  for (let n = 0; n < 20; n++)
    expect(await requestsFor(() => reserve(store, [{ ...period, limit: 250 }], 'small'))).toBe(1)
  const slots: Meter = { kind: 'concurrent', name: 'concurrent', limit: 100, amount: 1 }
  for (let n = 0; n < 20; n++) expect(await requestsFor(() => reserve(store, [period, slots], 'slots'))).toBe(1)
})

test('counts a call once that is settled while it waits for a lease', async () => {
  const { stores, reserve, settle, used } = scene(1, { isRemote: true })
  const [store] = stores as [LeasedMeters]
  for (let n = 0; n < 3; n++) await settle(store, await reserve(store, [period]), 10)
  // The first of them asks for a lease, and the others wait for it.
  const calls = Array.from({ length: 8 }, (_, n) =>
    store.reserve({ callId: `left-${n}`, tokenId: 't', meters: [period] }),
  )
  const settlements = Array.from({ length: 8 }, (_, n) =>
    store.settle({ callId: `left-${n}`, tokenId: 't', at: undefined, meters: [{ ...period, actual: 1 }] }),
  )
  await Promise.all([...calls, ...settlements])
  await store.close()
  expect(await used(period)).toBe(3 * 10 + 8)
})

test('leases no more than its share of a counter that many tokens of one owner use', async () => {
  const { stores, reserve, settle, memory } = scene(1)
  const [store] = stores as [LeasedMeters]
  const budget: Meter = { ...period, account: 'owner:team' }
  for (let n = 0; n < 600; n++) settle(store, await reserve(store, [budget], `token-${n % 30}`), 10)
  const [state] = await memory.read('owner:team', [period])
  const leasedAmount = (state?.used ?? 0) - 6_000
  expect(leasedAmount).toBeGreaterThan(0)
  expect(leasedAmount).toBeLessThanOrEqual(100_000 / 8)
})
