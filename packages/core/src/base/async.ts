import { GatewayError } from './errors.ts'

// Abort signals, timers, promises of host functions, and lazy loading.

/**
 * The part of an abort signal that the gateway uses; an `AbortSignal` satisfies it. The gateway's own signals are plain objects: on
 * Node, creating a real one, listening to it and collecting it costs more than everything else that is done for a call.
 */
export interface Signal {
  readonly aborted: boolean
  /** The reason of the abort. Undefined before the abort, and if no reason was given. */
  readonly reason: unknown
  addEventListener(type: 'abort', listener: SignalListener): void
  removeEventListener(type: 'abort', listener: SignalListener): void
}

/** A listener that a signal calls on abort: a function, or an object with `handleEvent`. */
export type SignalListener = (() => void) | { handleEvent(): void }

/** A signal together with the function that aborts it. */
export interface Canceller extends Signal {
  /** Calls every listener once. Later calls do nothing. */
  abort(reason?: unknown): void
}

/** Creates a signal for an adapter. Cheaper than an `AbortController`; see `Signal`. */
export const createCanceller = (): Canceller => new PlainCanceller()

/** Returns a real AbortSignal that follows a signal, for functions that require one, such as `fetch`. */
export function abortSignalOf(signal: Signal): AbortSignal {
  if (signal instanceof AbortSignal) return signal
  const controller = new AbortController()
  if (signal.aborted) controller.abort(signal.reason)
  else signal.addEventListener('abort', () => controller.abort(signal.reason))
  return controller.signal
}

/** Returns the error of an aborted call: the gateway's own reason, or `cancelled` if the client disconnected. */
export const stopReason = ({ reason }: Pick<Signal, 'reason'>): GatewayError =>
  reason instanceof GatewayError
    ? reason
    : new GatewayError('cancelled', 'The client closed the connection before the response began.')

/**
 * Returns milliseconds of a clock that is never set: the only clock for durations, deadlines, cooldowns and lifetimes. `Date.now()`
 * steps when the system's time is corrected, which would end running calls or stop their time limits. It is for times of day only
 * (event timestamps, HTTP dates, calendar periods).
 *
 * The origin is arbitrary: only values of one process can be compared. Both clocks cost the same, and every runtime has both.
 * Cloudflare Workers advance both only after I/O.
 */
export const monotonicNow = (): number => performance.now()

/** Longest delay of a timer in milliseconds (nearly 25 days). A timer with a longer delay fires at once. */
export const maxTimerMs = 2 ** 31 - 1

/** Lets the process end while a timer is running. Only timers of Node keep it alive. */
export function unref(timer: unknown): void {
  if (typeof timer === 'object' && timer !== null && 'unref' in timer && typeof timer.unref === 'function')
    timer.unref()
}

/** Waits. Rejects with the signal's reason as soon as the signal is aborted. */
export function sleep(ms: number, signal: Signal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = (): void => {
      clearTimeout(timer)
      signal.removeEventListener('abort', stop)
      reject(stopReason(signal))
    }
    const timer = setTimeout(
      () => {
        signal.removeEventListener('abort', stop)
        resolve()
      },
      Math.min(Math.ceil(ms), maxTimerMs),
    )
    if (signal.aborted) stop()
    else signal.addEventListener('abort', stop)
  })
}

/** Returns whether a value is a thenable: a promise of any realm, or the thenable of a library, such as a query builder. */
export const isThenable = <T>(value: T | PromiseLike<T>): value is PromiseLike<T> =>
  ((typeof value === 'object' && value !== null) || typeof value === 'function') &&
  'then' in value &&
  typeof value.then === 'function'

/** Handles the rejection of a promise that is not awaited: an unhandled one would end the process. */
export function ignoreRejection(result: unknown): void {
  if (isThenable(result)) Promise.resolve(result).then(undefined, () => {})
}

/** Runs a function whose failure cannot be reported anywhere. */
export function runSilently(run: () => unknown): void {
  try {
    ignoreRejection(run())
  } catch {
    // As documented: there is no place to report it.
  }
}

/** A callback broke its contract. The message names the option for the log; clients never see it. */
export class CallbackError extends Error {
  override readonly name = 'CallbackError'
}

/** How long a callback's promise is awaited, and until when. */
export interface Wait<T> {
  /** The option as the log names it: `auth`. */
  readonly name: string
  /** Milliseconds. Default: as long as the call lasts. */
  readonly ms?: number
  /** Advice after the error's message. Default: to raise `limits.callbackMs`. */
  readonly fix?: string
  /** Aborted when the call is over: the wait ends at once. */
  readonly signal?: Signal | undefined
  /** Milliseconds that the promise has to settle by itself once the signal is aborted. Default: none. */
  readonly graceMs?: number
  /** Receives a value that arrives after the wait ended, to release the resources that it holds. */
  readonly onLateValue?: (value: T) => void
}

/**
 * Awaits a callback's promise within a time limit, while the call lasts. Rejects as the promise does, with a CallbackError after
 * `ms`, or with the reason of the signal. A later rejection is ignored.
 */
export function settleWithin<T>(pending: PromiseLike<T>, wait: Wait<T>): Promise<T> {
  const { name, ms, fix = 'Settle sooner, or raise limits.callbackMs.', signal, graceMs, onLateValue } = wait
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
    // `Promise.resolve` also accepts thenables that are no promises, and a `then` that throws.
    Promise.resolve(pending).then(
      (value) => {
        if (end()) resolve(value)
        else if (onLateValue !== undefined) runSilently(() => onLateValue(value))
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
 * Returns a function that loads a module on its first call. Once loaded, the value is returned without a promise, so callers await
 * only a promise. A failed load is repeated by the next call.
 *
 * @param load a dynamic `import()` of a literal path, so that every bundler finds it
 */
export function lazy<T>(load: () => Promise<T>): () => T | Promise<T> {
  let loaded: { readonly value: T } | undefined
  let loading: Promise<T> | undefined
  return () => {
    if (loaded !== undefined) return loaded.value
    if (loading !== undefined) return loading
    loading = load().then(
      (value) => {
        loaded = { value }
        return value
      },
      (error: unknown) => {
        loading = undefined
        throw error
      },
    )
    // A caller that only preloads does not await the promise.
    loading.catch(() => {})
    return loading
  }
}

/** Calls that one batch runs at the same time. */
const batchSize = 64

/** Runs a task for each element, a limited number at a time. Rejects with the first failure, and starts no further batch then. */
export async function inBatches<T>(all: readonly T[], run: (one: T) => unknown): Promise<void> {
  for (let at = 0; at < all.length; at += batchSize) await Promise.all(all.slice(at, at + batchSize).map(run))
}

class PlainCanceller implements Canceller {
  aborted = false
  reason: unknown
  // Nearly all signals have one listener: an array for each signal would cost a measurable share of a call.
  #first: SignalListener | undefined
  #more: SignalListener[] | undefined

  addEventListener(_type: 'abort', listener: SignalListener): void {
    if (this.aborted) return
    if (this.#first === undefined && this.#more === undefined) this.#first = listener
    else if (this.#more === undefined) this.#more = [listener]
    else this.#more.push(listener)
  }

  removeEventListener(_type: 'abort', listener: SignalListener): void {
    if (this.#first === listener) {
      this.#first = undefined
      return
    }
    const at = this.#more?.indexOf(listener) ?? -1
    if (at >= 0) this.#more?.splice(at, 1)
  }

  abort(reason?: unknown): void {
    if (this.aborted) return
    this.aborted = true
    this.reason = reason
    // Listeners are removed one by one before they are called: a listener may remove another one that was not called yet. A
    // listener that fails must not keep the others from being called.
    let failure: { readonly error: unknown } | undefined
    for (let listener = this.#next(); listener !== undefined; listener = this.#next())
      try {
        if (typeof listener === 'function') listener()
        else listener.handleEvent()
      } catch (error) {
        failure ??= { error }
      }
    if (failure !== undefined) throw failure.error
  }

  #next(): SignalListener | undefined {
    const first = this.#first
    this.#first = undefined
    return first ?? this.#more?.shift()
  }
}
