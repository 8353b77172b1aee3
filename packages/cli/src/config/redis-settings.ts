import { didYouMean } from '../near.ts'
import { isRecord } from './is-record.ts'

/** Where the Redis is that servers share, and how long they wait for it. */
export interface RedisSettings {
  /** `redis://localhost:6379`; `rediss:` for TLS. `MODELGATE_REDIS` wins over it. */
  url: string
  /** Milliseconds that a call waits for Redis each time it needs it. Default 500. */
  timeoutMs?: number
  /** Milliseconds that a change of tokens waits, and the reading or writing of a stored response. Default: 5 s. */
  commandMs?: number
  /** Milliseconds until a connection must be established. Default: 2 s. */
  connectMs?: number
  /** Milliseconds for which each process counts limits for itself while Redis is unavailable. Default: 30 s; 0: not at all. */
  localMs?: number
  /** Milliseconds for which the last known state of a token is accepted while Redis is unavailable. Default 0: its calls are refused. */
  staleMs?: number
}

/** The least value of each time, in milliseconds. */
const times = { timeoutMs: 1, commandMs: 1, connectMs: 1, localMs: 0, staleMs: 0 } as const satisfies Readonly<
  Record<Exclude<keyof RedisSettings, 'url'>, number>
>

/**
 * The `redis` of a configuration, with the address of the environment before its own.
 *
 * @returns undefined if neither has an address
 * @throws Error that names the setting and what to write
 */
export function redisSettingsOf(written: unknown, fromEnvironment: string | undefined): RedisSettings | undefined {
  if (written === undefined || typeof written === 'string') {
    const url = fromEnvironment || written
    return url ? { url } : undefined
  }
  if (!isRecord(written)) throw new Error('redis is no address: write one in quotes, or { "url": "redis://…" }')
  for (const [name, value] of Object.entries(written)) {
    if (name === 'url') continue
    if (!Object.hasOwn(times, name))
      throw new Error(`redis.${name} is no setting${didYouMean(name, ['url', ...Object.keys(times)])}`)
    const least = times[name as keyof typeof times]
    if (typeof value !== 'number' || !Number.isFinite(value) || value < least)
      throw new Error(`redis.${name} is ${JSON.stringify(value)}: write milliseconds, ${least} or more`)
  }
  const url = fromEnvironment || written.url
  if (typeof url !== 'string' || url === '')
    throw new Error('redis has no url: write { "url": "redis://…" }, or set MODELGATE_REDIS')
  return { ...written, url }
}

/** An address as it may be shown: without its password. */
export function hostOf(url: string): string {
  try {
    return new URL(url).host
  } catch {
    return 'an invalid address'
  }
}
