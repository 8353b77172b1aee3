import type { Command } from './redis-client.ts'
import { isAnswer, messageOf } from './redis-client.ts'
import { StorageAwayError } from './storage.ts'

/** How often it is looked whether Redis is back, in milliseconds. */
const probeEveryMs = 250
/** A probe that has no answer for so long is not waited for any more: its client may have lost it. */
const probeLastsMs = 5000

/**
 * Stands between the store and Redis, so that nobody waits: work that takes longer than `timeoutMs`, all its commands together,
 * fails; from then on Redis is away, and all work fails at once, until a probe has succeeded.
 */
export interface Guard {
  /**
   * Throws StorageAwayError; other errors are those of `work` and, as they came, answers of Redis. Commands that were given up
   * may still run: clients keep them for when they are connected again.
   */
  run<T>(work: (command: Command) => Promise<T>): Promise<T>
  /** For how many milliseconds Redis has been away; undefined: it is there. Infinity: the guard is closed. */
  awayMs(): number | undefined
  close(): void
}

export interface GuardSettings {
  readonly command: Command
  readonly timeoutMs: number
  /** Shows by success that Redis can be read and written. */
  readonly probe: (command: Command) => Promise<unknown>
  readonly onAway: (reason: string) => void
  readonly onBack: (awayMs: number) => void
}

export function createGuard({ command, timeoutMs, probe, onAway, onBack }: GuardSettings): Guard {
  let away: { readonly since: number; readonly reason: string } | undefined
  let timer: ReturnType<typeof setInterval> | undefined
  /** When the probe that is on its way was sent. */
  let probing: number | undefined
  let closed = false

  const awayError = (reason: string, cause?: unknown): StorageAwayError =>
    new StorageAwayError(`Redis is away: ${reason}. Nothing to do but to wait, or to start it`, { cause })

  const back = (): void => {
    if (away === undefined || closed) return
    const awayMs = performance.now() - away.since
    away = undefined
    clearInterval(timer)
    onBack(awayMs)
  }
  const look = (): void => {
    const now = performance.now()
    if (probing !== undefined && now - probing < probeLastsMs) return
    probing = now
    const over = (): void => {
      if (probing === now) probing = undefined
    }
    probe(command).then(() => {
      over()
      back()
    }, over)
  }
  const leave = (reason: string): void => {
    if (away !== undefined || closed) return
    away = { since: performance.now(), reason }
    timer = setInterval(look, probeEveryMs)
    timer.unref?.()
    onAway(reason)
    look()
  }

  return {
    awayMs() {
      if (closed) return Number.POSITIVE_INFINITY
      return away === undefined ? undefined : performance.now() - away.since
    },
    run(work) {
      if (closed) return Promise.reject(new StorageAwayError('this store is closed; make a new one'))
      if (away !== undefined) return Promise.reject(awayError(away.reason))
      return new Promise((resolve, reject) => {
        let over = false
        const end = (): boolean => {
          if (over) return false
          over = true
          clearTimeout(limit)
          return true
        }
        const giveUp = (reason: string, cause?: unknown): void => {
          if (!end()) return
          leave(reason)
          reject(awayError(reason, cause))
        }
        // An answer may be there already, unread, when this process was busy for long: it is read before the immediate.
        const limit = setTimeout(() => setImmediate(() => giveUp(`no answer within ${timeoutMs} ms`)), timeoutMs)
        const guarded: Command = async (key, args) => {
          // What was given up does not go on behind the caller's back.
          if (over) throw awayError('the call was given up')
          try {
            return await command(key, args)
          } catch (error) {
            if (isAnswer(error)) throw error
            throw awayError(messageOf(error), error)
          }
        }
        work(guarded).then(
          (value) => {
            if (end()) resolve(value)
          },
          (error: unknown) => {
            if (error instanceof StorageAwayError) giveUp(messageOf(error.cause ?? error), error.cause)
            else if (end()) reject(error)
          },
        )
      })
    },
    close() {
      closed = true
      clearInterval(timer)
    },
  }
}
