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
export type SignalListener = (() => void) | { handleEvent(): void }

/** A signal and the means to abort it, in one. */
export interface Canceller extends Signal {
  /** Tells every listener, once. Later calls do nothing. */
  abort(reason?: unknown): void
}

class PlainCanceller implements Canceller {
  aborted = false
  reason: unknown
  #listeners: SignalListener[] = []

  addEventListener(_type: 'abort', listener: SignalListener): void {
    if (!this.aborted) this.#listeners.push(listener)
  }

  removeEventListener(_type: 'abort', listener: SignalListener): void {
    const at = this.#listeners.indexOf(listener)
    if (at >= 0) this.#listeners.splice(at, 1)
  }

  abort(reason?: unknown): void {
    if (this.aborted) return
    this.aborted = true
    this.reason = reason
    // One at a time off the list: a listener may remove another that has not been told yet.
    for (let listener = this.#listeners.shift(); listener !== undefined; listener = this.#listeners.shift())
      if (typeof listener === 'function') listener()
      else listener.handleEvent()
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
