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
