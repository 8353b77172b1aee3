import { type Command, evaluate, script } from './client.ts'
import type { WorkOptions } from './guard.ts'

/** Milliseconds between two announcements of a process. */
export const presenceMs = 5000
/** The same while there are calls, so that processes learn of each other sooner. */
const busyPresenceMs = 250
/** Milliseconds without an announcement after which a process counts as gone. */
const goneMs = 3 * presenceMs

const announceScript = script(`
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
redis.call('ZADD', KEYS[1], now + ARGV[2], ARGV[1])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return redis.call('ZCARD', KEYS[1])`)

/** Counts the processes that share the limits. */
export interface Processes {
  /** Announces this process, and counts all of them. */
  announce(command: Command): Promise<void>
  /** Announces this process in the background from time to time. To be called with each call. */
  touch(): void
  /** Returns the last known number; undefined if this process has never reached Redis. */
  count(): number | undefined
  leave(command: Command): Promise<void>
  close(): void
}

export function createProcesses(
  key: string,
  id: string,
  run: (work: (command: Command) => Promise<void>, options: WorkOptions) => Promise<void>,
): Processes {
  let timer: ReturnType<typeof setInterval> | undefined
  let announcedAt = Number.NEGATIVE_INFINITY
  let count: number | undefined
  let countedAt = 0

  const processes: Processes = {
    async announce(command) {
      announcedAt = performance.now()
      const alive = Number(await evaluate(command, announceScript, [key], [id, String(goneMs)]))
      const now = performance.now()
      // After a restart, Redis knows few processes: those that were known a moment ago are expected to return.
      if (count !== undefined && alive < count && now - countedAt < goneMs) return
      count = alive
      countedAt = now
    },
    touch() {
      if (timer === undefined) {
        timer = setInterval(announceNow, presenceMs)
        timer.unref?.()
      }
      if (performance.now() - announcedAt > busyPresenceMs) announceNow()
    },
    count: () => count,
    async leave(command) {
      await command(key, ['ZREM', key, id])
    },
    close: () => clearInterval(timer),
  }
  // Failures are reported by the work that waits for Redis.
  const announceNow = (): void => void run(processes.announce, { limit: 'command' }).catch(() => undefined)
  return processes
}
