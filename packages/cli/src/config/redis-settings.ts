import { didYouMean } from '../terminal/did-you-mean.ts'
import { isRecord } from './expand.ts'

/** Address of a Redis that servers share, with timeouts. */
export interface RedisSettings {
  /** `redis://localhost:6379`; `rediss:` for TLS. `MODELGATE_REDIS` wins over it. */
  url: string
  /** Milliseconds that a call waits for each Redis command. Default: 500. */
  timeoutMs?: number
  /** Milliseconds that changes of tokens and accesses to stored responses wait. Default: 5 s. */
  commandMs?: number
  /** Milliseconds until a connection must be established. Default: 2 s. */
  connectMs?: number
  /** Milliseconds for which each process counts limits for itself while Redis is unavailable. Default: 30 s; 0 disables it. */
  localMs?: number
  /** Milliseconds for which the last known state of a token is accepted while Redis is unavailable. Default: 0, calls are rejected. */
  staleMs?: number
  /** Whether a process with many calls of one token reserves in Redis what they need for about a second. Default: false. */
  leases?: boolean
}

/** Minimum of each duration, in milliseconds. */
const times = { timeoutMs: 1, commandMs: 1, connectMs: 1, localMs: 0, staleMs: 0 } as const satisfies Readonly<
  Record<Exclude<keyof RedisSettings, 'url' | 'leases'>, number>
>

/**
 * Returns the `redis` of a configuration. The address of the environment wins.
 *
 * @returns undefined if neither has an address
 * @throws Error with the setting and the expected value
 */
export function redisSettingsOf(written: unknown, fromEnvironment: string | undefined): RedisSettings | undefined {
  if (written === undefined || typeof written === 'string') {
    const url = fromEnvironment || written
    return url ? { url } : undefined
  }
  if (!isRecord(written)) throw new Error('redis must be an address or { "url": "redis://…" }')
  for (const [name, value] of Object.entries(written)) {
    if (name === 'url') continue
    if (name === 'leases') {
      if (typeof value !== 'boolean')
        throw new Error(`redis.leases is ${JSON.stringify(value)}: expected true or false`)
      continue
    }
    if (!Object.hasOwn(times, name))
      throw new Error(`Unknown setting 'redis.${name}'. ${didYouMean(name, ['url', 'leases', ...Object.keys(times)])}`)
    const minimum = times[name as keyof typeof times]
    if (typeof value !== 'number' || !Number.isFinite(value) || value < minimum)
      throw new Error(`redis.${name} is ${JSON.stringify(value)}: expected milliseconds, at least ${minimum}`)
  }
  const url = fromEnvironment || written.url
  if (typeof url !== 'string' || url === '')
    throw new Error('redis.url is missing: write { "url": "redis://…" }, or set MODELGATE_REDIS')
  return { ...written, url }
}

/** Returns host and port of an address, without its password. */
export function hostOf(url: string): string {
  try {
    return new URL(url).host
  } catch {
    return 'an invalid address'
  }
}
