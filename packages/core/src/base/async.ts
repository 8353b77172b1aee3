import { GatewayError } from './errors.ts'

/**
 * What the gateway asks of a signal. An AbortSignal is one. The gateway's own are plain objects: on Node, making a real
 * one, listening to it and collecting it costs more than everything else that is done for a call.
 */
export interface Signal {
  readonly aborted: boolean
  /** Why; undefined while it is not aborted, and where no reason was given. */
  readonly reason: unknown
  addEventListener(type: 'abort', listener: SignalListener): void
  removeEventListener(type: 'abort', listener: SignalListener): void
}
/** What a signal tells that the call is aborted: a function, or an object with `handleEvent`. */
export type SignalListener = (() => void) | { handleEvent(): void }

/** A signal and the means to abort it, in one. */
export interface Canceller extends Signal {
  /** Tells every listener, once. Later calls do nothing. */
  abort(reason?: unknown): void
}

class PlainCanceller implements Canceller {
  aborted = false
  reason: unknown
  // Nearly all have one listener: an array for each signal would be felt.
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
    // One at a time off the list: a listener may remove another that has not been told yet. One that fails must not keep the
    // others from being told.
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

/** For adapters: a signal that costs next to nothing. */
export const createCanceller = (): Canceller => new PlainCanceller()

/** For transports on top of something that insists on a real AbortSignal, as `fetch` does. */
export function abortSignalOf(signal: Signal): AbortSignal {
  if (signal instanceof AbortSignal) return signal
  const controller = new AbortController()
  if (signal.aborted) controller.abort(signal.reason)
  else signal.addEventListener('abort', () => controller.abort(signal.reason))
  return controller.signal
}

/** Why a call was stopped: the gateway's own reason, or the client has left. */
export const stopReason = ({ reason }: Pick<Signal, 'reason'>): GatewayError =>
  reason instanceof GatewayError
    ? reason
    : new GatewayError('cancelled', 'The client closed the connection before the answer began.')

/**
 * What is loaded by the first who needs it. From then on it is there at once, without a turn of the queue: callers await it
 * only if it is a promise. A load that fails is tried anew by the next.
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
    // Who began it early may never come to ask for it.
    loading.catch(() => {})
    return loading
  }
}

/** Not only promises of this realm: query builders and other libraries return thenables of their own, functions among them. */
export const isThenable = <T>(value: T | PromiseLike<T>): value is PromiseLike<T> =>
  ((typeof value === 'object' && value !== null) || typeof value === 'function') &&
  'then' in value &&
  typeof value.then === 'function'

/** Waits. Rejects as soon as the signal is aborted, with why. */
export function sleep(ms: number, signal: Signal): Promise<void> {
  return new Promise((resolve, reject) => {
    const leave = (): void => {
      clearTimeout(timer)
      signal.removeEventListener('abort', leave)
      reject(stopReason(signal))
    }
    const timer = setTimeout(
      () => {
        signal.removeEventListener('abort', leave)
        resolve()
      },
      Math.min(Math.ceil(ms), maxTimerMs),
    )
    if (signal.aborted) leave()
    else signal.addEventListener('abort', leave)
  })
}

/** Timers take no more; beyond it they fire at once. Nearly 25 days: as good as never. */
export const maxTimerMs = 2 ** 31 - 1

/** Calls to a store that run at the same time. */
const atOnce = 64

/** Runs a task for each element, a limited number at a time. Rejects with the first failure, and starts no further batch then. */
export async function inBatches<T>(all: readonly T[], run: (one: T) => unknown): Promise<void> {
  for (let at = 0; at < all.length; at += atOnce) await Promise.all(all.slice(at, at + atOnce).map(run))
}

/**
 * Milliseconds on a clock that is never set: the only clock for durations, deadlines, cooldowns and lifetimes. `Date.now()` steps
 * when the system's time is corrected, which ends running calls or stops their time limits. It is for times of day only (event
 * timestamps, HTTP dates, calendar periods).
 *
 * The origin is arbitrary: two values of one process can be compared, nothing else. Both clocks cost the same, and every runtime
 * has both. Cloudflare Workers advance both only after I/O.
 */
export const monotonicNow = (): number => performance.now()
