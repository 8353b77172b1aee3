import { randomUUID } from 'node:crypto'
import type { Logger } from '@modelgate/core'
import { safeLogger } from '../../base/safe-logger.ts'
import type { Storage } from '../../contract/storage.ts'
import { createMemoryMeters } from '../memory/meters.ts'
import { commandOf, type RedisClient } from './client.ts'
import { createFallbackMeters } from './fallback-meters.ts'
import { createGuard } from './guard.ts'
import { createRedisMeters } from './meters.ts'
import { createProcesses } from './processes.ts'
import { createRedisTokens } from './tokens.ts'

/** What `redisStorage` takes. */
export interface RedisStorageOptions {
  /**
   * A connected client of Redis (6 or later) or Valkey: of node-redis, ioredis or iovalkey, also for a cluster or sentinels.
   * Its errors and its end are the host's: listen to its `error` event, or the process ends with the first lost connection; close
   * it after the storage.
   *
   * Clients keep commands while they are not connected and send them later. That does no harm here: each step is done once,
   * however late. Where it is not wanted all the same: `disableOfflineQueue: true` (node-redis), `enableOfflineQueue: false,
   * autoResendUnfulfilledCommands: false` (ioredis, iovalkey). How soon a lost connection is tried again is theirs too:
   * by default after 50 ms, then ever later, up to 2 s (node-redis) or 5 s (ioredis); `reconnectStrategy` and `retryStrategy` change it.
   */
  readonly client: RedisClient
  /** Before all names in Redis. Default `modelgate:`. */
  readonly prefix?: string
  /**
   * Milliseconds that a call waits for Redis each time it needs it: for its token, if that is not remembered, and for its limits.
   * Default 500.
   */
  readonly timeoutMs?: number
  /** Milliseconds that a change or a listing of tokens waits for Redis: people wait for these, and no call. Default: 5 s. */
  readonly commandMs?: number
  /** Milliseconds that the first work waits for Redis, while the client connects. Default: 2 s. */
  readonly connectMs?: number
  /** While Redis is away. */
  readonly away?: {
    /** Milliseconds for which limits are counted in each process for itself; then calls are refused. 0: at once. Default: 30 s. */
    readonly localMs?: number
  }
  /** Receives a warning when Redis becomes unavailable, when it is available again, and for what was lost. Default `console`; `false`: none. */
  readonly logger?: Pick<Logger, 'warn'> | false
}

/**
 * Tokens and counts in Redis or Valkey, for many processes. Each reservation is one script and one round trip.
 *
 * A call waits at most `timeoutMs` for Redis. What fails sooner, as by a lost connection, is tried once more within that time. After that
 * Redis counts as away until it answers again: tokens cannot be looked up then (StorageAwayError, at once); limits are counted in each process, divided by the number of processes, and a budget
 * by what was last known to be left of it, for `away.localMs`; then StorageAwayError too. What calls took meanwhile is written when
 * Redis is back, up to 10,000 of them.
 *
 * Redis must not evict anything (`maxmemory-policy noeviction`), and should write to disk (`appendonly yes`): it has the tokens.
 *
 * Throws TypeError for what is no client, RangeError for times that are none.
 */
export function redisStorage(options: RedisStorageOptions): Storage {
  const { client, prefix = 'modelgate:', timeoutMs = 500, commandMs = 5000, connectMs = 2000, away = {} } = options
  const { localMs = 30_000 } = away
  for (const [name, ms] of Object.entries({ timeoutMs, commandMs, connectMs })) checkTime(name, ms, 1)
  checkTime('away.localMs', localMs, 0)
  const { warn } = safeLogger(options.logger)
  const names = {
    of: (what: string): string => `${prefix}${what}`,
    ofToken: (id: string, what: string): string => `${prefix}{${id}}:${what}`,
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
    onBack(awayMs, refused) {
      warn(`modelgate: Redis is available again after ${Math.round(awayMs)} ms; ${refused} operations failed meanwhile`)
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
    redis: createRedisMeters(run, names.ofToken),
    memory: createMemoryMeters(),
    awayMs: guard.awayMs,
    processes: processes.count,
    localMs,
    warn,
  })

  return {
    tokens: createRedisTokens(run, names),
    meters,
    async close() {
      processes.close()
      if (guard.awayMs() === undefined) {
        await meters.writeBacklog()
        await guard.run(processes.leave).catch(() => undefined)
      }
      if (meters.backlogSize() > 0) {
        warn(
          `modelgate: settlements that could not be written to Redis before the end, and are not counted: ${meters.backlogSize()}`,
        )
      }
      guard.close()
    },
  }
}

function checkTime(name: string, ms: number, least: number): void {
  if (!Number.isFinite(ms) || ms < least) {
    throw new RangeError(`redisStorage: ${name} is ${ms}; give it milliseconds, at least ${least}`)
  }
}
