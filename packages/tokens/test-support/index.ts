// Internals of this package for tests and document generators of other packages. Resolved in this workspace only, never published.

export { type Connection, connect, sharedRedis, withoutRedis } from '../src/storage/redis/redis.test-support.ts'
export { type DelayedRedis, delayRedis } from '../src/storage/redis/redis-delay.test-support.ts'
export {
  redisProgram,
  startRedis,
  type TestRedis,
  withoutRedisToKill,
} from '../src/storage/redis/redis-process.test-support.ts'
export { base62 } from '../src/tokens/secret.ts'
