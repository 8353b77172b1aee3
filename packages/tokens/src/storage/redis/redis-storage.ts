import { randomUUID } from 'node:crypto'
import { type Logger, toLogger } from '@modelgate/core'
import { type Storage, StorageAwayError } from '../../contract/storage.ts'
import { createLeasedMeters } from '../leases/leased-meters.ts'
import { createMemoryMeters } from '../memory/meters.ts'
import { commandOf, type RedisClient } from './client.ts'
import { createFallbackMeters } from './fallback-meters.ts'
import { createGuard } from './guard.ts'
import { createRedisMeters } from './meters.ts'
import { createRedisOwners } from './owners.ts'
import { createProcesses } from './processes.ts'
import { createRedisTokens } from './tokens.ts'

/** Options of `redisStorage`. */
export interface RedisStorageOptions {
  /**
   * A connected client of Redis (6 or later) or Valkey: of node-redis, ioredis or iovalkey, also for a cluster or sentinels. The host
   * owns it: listen to its `error` event, or the first lost connection ends the process; close it after the storage.
   *
   * Clients queue commands while they are not connected and send them later. This is safe: each step has an effect once,
   * however late it arrives. To disable it: `disableOfflineQueue: true` (node-redis), `enableOfflineQueue: false,
   * autoResendUnfulfilledCommands: false` (ioredis, iovalkey). The client also decides when it reconnects: by default after 50 ms, then
   * in growing intervals up to 2 s (node-redis) or 5 s (ioredis). To change that, use `reconnectStrategy` or `retryStrategy`.
   */
  readonly client: RedisClient
  /** Prefix of all keys in Redis. Default: `modelgate:`. */
  readonly prefix?: string
  /**
   * Milliseconds that a call waits for Redis each time it needs it: for its token, if that is not cached, and for its limits.
   * Default: 500.
   */
  readonly timeoutMs?: number
  /** Milliseconds that a change or a listing of tokens waits for Redis. Only people wait for these. Default: 5 s. */
  readonly commandMs?: number
  /** Milliseconds that the first operation waits for Redis while the client connects. Default: 2 s. */
  readonly connectMs?: number
  /** Behaviour while Redis is unavailable. */
  readonly away?: {
    /** Milliseconds for which each process counts limits separately. After that, calls are rejected. 0: at once. Default: 30 s. */
    readonly localMs?: number
  }
  /**
   * Whether a process with many calls of one token reserves in Redis what they need for about a second, and counts them itself. That
   * saves most requests to Redis. Limits and budgets are never exceeded, but a call close to one may be rejected up to a second early, because
   * what other processes have reserved counts as used: an eighth of the rest at most. Default: false.
   */
  readonly leases?: boolean
  /** Receives a warning when Redis becomes unavailable or available again, and about lost counts. Default: `console`. `false` logs nothing. */
  readonly logger?: Pick<Logger, 'warn'> | false
}

/**
 * Creates a storage of tokens and counts in Redis or Valkey, for several processes. Each reservation is one script and one round trip.
 *
 * A call waits at most `timeoutMs` for Redis. Work that fails earlier, for example by a lost connection, is retried once within that
 * time. After that Redis counts as unavailable until it responds again. Meanwhile tokens cannot be looked up (StorageAwayError, at once). For
 * `away.localMs` each process counts limits itself: the limits divided by the number of processes, and of each budget the last known
 * remainder, divided likewise. After that calls fail with StorageAwayError, too. The use of these calls is written when Redis is available again, for
 * up to 10,000 of them.
 *
 * Redis must not evict keys (`maxmemory-policy noeviction`), and should write to disk (`appendonly yes`), because it holds the tokens.
 *
 * @throws TypeError if `client` is not a client; RangeError for invalid times.
 */
export function redisStorage(options: RedisStorageOptions): Storage {
  const { client, prefix = 'modelgate:', timeoutMs = 500, commandMs = 5000, connectMs = 2000, away = {} } = options
  const { leases = false } = options
  const { localMs = 30_000 } = away
  for (const [name, ms] of Object.entries({ timeoutMs, commandMs, connectMs })) checkTime(name, ms, 1)
  checkTime('away.localMs', localMs, 0)
  const { warn } = toLogger(options.logger)
  const names = {
    of: (what: string): string => `${prefix}${what}`,
    tagged: (tag: string, what: string): string => `${prefix}{${tag}}:${what}`,
  }

  const guard = createGuard({
    command: commandOf(client),
    timeoutMs,
    commandMs,
    connectMs,
    probe: (command) => processes.announce(command),
    onAway: (reason) =>
      warn(
        `modelgate: Redis is unavailable (${reason}): tokens cannot be looked up, and limits are counted in this process`,
      ),
    onBack(awayMs, failed) {
      warn(
        `modelgate: Redis is available again after ${Math.round(awayMs)} ms; ${failed} ${failed === 1 ? 'operation' : 'operations'} failed in the meantime`,
      )
      void meters
        .writeBacklog()
        .catch((error: unknown) => warn(`modelgate: settlements could not be written: ${error}`))
    },
  })
  const processes = createProcesses(names.of('processes'), randomUUID(), guard.run)
  const run: typeof guard.run = (work, options) => {
    processes.touch()
    return guard.run(work, options)
  }
  const meters = createFallbackMeters({
    redis: createRedisMeters(run, names.tagged),
    memory: createMemoryMeters(),
    awayMs: guard.awayMs,
    processes: processes.count,
    localMs,
    warn,
  })
  const leased = leases
    ? createLeasedMeters(meters, { processes: () => processes.count() ?? 1, logger: { warn, error: warn } })
    : undefined

  return {
    tokens: createRedisTokens(run, names),
    meters: leased ?? meters,
    owners: createRedisOwners(run, names.of),
    async ping() {
      // While Redis is unavailable, the guard sends its own probes, and would count this one as an operation that failed.
      if (guard.awayMs() !== undefined) throw new StorageAwayError('Redis is unavailable')
      const key = names.of('processes')
      await guard.run((command) => command(key, ['EXISTS', key]))
    },
    async close() {
      await leased?.close()
      processes.close()
      if (guard.awayMs() === undefined) {
        await meters.writeBacklog()
        await guard.run(processes.leave).catch(() => undefined)
      }
      if (meters.backlogSize() > 0) {
        warn(
          `modelgate: ${meters.backlogSize()} settlements could not be written to Redis before shutdown and are not counted`,
        )
      }
      guard.close()
    },
  }
}

function checkTime(name: string, ms: number, least: number): void {
  if (!Number.isFinite(ms) || ms < least) {
    throw new RangeError(`redisStorage: ${name} is ${ms}; it must be a number of milliseconds, at least ${least}`)
  }
}
