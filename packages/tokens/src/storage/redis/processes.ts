import { type Command, evaluate, script } from './client.ts'
import type { WorkOptions } from './guard.ts'

/** How often a process says that it is alive, in milliseconds; after three times that it counts as gone. */
export const presenceMs = 5000
/** While there are calls it says so more often, to learn sooner of others. */
const busyPresenceMs = 250
const goneMs = 3 * presenceMs

const announce = script(`
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
redis.call('ZADD', KEYS[1], now + ARGV[2], ARGV[1])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return redis.call('ZCARD', KEYS[1])`)

/** How many processes share the limits. */
export interface Processes {
  /** Says that this process is alive, and counts the others. */
  announce(command: Command): Promise<void>
  /** The same, only now and then, and without anyone waiting for it; to be called with each call. */
  touch(): void
  /** The last known number; undefined: this process has never reached Redis. */
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
      const alive = Number(await evaluate(command, announce, [key], [id, String(goneMs)]))
      const now = performance.now()
      // A Redis that has just been started knows of few: who was there a moment ago is believed to be on the way.
      if (count !== undefined && alive < count && now - countedAt < goneMs) return
      count = alive
      countedAt = now
    },
    touch() {
      if (timer === undefined) {
        timer = setInterval(now, presenceMs)
        timer.unref?.()
      }
      if (performance.now() - announcedAt > busyPresenceMs) now()
    },
    count: () => count,
    async leave(command) {
      await command(key, ['ZREM', key, id])
    },
    close: () => clearInterval(timer),
  }
  // Whoever waits for Redis finds out about failures.
  const now = (): void => void run(processes.announce, { limit: 'command' }).catch(() => undefined)
  return processes
}
