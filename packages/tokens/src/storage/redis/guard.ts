import { StorageAwayError } from '../../contract/storage.ts'
import { type Command, isCommandError, messageOf } from './client.ts'

/** How often it is looked whether Redis is back, in milliseconds. */
const probeEveryMs = 250
/** A probe that has no answer for so long is not waited for any more: its client may have lost it. */
const probeLastsMs = 5000
/** How long after a lost connection the work is tried again: clients reconnect after about this time. */
const retryAfterMs = 50

/** How long a piece of work may take, and whether it can be done twice. */
export interface WorkOptions {
  /**
   * `admission`: a call waits for it, or it can be done later, as a settlement. `command`: a change of tokens or a listing, for which
   * people wait. Default `admission`.
   */
  readonly limit?: 'admission' | 'command'
  /** The work may be done a second time after a failure: it reads, or each of its steps has an effect only once. Default true. */
  readonly again?: boolean
}

/**
 * Bounds how long work waits for Redis. Work that takes longer than its limit, all its commands together, fails; from then on Redis is
 * away, and all work fails at once, until a probe has succeeded. Work that fails sooner, as by a lost connection, is tried once more
 * within its limit.
 */
export interface Guard {
  /**
   * Throws StorageAwayError; other errors are those of `work` and, as they came, answers of Redis. Commands that were given up
   * may still run: clients keep them for when they are connected again.
   */
  run<T>(work: (command: Command) => Promise<T>, options?: WorkOptions): Promise<T>
  /** For how many milliseconds Redis has been away; undefined: it is there. Infinity: the guard is closed. */
  awayMs(): number | undefined
  close(): void
}

export interface GuardSettings {
  readonly command: Command
  /** Limit of what calls wait for, in milliseconds. */
  readonly timeoutMs: number
  /** Limit of everything else. Default `timeoutMs`. */
  readonly commandMs?: number
  /** Limit while Redis was never reached: the client may still be connecting. Default `timeoutMs`. */
  readonly connectMs?: number
  /** Shows by success that Redis can be read and written. */
  readonly probe: (command: Command) => Promise<unknown>
  readonly onAway: (reason: string) => void
  /** @param refused how many pieces of work were refused meanwhile */
  readonly onBack: (awayMs: number, refused: number) => void
}

export function createGuard(settings: GuardSettings): Guard {
  const { command, timeoutMs, commandMs = timeoutMs, connectMs = timeoutMs, probe, onAway, onBack } = settings
  let refused = 0
  let reached = false
  let away: { readonly since: number; readonly reason: string } | undefined
  let timer: ReturnType<typeof setInterval> | undefined
  /** When the probe that is on its way was sent. */
  let probing: number | undefined
  let closed = false

  const awayError = (reason: string, cause?: unknown): StorageAwayError =>
    new StorageAwayError(`Redis is unavailable: ${reason}. Check that it runs and can be reached`, { cause })

  const back = (): void => {
    if (away === undefined || closed) return
    const awayMs = performance.now() - away.since
    const refusedMeanwhile = refused
    away = undefined
    refused = 0
    reached = true
    clearInterval(timer)
    onBack(awayMs, refusedMeanwhile)
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
    run(work, { limit = 'admission', again = true } = {}) {
      if (closed) return Promise.reject(new StorageAwayError('this store is closed; make a new one'))
      if (away !== undefined) {
        refused++
        return Promise.reject(awayError(away.reason))
      }
      const ownMs = limit === 'admission' ? timeoutMs : commandMs
      const limitMs = reached ? ownMs : Math.max(ownMs, connectMs)
      return new Promise((resolve, reject) => {
        let over = false
        let tries = again ? 2 : 1
        let retry: ReturnType<typeof setTimeout> | undefined
        const end = (): boolean => {
          if (over) return false
          over = true
          clearTimeout(deadline)
          clearTimeout(retry)
          return true
        }
        const giveUp = (reason: string, cause?: unknown): void => {
          if (!end()) return
          leave(reason)
          refused++
          reject(awayError(reason, cause))
        }
        // An answer may be there already, unread, when this process was busy for long: it is read before the immediate.
        const late = (): void =>
          giveUp(`no answer within ${limitMs} ms${lastFailure === '' ? '' : ` (${lastFailure})`}`)
        const deadline = setTimeout(() => setImmediate(late), limitMs)
        let lastFailure = ''
        const guarded: Command = async (key, args) => {
          // What was given up does not go on behind the caller's back.
          if (over) throw awayError('the call was given up')
          try {
            return await command(key, args)
          } catch (error) {
            if (isCommandError(error)) throw error
            throw awayError(messageOf(error), error)
          }
        }
        const attempt = (): void => {
          tries--
          work(guarded).then(
            (value) => {
              reached = true
              if (end()) resolve(value)
            },
            (error: unknown) => {
              if (!(error instanceof StorageAwayError)) {
                if (end()) reject(error)
                return
              }
              if (over) return
              lastFailure = messageOf(error.cause ?? error)
              if (tries > 0) retry = setTimeout(attempt, retryAfterMs)
              else giveUp(lastFailure, error.cause)
            },
          )
        }
        attempt()
      })
    },
    close() {
      closed = true
      clearInterval(timer)
    },
  }
}
