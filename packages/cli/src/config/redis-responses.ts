import type { ResponseStore } from '@modelgate/core'

/** Sends one command to Redis. */
export type SendCommand = (args: string[]) => Promise<unknown>

/** Bytes of stored responses that one owner may have, in all; the oldest go first. */
const mostBytes = 32 * 1024 * 1024
/** Bytes of one value: an eighth, as for stored responses in memory. */
const mostBytesOfOne = mostBytes / 8

/**
 * Writes a value and forgets the oldest of its owner beyond the bound, in one step. Redis also has the tokens and must not evict: without
 * a bound one caller could fill it.
 *
 * KEYS: value, the owner's values by time of expiry, their sizes (and their sum, as the field ''). ARGV: value, milliseconds to live, size,
 * bound.
 */
const write = `
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local function forget(key)
  local size = redis.call('HGET', KEYS[3], key)
  if size then redis.call('HINCRBY', KEYS[3], '', -size) end
  redis.call('HDEL', KEYS[3], key)
  redis.call('ZREM', KEYS[2], key)
end
for _, key in ipairs(redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', now)) do forget(key) end
forget(KEYS[1])
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
redis.call('ZADD', KEYS[2], now + ARGV[2], KEYS[1])
redis.call('HSET', KEYS[3], KEYS[1], ARGV[3])
local total = redis.call('HINCRBY', KEYS[3], '', ARGV[3])
while total > tonumber(ARGV[4]) do
  local oldest = redis.call('ZRANGE', KEYS[2], 0, 0)[1]
  if not oldest or oldest == KEYS[1] then break end
  redis.call('UNLINK', oldest)
  forget(oldest)
  total = tonumber(redis.call('HGET', KEYS[3], ''))
end
for n = 2, 3 do
  if redis.call('PTTL', KEYS[n]) < tonumber(ARGV[2]) then redis.call('PEXPIRE', KEYS[n], ARGV[2]) end
end
return total`

/**
 * Deletes a value and gives its size back to its owner, in one step.
 *
 * KEYS: as for `write`.
 */
const remove = `
redis.call('UNLINK', KEYS[1])
local size = redis.call('HGET', KEYS[3], KEYS[1])
if size then redis.call('HINCRBY', KEYS[3], '', -size) end
redis.call('HDEL', KEYS[3], KEYS[1])
redis.call('ZREM', KEYS[2], KEYS[1])`

/**
 * Keeps responses in Redis, so that every process that shares it finds them.
 *
 * @param send sends a command; it rejects when Redis cannot be reached in time
 * @param prefix begins all names in Redis
 */
export function redisResponseStore(send: SendCommand, prefix: string): ResponseStore {
  const nameOf = (key: string): string => `${prefix}response:${key}`
  /** The names that both scripts take. */
  const namesOf = (key: string, owner: string): string[] => [
    nameOf(key),
    `${prefix}responses:${owner}`,
    `${prefix}response-sizes:${owner}`,
  ]
  return {
    async get(key) {
      const value = await send(['GET', nameOf(key)])
      return value === null || value === undefined ? undefined : String(value)
    },
    async set(key, value, ttlMs, owner = '') {
      const bytes = Buffer.byteLength(value)
      if (bytes > mostBytesOfOne)
        throw new RangeError(`The response has ${bytes} bytes; at most ${mostBytesOfOne} are kept in Redis`)
      const ttl = String(Math.max(1, Math.ceil(ttlMs)))
      await send(['EVAL', write, '3', ...namesOf(key, owner), value, ttl, String(bytes), String(mostBytes)])
    },
    async delete(key, owner = '') {
      await send(['EVAL', remove, '3', ...namesOf(key, owner)])
    },
  }
}
