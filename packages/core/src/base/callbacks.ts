import { ignoreRejection, isThenable, settleWithin, type Wait } from './async.ts'

// The contract of every function that a host supplies (docs/decisions/0025-callbacks.md). Such a function may throw, reject, never
// settle, settle too late, or return a value of the wrong type. Deciders then refuse, observers are logged and ignored, and no
// promise is left without a handler. A function that returns a plain value costs no promise, timer or closure.

/** The part of a Logger that is needed here. */
interface ErrorLog {
  error(message: string, details?: unknown): void
}

/** Interprets the result of a yes-or-no callback: only `true` means yes. A promise is awaited; the result rejects as it does. */
export function decide(result: unknown, log: ErrorLog, wait: Wait<unknown>): boolean | Promise<boolean> {
  if (!isThenable(result)) return isYes(result, log, wait.name)
  return settleWithin(result, wait).then((value) => isYes(value, log, wait.name))
}

/** Interprets the result of a yes-or-no callback that must be synchronous: a promise means no, and is logged. */
export function decideNow(result: unknown, log: ErrorLog, name: string): boolean {
  if (!isThenable(result)) return isYes(result, log, name)
  ignoreRejection(result)
  logOncePerMinute(
    log,
    `modelgate: ${name} returned a promise, which counts as false: return true or false synchronously.`,
  )
  return false
}

function isYes(result: unknown, log: ErrorLog, name: string): boolean {
  if (result === true) return true
  // Undefined, null, 0 and '' mean no in any case; other values were most likely meant as a yes.
  if (result)
    logOncePerMinute(
      log,
      `modelgate: ${name} returned ${typeNameOf(result)}, which counts as false: return true or false.`,
    )
  return false
}

/** The plugin that a hook belongs to, for the log. */
type Owner = { readonly name: string } | undefined

/** Calls an observer. An exception or rejection is logged; the returned value is ignored and not awaited. */
export function observe(log: ErrorLog, name: string, call: () => unknown, owner?: Owner): void {
  try {
    const result = call()
    if (isThenable(result)) Promise.resolve(result).then(undefined, (error: unknown) => failed(log, name, owner, error))
  } catch (error) {
    failed(log, name, owner, error)
  }
}

/** Calls an observer and returns its value. Returns undefined if it fails or returns a promise; both are logged. */
export function observedValue<T>(log: ErrorLog, name: string, call: () => T, owner?: Owner): T | undefined {
  try {
    const result: unknown = call()
    if (!isThenable(result)) return result as T
    Promise.resolve(result).then(
      (value) => {
        // An async observer without a value loses nothing.
        if (value === undefined || value === null) return
        logOncePerMinute(
          log,
          `modelgate: ${fullName(name, owner)} returned a promise, whose value is ignored: return the value synchronously.`,
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

const repeatMs = 60_000
const loggedAt = new WeakMap<ErrorLog, Map<string, number>>()

/**
 * Logs a message at most once a minute, because every call may cause it. Each message is remembered, so there must be few: they name
 * options, not requests.
 */
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

/** Returns the type of a value for messages, which must not contain the value itself: it may be a secret. */
export const typeNameOf = (value: unknown): string =>
  value === null ? 'null' : Array.isArray(value) ? 'a list' : isThenable(value) ? 'a promise' : typeof value
