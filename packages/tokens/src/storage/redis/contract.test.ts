import { afterAll, beforeAll, describe } from 'vitest'
import { type MetersUnderTest, meterStoreContract } from '../meter-store.test-support.ts'
import { describeTokenStore } from '../token-store.test-support.ts'
import { type Command, commandOf } from './client.ts'
import { createRedisMeters } from './meters.ts'
import { type Connection, connect, sharedRedis, testPrefix, withoutRedis } from './redis.test-support.ts'
import { redisStorage } from './redis-storage.ts'

describe.skipIf(withoutRedis !== undefined).each(Object.entries(connect))(
  'the Redis storage contract with %s',
  (_, connected) => {
    let server: Awaited<ReturnType<typeof sharedRedis>>
    let connections: Connection[] = []
    beforeAll(async () => {
      server = await sharedRedis()
      connections = await Promise.all([connected(server.url), connected(server.url)])
    })
    afterAll(async () => {
      for (const connection of connections) await connection.close()
      await server?.close()
    })

    /** Two processes that share one Redis. */
    const pair = () => {
      const prefix = testPrefix()
      // Long timeouts keep a busy machine from failing these tests.
      const [store, other] = connections.map(({ client }) => redisStorage({ client, prefix, timeoutMs: 5000 }))
      if (store === undefined || other === undefined) throw new Error('Redis was not reached')
      const close = async (): Promise<void> => {
        await store.close()
        await other.close()
      }
      return { store, other, close }
    }

    describeTokenStore('Redis', () => {
      const { store, other, close } = pair()
      return { store: store.tokens, other: other.tokens, close }
    })

    const inRealTime = (): MetersUnderTest => {
      const { store, close } = pair()
      return { store: store.meters, close }
    }
    meterStoreContract('Redis', inRealTime, { clock: false })

    meterStoreContract('Redis at another time', () => {
      const [connection] = connections
      if (connection === undefined) throw new Error('Redis was not reached')
      const command = commandOf(connection.client)
      let time = Date.now()
      /** Scripts receive the time of the test instead of the time of Redis. */
      const atTime: Command = (key, args) => {
        const [name, lua = '', ...rest] = args
        if (name === 'EVALSHA') return Promise.reject(new Error('NOSCRIPT'))
        if (name !== 'EVAL') return command(key, args)
        const timeReply = `{ ${Math.floor(time / 1000)}, ${(time % 1000) * 1000} }`
        return command(key, [name, lua.replace("redis.call('TIME')", timeReply), ...rest])
      }
      const prefix = testPrefix()
      return {
        store: createRedisMeters(
          (work) => work(atTime),
          (id, what) => `${prefix}{${id}}:${what}`,
        ),
        now: {
          advance: (ms) => {
            time += ms
          },
        },
      }
    })
  },
)
