import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Meter, MeterState, Settlement } from '../../contract/meter-store.ts'
import { type Storage, StorageAwayError } from '../../contract/storage.ts'
import type { TokenRecord } from '../../contract/token.ts'
import { type Connection, connect, startRedis, type TestRedis, withoutRedisToKill } from './redis.test-support.ts'
import { type RedisStorageOptions, redisStorage } from './redis-storage.ts'

if (withoutRedisToKill !== undefined) console.warn(`Tests with Redis are left out: ${withoutRedisToKill}`)

const day = 86_400_000
const requests: Meter = { kind: 'window', name: 'window:requests', windowMs: day, limit: 40, amount: 1 }
const budget: Meter = { kind: 'period', name: 'period:money', period: 'total', limit: 1000, amount: 10 }
const digest = 'd'.repeat(64)
const token: TokenRecord = {
  id: 't',
  limits: [],
  budgets: [],
  hint: 'mg-Ab3d',
  createdAt: 1000,
  version: 1,
  secrets: [{ digest }],
}

let redis: TestRedis
const open: { close(): Promise<void> }[] = []
beforeEach(async () => {
  if (withoutRedisToKill !== undefined) return
  redis = await startRedis()
  open.push(redis)
})
afterEach(async () => {
  for (const each of open.splice(0).reverse()) await each.close()
})

type Connected = (url: string) => Promise<Connection>

/** Creates a separate storage on the same Redis, as another process would. */
const join = async (connected: Connected, options: Partial<RedisStorageOptions> = {}) => {
  const connection = await connected(redis.url)
  open.push(connection)
  const logged: string[] = []
  const storage = redisStorage({
    client: connection.client,
    logger: { warn: (message) => logged.push(message) },
    ...options,
  })
  open.push(storage)
  return { storage, logged }
}

/** Waits until both storages have made calls and know of each other. */
const meet = async (...stores: Storage[]): Promise<void> => {
  for (let n = 0; n < 2; n++) {
    for (const store of stores) await store.meters.reserve({ callId: nextId(), tokenId: 'nobody', meters: [requests] })
    await sleep(300)
  }
}

let ids = 0
const nextId = (): string => `call-${++ids}`

/** Returns the call if it is admitted; it is still running. */
const enter = async (storage: Storage, meter: Meter, tokenId = 't'): Promise<Settlement | undefined> => {
  const callId = nextId()
  const result = await storage.meters.reserve({ callId, tokenId, meters: [meter] })
  return result.ok ? { callId, tokenId, at: result.at, meters: [{ ...meter, actual: meter.amount }] } : undefined
}

/** Makes calls until one is rejected. */
const enterAll = async (storage: Storage, meter: Meter): Promise<Settlement[]> => {
  const all: Settlement[] = []
  for (;;) {
    const call = await enter(storage, meter).catch(refusedWhileAway)
    if (call === undefined) return all
    all.push(call)
  }
}
const refusedWhileAway = (error: unknown): undefined => {
  if (!(error instanceof StorageAwayError)) throw error
}

const outcomeOf = (call: unknown): Promise<'answered' | 'away'> =>
  Promise.resolve(call).then(
    () => 'answered',
    (error: unknown) => {
      refusedWhileAway(error)
      return 'away'
    },
  )

/** Waits until Redis responds again, and returns the elapsed milliseconds. */
const untilBack = async (storage: Storage, most: number): Promise<number> => {
  const from = performance.now()
  while ((await outcomeOf(storage.tokens.get('t'))) === 'away') {
    const waited = performance.now() - from
    if (waited > most) throw new Error(`Redis is still away after ${waited} ms`)
    await sleep(10)
  }
  return performance.now() - from
}

const immediate = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
const many = { tokenId: 't', meters: [{ ...requests, limit: 1e6 }] }

/** Tolerance per wait for a busy machine. */
const delays = () => {
  let [last, longest] = [performance.now(), 0]
  const timer = setInterval(() => {
    const now = performance.now()
    longest = Math.max(longest, now - last - 5)
    last = now
  }, 5)
  open.push({ close: async () => clearInterval(timer) })
  return { longest: () => longest }
}

const outages: Readonly<Record<string, { begin(): unknown; end(): unknown; ms: number }>> = {
  'is killed': { begin: () => redis.kill(), end: () => redis.start(), ms: 400 },
  'is stopped for two seconds': { begin: () => redis.freeze(), end: () => redis.thaw(), ms: 2000 },
}

describe.skipIf(withoutRedisToKill !== undefined).each(Object.entries(connect))(
  'a storage in Redis, by %s',
  (_, connected) => {
    it.each(Object.entries(outages))(
      'does not block calls when Redis %s, and uses Redis again when it is back',
      async (_, outage) => {
        const { storage, logged } = await join(connected, { timeoutMs: 80, commandMs: 80 })
        await storage.tokens.create(token)
        expect((await storage.tokens.findByDigest(digest))?.id).toBe('t')
        await enter(storage, requests)

        const took: { readonly ms: number; readonly at: number; readonly what: string; readonly waited: boolean }[] = []
        const timed = async (what: string, call: unknown, expected: string): Promise<void> => {
          const from = performance.now()
          const outcome = outcomeOf(call)
          // Runs before any incoming data can be read, and before any timer.
          const waited = await Promise.race([outcome.then(() => false), immediate().then(() => true)])
          expect(await outcome, what).toBe(expected)
          took.push({ ms: performance.now() - from, at: from - began, what, waited })
        }
        await outage.begin()
        const began = performance.now()
        const machine = delays()
        while (performance.now() - began < outage.ms) {
          await Promise.all([
            timed('findByDigest', storage.tokens.findByDigest(digest), 'away'),
            timed(
              'change',
              storage.tokens.change('t', (before) => before),
              'away',
            ),
            timed('list', storage.tokens.list({}), 'away'),
            timed('reserve', storage.meters.reserve({ ...many, callId: nextId() }), 'answered'),
            timed(
              'settle',
              storage.meters.settle({ callId: nextId(), tokenId: 't', at: undefined, meters: [] }),
              'answered',
            ),
            timed('sums', storage.meters.sums({ tokenId: 't', from: '2026-01-01', to: '2099-01-01' }), 'away'),
          ])
          await sleep(5)
        }
        const [slowest] = took.sort((a, b) => b.ms - a.ms)
        expect(slowest?.ms, JSON.stringify(slowest)).toBeLessThan(150 + machine.longest())
        // Once the outage is known, no call waits.
        const known = took.filter(({ at }) => at > 150 + machine.longest())
        expect(known.length).toBeGreaterThan(5)
        expect(known.filter(({ waited }) => waited)).toEqual([])

        await outage.end()
        expect(await untilBack(storage, 5000)).toBeLessThan(1200)
        // The calls that were admitted during the outage may count already.
        expect((await enter(storage, { ...requests, limit: 1e6 }))?.callId).toBeDefined()
        expect(logged[0]).toMatch(/^modelgate: Redis is unavailable \(.+\): tokens cannot be looked up/)
        expect(logged).toContainEqual(
          expect.stringMatching(
            /^modelgate: Redis is available again after \d+ ms; \d+ operations? failed in the meantime$/,
          ),
        )
      },
    )

    it('does not mistake a long pause of this process for a Redis outage', async () => {
      const { storage, logged } = await join(connected)
      await storage.tokens.create(token)
      const found = storage.tokens.get('t')
      // The command is sent, and its reply arrives while the event loop is blocked.
      await immediate()
      const until = performance.now() + 250
      while (performance.now() < until) {
        // Blocks the event loop.
      }
      expect((await found)?.id).toBe('t')
      expect(logged).toEqual([])
    })

    it('admits at most one more limit in all processes together, and finally counts each call once', async () => {
      const { storage: one } = await join(connected)
      const { storage: two } = await join(connected)
      await meet(one, two)
      const before = [...(await enterAll(one, { ...requests, limit: 10 })), ...(await enterAll(two, requests))]
      expect(before).toHaveLength(40)

      redis.freeze()
      const [here, there] = await Promise.all([enterAll(one, requests), enterAll(two, requests)])
      expect([here.length, there.length]).toEqual([20, 20])
      for (const call of [...before.slice(0, 15), ...here.slice(0, 15)]) await one.meters.settle(call)
      for (const call of there.slice(0, 15)) await two.meters.settle(call)
      redis.thaw()
      await untilBack(one, 1000)
      await untilBack(two, 1000)
      await sleep(200)
      expect(await enterAll(one, requests)).toEqual([])

      for (const call of [...before.slice(15), ...here.slice(15)]) await one.meters.settle(call)
      for (const call of there.slice(15)) await two.meters.settle(call)
      // Settlements are idempotent: repeating one changes nothing.
      for (const call of [...before, ...here]) await two.meters.settle(call)
      expect(await one.meters.read('t', [requests])).toMatchObject([{ used: 80 }])
    })

    it('admits shares of the known remainder of a budget, and rejects calls on an unknown budget', async () => {
      const { storage: one } = await join(connected)
      const { storage: two } = await join(connected)
      await meet(one, two)
      for (let n = 0; n < 20; n++) await enter(one, budget)
      for (let n = 0; n < 20; n++) await enter(two, budget)
      // The first storage learns the usage of the second.
      await one.meters.read('t', [budget])

      redis.freeze()
      const [here, there] = await Promise.all([enterAll(one, budget), enterAll(two, budget)])
      expect([here.length, there.length]).toEqual([30, 30])
      await expect(enter(one, budget, 'stranger')).rejects.toThrow(StorageAwayError)
      for (const call of here) await one.meters.settle(call)
      for (const call of there) await two.meters.settle(call)
      redis.thaw()
      await untilBack(one, 1000)
      await untilBack(two, 1000)
      await sleep(200)
      expect(await one.meters.read('t', [budget])).toMatchObject([{ used: 1000 }])
    })

    it('reports the remainder of this process’s share while Redis is unavailable', async () => {
      const { storage: one } = await join(connected)
      const { storage: two } = await join(connected)
      await meet(one, two)
      redis.freeze()
      const states: (readonly MeterState[])[] = []
      for (let n = 0; n < 2; n++) {
        const result = await one.meters.reserve({ callId: nextId(), tokenId: 't', meters: [requests] })
        states.push(result.states)
      }
      // Half of 40, minus the usage.
      expect(states).toMatchObject([[{ limit: 40, used: 21 }], [{ limit: 40, used: 22 }]])
      redis.thaw()
    })

    it('does not count a rejected call, even if Redis executes its reservation later', async () => {
      const { storage } = await join(connected, { away: { localMs: 0 } })
      await enter(storage, requests)
      redis.freeze()
      await expect(enter(storage, requests)).rejects.toThrow(StorageAwayError)
      redis.thaw()
      await untilBack(storage, 1000)
      await sleep(200)
      expect(await storage.meters.read('t', [requests])).toMatchObject([{ used: 1 }])
    })

    it('rejects all calls when Redis stays unavailable, and still settles running calls', async () => {
      const { storage } = await join(connected, { away: { localMs: 500 } })
      const first = await enter(storage, requests)
      redis.freeze()
      const second = await enter(storage, requests)
      await sleep(700)
      await expect(enter(storage, requests)).rejects.toThrow(/more than 500 ms/)
      for (const call of [first, second]) if (call !== undefined) await storage.meters.settle(call)
      redis.thaw()
      await untilBack(storage, 1000)
      await sleep(200)
      expect(await storage.meters.read('t', [requests])).toMatchObject([{ used: 2 }])
      expect(await enter(storage, requests)).toBeDefined()
    })

    it('reports unwritten settlements if it is closed while Redis is unavailable', async () => {
      const { storage, logged } = await join(connected)
      const call = await enter(storage, requests)
      redis.freeze()
      if (call !== undefined) await storage.meters.settle(call)
      await storage.close()
      expect(logged).toContainEqual(expect.stringMatching(/^modelgate: 1 settlements could not be written /))
      redis.thaw()
    })

    it('admits no calls before Redis has been reached once', async () => {
      const { storage } = await join(connected)
      redis.freeze()
      await expect(enter(storage, requests)).rejects.toThrow(/not been reached yet/)
      redis.thaw()
    })
  },
)

describe('invalid durations', () => {
  const client = { sendCommand: async () => null }
  it.each([
    ['timeoutMs', { timeoutMs: 0 }],
    ['timeoutMs', { timeoutMs: Number.NaN }],
    ['away.localMs', { away: { localMs: -1 } }],
  ])('are rejected for %s: %o', (name, options) => {
    expect(() => redisStorage({ client, ...options })).toThrow(RangeError)
    expect(() => redisStorage({ client, ...options })).toThrow(`redisStorage: ${name} is`)
  })
})
