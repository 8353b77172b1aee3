import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Home, Meter, Reservation } from '../../contract/meter-store.ts'
import { type Command, commandOf } from './client.ts'
import { createMeterKeys } from './meter-keys.ts'
import { createRedisMeters } from './meters.ts'
import { createMovedCounts } from './moved-counts.ts'
import {
  type Connection,
  connectToCluster,
  startRedis,
  type TestRedis,
  testPrefix,
  withoutRedisToKill,
} from './redis.test-support.ts'

const day = 86_400_000
const window: Meter = { kind: 'window', name: 'window:requests', windowMs: day, limit: 100, amount: 1 }
const budget: Meter = { kind: 'period', name: 'period:tokens', period: 'total', limit: 1000, amount: 10 }
const meters = [window, budget]
const owned: Home = { owner: 'team', former: [] }

let calls = 0
const reservation = (home?: Home): Reservation => ({
  callId: `call-${++calls}`,
  tokenId: 'tok_1',
  home,
  meters,
})

describe.skipIf(withoutRedisToKill !== undefined)('counts in Redis of a token that gets an owner', () => {
  let server: TestRedis
  let connection: Connection
  beforeAll(async () => {
    server = await startRedis({ cluster: true })
    connection = await connectToCluster['ioredis cluster'](server.url)
  })
  afterAll(async () => {
    await connection?.close()
    await server?.close()
  })

  /** Creates the stores of several processes with the same data. */
  const processes = () => {
    const command = commandOf(connection.client)
    const prefix = testPrefix()
    const keyOf = (tag: string, what: string): string => `${prefix}{${tag}}:${what}`
    const sent: (readonly string[])[] = []
    const noted: Command = (key, args) => {
      sent.push(args)
      return command(key, args)
    }
    return { start: () => createRedisMeters((work) => work(noted), keyOf), command, keyOf, sent }
  }
  const usedIn = async (store: ReturnType<typeof createRedisMeters>, home?: Home): Promise<number[]> =>
    (await store.read('tok_1', meters, home)).map(({ used }) => used)

  it('are continued from the counts of a version that stored them with the token', async () => {
    const { start } = processes()
    const old = start()
    for (let n = 0; n < 3; n++) await old.reserve(reservation())
    const [one, other] = [start(), start()]
    await Promise.all([one, other, one, other].map((store) => store.reserve(reservation(owned))))
    expect(await usedIn(one, owned)).toEqual([7, 70])
    expect(await usedIn(start(), owned)).toEqual([7, 70])
    // The old version is not disturbed.
    expect(await usedIn(old)).toEqual([3, 30])
  })

  it('are brought once for each process, and a call costs one round trip again', async () => {
    const { start, sent } = processes()
    await start().reserve(reservation())
    const store = start()
    await store.reserve(reservation(owned))
    expect(sent.length).toBeGreaterThan(2)
    sent.length = 0
    await store.reserve(reservation(owned))
    expect(sent).toHaveLength(1)
  })

  it('contain corrections that the old version makes later, at the next import', async () => {
    const { start, command, keyOf } = processes()
    const old = start()
    const running = reservation()
    await old.reserve(running)
    const store = start()
    await store.reserve(reservation(owned))
    await old.settle({
      ...running,
      at: undefined,
      meters: [
        { ...window, actual: 1 },
        { ...budget, actual: 4 },
      ],
    })
    let time = 0
    const moved = createMovedCounts(createMeterKeys(keyOf), () => time)
    await moved.bring(command, 'tok_1', owned, meters)
    expect(await usedIn(store, owned)).toEqual([2, 14])
    await old.reserve(reservation())
    await moved.bring(command, 'tok_1', owned, meters)
    expect(await usedIn(store, owned)).toEqual([2, 14])
    time = 60_000
    expect(moved.isDue('tok_1', owned, meters)).toBe(true)
    await moved.bring(command, 'tok_1', owned, meters)
    expect(await usedIn(store, owned)).toEqual([3, 24])
    time = 3_600_000
    await moved.bring(command, 'tok_1', owned, meters)
    time = 1e12
    expect(moved.isDue('tok_1', owned, meters)).toBe(false)
  })

  it('are found after each of several changes of the owner, and never multiply', async () => {
    const { start } = processes()
    const store = start()
    const homes: (Home | undefined)[] = [undefined]
    const former: (string | null)[] = []
    let last: string | null = null
    for (const owner of ['a', 'b', 'a', null, 'b', null, 'a']) {
      former.push(last)
      homes.push({ owner, former: [...former] })
      last = owner
    }
    for (const [n, home] of homes.entries()) {
      await store.reserve(reservation(home))
      expect(await usedIn(store, home)).toEqual([n + 1, 10 * (n + 1)])
      expect(await usedIn(start(), home)).toEqual([n + 1, 10 * (n + 1)])
    }
  })
})

it('are not looked for if a token never had an owner', () => {
  const moved = createMovedCounts(createMeterKeys((tag, what) => `{${tag}}:${what}`))
  expect(moved.isDue('tok_1', undefined, meters)).toBe(false)
})
