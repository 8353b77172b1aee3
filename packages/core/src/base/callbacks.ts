import { isThenable, type Signal, stopReason } from './async.ts'

// The contract of every function that a host supplies (docs/decisions/0025-callbacks.md). Such a function may throw, reject, never
// settle, settle too late, or return a value of the wrong type. Deciders then refuse, observers are logged and ignored, and no
// promise is left without a handler. A function that returns a plain value costs no promise, timer or closure.

/** The part of a Logger that is needed here. */
interface ErrorLog {
  error(message: string, details?: unknown): void
}

/** A callback broke its contract. The message names the option for the log; clients never see it. */
export class CallbackError extends Error {
  override readonly name = 'CallbackError'
}

/** How long, and for whom, a callback's promise is awaited. */
export interface Wait<T> {
  /** The option as the log names it: `auth`. */
  readonly name: string
  /** Default: as long as the call lasts. */
  readonly ms?: number
  /** Follows the error's message. Default: to raise `limits.callbackMs`. */
  readonly fix?: string
  /** Aborted when the call is over: the wait ends at once. */
  readonly signal?: Signal | undefined
  /** Milliseconds that the promise has to settle by itself once the signal is aborted. Default: none. */
  readonly graceMs?: number
  /** Receives a value that arrives after the wait ended, to release what it holds. */
  readonly onLateValue?: (value: T) => void
}

/**
 * Awaits a callback's promise, within a time limit and while the call lasts. Rejects as the promise does, with a CallbackError
 * after `ms`, or with the reason of the signal. A rejection that comes later is ignored.
 */
export function settleWithin<T>(pending: PromiseLike<T>, wait: Wait<T>): Promise<T> {
  const { name, ms, fix = 'Settle sooner, or raise limits.callbackMs.', signal, graceMs, onLateValue: onLate } = wait
  return new Promise((resolve, reject) => {
    let waiting = true
    const end = (): boolean => {
      if (!waiting) return false
      waiting = false
      clearTimeout(timer)
      signal?.removeEventListener('abort', stop)
      return true
    }
    const stopNow = (): void => {
      if (end()) reject(stopReason(signal ?? { reason: undefined }))
    }
    const stop = (): void => {
      if (graceMs === undefined) {
        stopNow()
        return
      }
      clearTimeout(timer)
      timer = setTimeout(stopNow, graceMs)
    }
    const expire = (): void => {
      if (end()) reject(new CallbackError(`${name} did not settle within ${ms} ms. ${fix}`))
    }
    let timer = ms === undefined ? undefined : setTimeout(expire, ms)
    // Also for thenables that are no promises, and for a `then` that throws.
    Promise.resolve(pending).then(
      (value) => {
        if (end()) resolve(value)
        else if (onLate !== undefined) runSilently(() => onLate(value))
      },
      (error: unknown) => {
        if (end()) reject(error)
      },
    )
    if (signal?.aborted) stop()
    else signal?.addEventListener('abort', stop)
  })
}

/**
 * Reads the answer of a yes-or-no callback: only `true` is a yes. A promise is awaited; the result rejects as it does.
 */
export function decide(answer: unknown, log: ErrorLog, wait: Wait<unknown>): boolean | Promise<boolean> {
  if (!isThenable(answer)) return isYes(answer, log, wait.name)
  return settleWithin(answer, wait).then((late) => isYes(late, log, wait.name))
}

/** The same for a callback that has to answer at once: a promise is a no. */
export function decideNow(answer: unknown, log: ErrorLog, name: string): boolean {
  if (!isThenable(answer)) return isYes(answer, log, name)
  ignoreRejection(answer)
  logOncePerMinute(log, `modelgate: ${name} returned a promise, which counts as no: return true or false at once.`)
  return false
}

function isYes(answer: unknown, log: ErrorLog, name: string): boolean {
  if (answer === true) return true
  // Undefined, null, 0 and '' mean no in any case; other values were most likely meant as a yes.
  if (answer)
    logOncePerMinute(log, `modelgate: ${name} returned ${typeNameOf(answer)}, which counts as no: return true.`)
  return false
}

/** The plugin that a hook belongs to, for the log. */
type Owner = { readonly name: string } | undefined

/** Calls an observer. What it throws or rejects with is logged; what it returns is ignored and not awaited. */
export function observe(log: ErrorLog, name: string, call: () => unknown, owner?: Owner): void {
  try {
    const result = call()
    if (isThenable(result)) Promise.resolve(result).then(undefined, (error: unknown) => failed(log, name, owner, error))
  } catch (error) {
    failed(log, name, owner, error)
  }
}

/** Calls an observer whose value is used if it is there at once: undefined where it fails or returns a promise. */
export function observedValue<T>(log: ErrorLog, name: string, call: () => T, owner?: Owner): T | undefined {
  try {
    const result: unknown = call()
    if (!isThenable(result)) return result as T
    Promise.resolve(result).then(
      (late) => {
        // An async observer that returns nothing has lost nothing.
        if (late === undefined || late === null) return
        logOncePerMinute(
          log,
          `modelgate: ${fullName(name, owner)} returned a promise, whose value is ignored: return it at once.`,
        )
      },
      (error: unknown) => failed(log, name, owner, error),
    )
  } catch (error) {
    failed(log, name, owner, error)
  }
  return undefined
}

const fullName = (name: string, owner: Owner): string =>
  owner === undefined ? name : `${name} of plugin '${owner.name}'`

const failed = (log: ErrorLog, name: string, owner: Owner, error: unknown): void =>
  log.error(`modelgate: ${fullName(name, owner)} failed`, error)

/** Leaves a promise to itself: its rejection must not end the process. */
export function ignoreRejection(result: unknown): void {
  if (isThenable(result)) Promise.resolve(result).then(undefined, () => {})
}

/** Runs a function whose failure cannot be reported anywhere. */
export function runSilently(run: () => unknown): void {
  try {
    ignoreRejection(run())
  } catch {
    // See above.
  }
}

const repeatMs = 60_000
const loggedAt = new WeakMap<ErrorLog, Map<string, number>>()

/** Logs a message once a minute: it may come with every call. Messages must be few, so they name options and not requests. */
export function logOncePerMinute(log: ErrorLog, message: string, details?: unknown): void {
  const times = loggedAt.get(log) ?? new Map<string, number>()
  loggedAt.set(log, times)
  const now = performance.now()
  const last = times.get(message)
  if (last !== undefined && now - last < repeatMs) return
  times.set(message, now)
  if (details === undefined) log.error(message)
  else log.error(message, details)
}

/** A value's type, for messages: values may hold secrets. */
export const typeNameOf = (value: unknown): string =>
  value === null ? 'null' : Array.isArray(value) ? 'a list' : isThenable(value) ? 'a promise' : typeof value
