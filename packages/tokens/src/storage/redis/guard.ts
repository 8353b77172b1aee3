import { StorageAwayError } from '../../contract/storage.ts'
import { type Command, isCommandError, messageOf } from './client.ts'

/** Milliseconds between two probes while Redis is away. */
const probeIntervalMs = 250
/** Milliseconds after which a probe without a response is repeated: the client may have lost it. */
const probeTimeoutMs = 5000
/** Milliseconds until work is tried again after a lost connection: clients reconnect after about this time. */
const retryAfterMs = 50

/** Time limit of a piece of work, and whether it can be repeated. */
export interface WorkOptions {
  /**
   * `admission`: a call waits for it, or it can be done later, such as a settlement. `command`: a change of tokens or a listing, for
   * which people wait. Default: `admission`.
   */
  readonly limit?: 'admission' | 'command'
  /** True if the work may be repeated after a failure: it only reads, or repeated steps have no effect. Default: true. */
  readonly repeatable?: boolean
}

/**
 * Bounds how long work waits for Redis. Work that exceeds its time limit, with all its commands together, fails. Redis then counts as away,
 * and all work fails at once until a probe succeeds. Work that fails earlier, for example by a lost connection, is tried once more within its
 * limit.
 */
export interface Guard {
  /**
   * Rejects with StorageAwayError if Redis is away; errors of `work` and error replies of Redis pass unchanged. Commands of work that has
   * failed may still run, because clients queue them until they are connected again.
   */
  run<T>(work: (command: Command) => Promise<T>, options?: WorkOptions): Promise<T>
  /** Returns the milliseconds since Redis is away; undefined if it is available, Infinity after `close()`. */
  awayMs(): number | undefined
  close(): void
}

export interface GuardSettings {
  readonly command: Command
  /** Limit of work that calls wait for, in milliseconds. */
  readonly timeoutMs: number
  /** Limit of all other work. Default: `timeoutMs`. */
  readonly commandMs?: number
  /** Minimum limit until Redis was reached once: the client may still be connecting. Default: `timeoutMs`. */
  readonly connectMs?: number
  /** Resolves if Redis can be read and written. */
  readonly probe: (command: Command) => Promise<unknown>
  readonly onAway: (reason: string) => void
  /** @param failed number of pieces of work that failed in the meantime */
  readonly onBack: (awayMs: number, failed: number) => void
}

export function createGuard(settings: GuardSettings): Guard {
  const { command, timeoutMs, commandMs = timeoutMs, connectMs = timeoutMs, probe, onAway, onBack } = settings
  let failed = 0
  let reached = false
  let away: { readonly since: number; readonly reason: string } | undefined
  let timer: ReturnType<typeof setInterval> | undefined
  /** Time at which the pending probe was sent. */
  let probeSentAt: number | undefined
  let closed = false

  const awayError = (reason: string, cause?: unknown): StorageAwayError =>
    Object.assign(
      new StorageAwayError(`Redis is unavailable: ${reason}. Check that Redis runs and is reachable`, { cause }),
      { isLogged: true },
    )

  const markAvailable = (): void => {
    if (away === undefined || closed) return
    const awayMs = performance.now() - away.since
    const failedMeanwhile = failed
    away = undefined
    failed = 0
    reached = true
    clearInterval(timer)
    onBack(awayMs, failedMeanwhile)
  }
  const sendProbe = (): void => {
    const now = performance.now()
    if (probeSentAt !== undefined && now - probeSentAt < probeTimeoutMs) return
    probeSentAt = now
    const endProbe = (): void => {
      if (probeSentAt === now) probeSentAt = undefined
    }
    probe(command).then(() => {
      endProbe()
      markAvailable()
    }, endProbe)
  }
  const markAway = (reason: string): void => {
    if (away !== undefined || closed) return
    away = { since: performance.now(), reason }
    timer = setInterval(sendProbe, probeIntervalMs)
    timer.unref?.()
    onAway(reason)
    sendProbe()
  }

  return {
    awayMs() {
      if (closed) return Number.POSITIVE_INFINITY
      return away === undefined ? undefined : performance.now() - away.since
    },
    run(work, { limit = 'admission', repeatable = true } = {}) {
      if (closed) return Promise.reject(new StorageAwayError('this store is closed; create a new one'))
      if (away !== undefined) {
        failed++
        return Promise.reject(awayError(away.reason))
      }
      const workMs = limit === 'admission' ? timeoutMs : commandMs
      const limitMs = reached ? workMs : Math.max(workMs, connectMs)
      return new Promise((resolve, reject) => {
        let ended = false
        let attempts = repeatable ? 2 : 1
        let retry: ReturnType<typeof setTimeout> | undefined
        const end = (): boolean => {
          if (ended) return false
          ended = true
          clearTimeout(deadline)
          clearTimeout(retry)
          return true
        }
        const giveUp = (reason: string, cause?: unknown): void => {
          if (!end()) return
          markAway(reason)
          failed++
          reject(awayError(reason, cause))
        }
        const onDeadline = (): void =>
          giveUp(`no response within ${limitMs} ms${lastFailure === '' ? '' : ` (${lastFailure})`}`)
        // A response may have arrived unread while this process was busy. It is read before the immediate runs.
        const deadline = setTimeout(() => setImmediate(onDeadline), limitMs)
        let lastFailure = ''
        const guarded: Command = async (key, args) => {
          // Work that has failed must not continue after its caller got the error.
          if (ended) throw awayError('the operation was canceled')
          try {
            return await command(key, args)
          } catch (error) {
            if (isCommandError(error)) throw error
            throw awayError(messageOf(error), error)
          }
        }
        const attempt = (): void => {
          attempts--
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
              if (ended) return
              lastFailure = messageOf(error.cause ?? error)
              if (attempts > 0) retry = setTimeout(attempt, retryAfterMs)
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
