import { afterAll, beforeAll, describe } from 'vitest'
import { describeOwners } from '../owners.test-support.ts'
import {
  type Connection,
  connect,
  connectToCluster,
  startRedis,
  type TestRedis,
  testPrefix,
  withoutRedisToKill,
} from './redis.test-support.ts'
import { redisStorage } from './redis-storage.ts'

describe.skipIf(withoutRedisToKill !== undefined).each([
  ['node-redis', connect['node-redis'], false],
  ['ioredis cluster', connectToCluster['ioredis cluster'], true],
])('limits of owners with %s', (_, connected, cluster) => {
  let server: TestRedis
  let connections: Connection[] = []
  beforeAll(async () => {
    server = await startRedis({ cluster })
    connections = await Promise.all([connected(server.url), connected(server.url)])
  })
  afterAll(async () => {
    for (const connection of connections) await connection.close()
    await server?.close()
  })

  describeOwners('Redis', () => {
    const prefix = testPrefix()
    // Long timeouts keep a busy machine from failing these tests.
    const [first, second] = connections.map(({ client }) => redisStorage({ client, prefix, timeoutMs: 5000 }))
    if (first === undefined || second === undefined) throw new Error('Redis was not reached')
    return {
      first,
      second,
      close: async () => {
        await first.close()
        await second.close()
      },
    }
  })
})
