// State that the processes share in one Redis.
import { memoryHealthState } from '@modelgate/core'

/** @typedef {import('redis').RedisClientType<{}, {}, {}, 3>} Redis */

const channel = 'gateway:cooldowns'

/**
 * Cooldowns of upstreams and keys. Every call reads them, so this keeps a local copy and receives changes of other processes in the
 * background.
 * @param {Redis} redis @returns {Promise<import('@modelgate/core').HealthState>}
 */
export async function sharedHealth(redis) {
  const copy = memoryHealthState()
  const subscriber = redis.duplicate()
  subscriber.on('error', () => {}) // `redis` reports it
  await subscriber.connect()
  await subscriber.subscribe(channel, (message) => {
    const { id, rest } = JSON.parse(message)
    copy.write(id, rest)
  })
  return {
    read: copy.read,
    write(id, rest) {
      copy.write(id, rest)
      redis.publish(channel, JSON.stringify({ id, rest })).catch(() => {})
    },
  }
}

/**
 * Stores responses that clients refer to by `previous_response_id`.
 * @param {Redis} redis @returns {import('@modelgate/core').ResponseStore}
 */
export const sharedResponses = (redis) => ({
  get: async (key) => (await redis.get(`gateway:response:${key}`)) ?? undefined,
  set: async (key, value, ttlMs) => void (await redis.set(`gateway:response:${key}`, value, { PX: ttlMs })),
  delete: async (key) => void (await redis.del(`gateway:response:${key}`)),
})
