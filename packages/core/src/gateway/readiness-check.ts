import { monotonicNow, settleWithin } from '../base/async.ts'
import type { Logger } from '../config/config.ts'

/**
 * A dependency that the gateway needs, such as a database. It passes unless it throws, rejects, returns `false` or exceeds the time
 * limit. Returning `false` logs nothing: use it if the cause is logged elsewhere.
 *
 * @param options.signal aborted after the time limit
 */
export type ReadinessCheck = (options: { readonly signal: AbortSignal }) => unknown

/** Result of a check. */
export interface CheckResult {
  readonly name: string
  readonly ok: boolean
  /** Milliseconds that the check took. */
  readonly durationMs: number
}

/** Runs a check and returns its result, or the result of the last run. */
export type RunCheck = () => Promise<CheckResult>

/** Minimum milliseconds between the starts of two runs: unauthenticated clients can send any number of requests. */
const intervalMs = 1000

/**
 * Creates a function that runs a check at most once per second and once at a time, however often it is called. It never rejects, and
 * settles within `timeoutMs`. Failures are logged when the result changes.
 */
export function createCheckRunner(
  name: string,
  check: ReadinessCheck,
  timeoutMs: number,
  log: Pick<Logger, 'warn'>,
): RunCheck {
  let last: { readonly startedAt: number; readonly result: Promise<CheckResult> } | undefined
  let isRunning = false
  /** A failure has been logged. */
  let isReported = false

  const passes = async (): Promise<boolean> => {
    const controller = new AbortController()
    try {
      // Inside the function of a promise: a check that throws synchronously is a failed check.
      const pending = Promise.resolve().then(() => check({ signal: controller.signal }))
      const wait = { name: `The readiness check '${name}'`, ms: timeoutMs, fix: 'Settle sooner, or raise timeoutMs.' }
      if ((await settleWithin(pending, wait)) === false) return false
      if (isReported) log.warn(`modelgate: The readiness check '${name}' passes again.`)
      isReported = false
      return true
    } catch (error) {
      if (!isReported) log.warn(`modelgate: The readiness check '${name}' failed.`, error)
      isReported = true
      return false
    } finally {
      controller.abort()
    }
  }
  const run = async (startedAt: number): Promise<CheckResult> => {
    isRunning = true
    const ok = await passes()
    isRunning = false
    return { name, ok, durationMs: Math.round(monotonicNow() - startedAt) }
  }
  return () => {
    const now = monotonicNow()
    if (last === undefined || (!isRunning && now - last.startedAt >= intervalMs))
      last = { startedAt: now, result: run(now) }
    return last.result
  }
}
