import { setTimeout as sleep } from 'node:timers/promises'
import { createClient } from 'redis'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Meter } from '../../contract/meter-store.ts'
import type { Storage } from '../../contract/storage.ts'
import type { TokenRecord } from '../../contract/token.ts'
import type { RedisClient } from './client.ts'
import { connect, startRedis, type TestRedis, withoutRedisToKill } from './redis.test-support.ts'
import { type DelayedRedis, delayRedis } from './redis-delay.test-support.ts'
import { type RedisStorageOptions, redisStorage } from './redis-storage.ts'

const requests: Meter = {
  kind: 'window',
  name: 'window:requests',
  windowMs: 86_400_000,
  limit: 1e6,
  amount: 1,
}
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
let delayed: DelayedRedis
const open: { close(): Promise<void> }[] = []
beforeEach(async () => {
  if (withoutRedisToKill !== undefined) return
  redis = await startRedis()
  delayed = await delayRedis(redis.url)
  open.push(redis, delayed)
})
afterEach(async () => {
  for (const each of open.splice(0).reverse()) await each.close()
})

const storageOf = (client: RedisClient, options: Partial<RedisStorageOptions> = {}) => {
  const warnings: string[] = []
  const storage = redisStorage({ client, logger: { warn: (message) => warnings.push(message) }, ...options })
  open.push(storage)
  return { storage, warnings }
}

let calls = 0
/** Requests of one call to the store: the token lookup and the reservation. */
const admit = async (storage: Storage): Promise<boolean> => {
  const found = await storage.tokens.findByDigest(digest)
  const { ok } = await storage.meters.reserve({ callId: `call-${++calls}`, tokenId: 't', meters: [requests] })
  return found?.id === 't' && ok
}
const used = async (storage: Storage): Promise<number | undefined> =>
  (await storage.meters.read('t', [requests]))[0]?.used

describe.skipIf(withoutRedisToKill !== undefined).each(Object.entries(connect))(
  'a slow Redis, by %s',
  (_, connected) => {
    const join = async (options: Partial<RedisStorageOptions> = {}) => {
      const connection = await connected(delayed.url)
      open.push(connection)
      return storageOf(connection.client, options)
    }

    it.each([60, 100, 150, 300])('admits every call while Redis pauses for %i ms', async (pauseMs) => {
      const { storage, warnings } = await join()
      await storage.tokens.create(token)
      for (let round = 0; round < 3; round++) {
        delayed.pause(pauseMs)
        const admitted = await Promise.all(Array.from({ length: 10 }, () => admit(storage)))
        expect(admitted).toEqual(Array.from({ length: 10 }, () => true))
      }
      expect(await used(storage)).toBe(30)
      expect(warnings).toEqual([])
    })

    it('issues, changes and lists tokens with a round-trip time of 45 ms', async () => {
      delayed.roundTripMs(45)
      const { storage, warnings } = await join()
      await storage.tokens.create(token)
      await storage.tokens.change('t', (before) => ({ ...before, owner: 'ada' }))
      expect((await storage.tokens.list({})).tokens).toMatchObject([{ id: 't', owner: 'ada' }])
      expect(await admit(storage)).toBe(true)
      expect(warnings).toEqual([])
    })

    it('repeats work that a lost connection interrupted, and counts it once', async () => {
      const { storage, warnings } = await join({ timeoutMs: 3000 })
      await storage.tokens.create(token)
      expect(await admit(storage)).toBe(true)
      delayed.pause(100)
      const call = admit(storage)
      await sleep(20)
      delayed.cut()
      expect(await call).toBe(true)
      expect(await used(storage)).toBe(2)
      expect(warnings).toEqual([])
    })

    it('warns once when Redis becomes unavailable and once when it is back, however many calls fail', async () => {
      const { storage, warnings } = await join({ timeoutMs: 100, away: { localMs: 0 } })
      await storage.tokens.create(token)
      expect(await admit(storage)).toBe(true)
      delayed.pause(700)
      const outcomes = await Promise.allSettled(Array.from({ length: 20 }, () => admit(storage)))
      expect(outcomes.every(({ status }) => status === 'rejected')).toBe(true)
      expect(warnings).toEqual([
        expect.stringMatching(/^modelgate: Redis is unavailable \(no response within 100 ms\)/),
      ])
      while (warnings.length < 2) await sleep(20)
      expect(warnings[1]).toMatch(
        /^modelgate: Redis is available again after \d+ ms; \d\d operations? failed in the meantime$/,
      )
      expect(await admit(storage)).toBe(true)
    })
  },
)

it.skipIf(withoutRedisToKill !== undefined)('waits longer for the first connection than for a command', async () => {
  const direct = createClient({ url: redis.url })
  await direct.connect()
  await redisStorage({ client: direct, logger: false }).tokens.create(token)
  direct.destroy()
  delayed.pause(400)
  const client = createClient({ url: delayed.url })
  client.on('error', () => {})
  open.push({ close: async () => client.destroy() })
  const connecting = client.connect()
  const { storage, warnings } = storageOf(client, { timeoutMs: 100 })
  expect(await admit(storage)).toBe(true)
  await connecting
  expect(warnings).toEqual([])
})
