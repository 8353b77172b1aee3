import { Cluster, Redis } from 'ioredis'
import { createClient, createCluster } from 'redis'
import type { RedisClient } from './client.ts'
import { lackOfRedis, redisProgram, startRedis } from './redis-process.test-support.ts'

export { startRedis, type TestRedis, withoutRedisToKill } from './redis-process.test-support.ts'

/** URL of a running Redis, for tests that do not kill it. */
const given = process.env.REDIS_URL

/** Reason to skip the tests with Redis; undefined: they run. */
export const withoutRedis =
  given === undefined && redisProgram === undefined ? `${lackOfRedis}, or set REDIS_URL` : undefined

const ownPrefix = `modelgate-test:${process.pid}:${Date.now()}:`
let prefixes = 0
/** Returns a prefix that no other test uses. */
export const testPrefix = (): string => `${ownPrefix}${++prefixes}:`

/** Returns the Redis of REDIS_URL, and deletes the keys of this test at the end, or starts one. */
export async function sharedRedis(): Promise<{ readonly url: string; close(): Promise<void> }> {
  return given === undefined ? startRedis() : { url: given, close: () => tidy(given) }
}

async function tidy(url: string): Promise<void> {
  const client = createClient({ url })
  await client.connect()
  for await (const keys of client.scanIterator({ MATCH: `${ownPrefix}*`, COUNT: 1000 })) {
    if (keys.length > 0) await client.del(keys)
  }
  await client.close()
}

export interface Connection {
  readonly client: RedisClient
  close(): Promise<void>
}

type Connect = (url: string) => Promise<Connection>

/** The clients that hosts use, with their default options; their errors about lost connections are expected. */
export const connect: Readonly<Record<'node-redis' | 'ioredis', Connect>> = {
  async 'node-redis'(url) {
    const client = createClient({ url })
    client.on('error', () => {})
    await client.connect()
    return { client, close: async () => client.destroy() }
  },
  async ioredis(url) {
    const client = new Redis(url)
    client.on('error', () => {})
    await client.ping()
    return { client, close: async () => client.disconnect() }
  },
}

/** Cluster clients that hosts use. */
export const connectToCluster: Readonly<Record<'node-redis cluster' | 'ioredis cluster', Connect>> = {
  async 'node-redis cluster'(url) {
    const client = createCluster({ rootNodes: [{ url }] })
    client.on('error', () => {})
    await client.connect()
    return { client, close: async () => client.destroy() }
  },
  async 'ioredis cluster'(url) {
    const client = new Cluster([url])
    client.on('error', () => {})
    await client.ping()
    return { client, close: async () => client.disconnect() }
  },
}
