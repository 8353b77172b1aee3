import { type Canceller, createCanceller } from '../base/signal.ts'
import { clientStalled } from '../calls/timeout-errors.ts'
import type { Inbound, WatchedCall } from '../http/inbound.ts'

/** A call on its way: what stops it, and its place among the others. */
export class RunningCall implements WatchedCall {
  readonly signal: Canceller = createCanceller()
  /** Held, not only its signal: Node 20 forgets to abort the signal of a Request that was collected. */
  readonly inbound: Inbound
  before: RunningCall | undefined
  behind: RunningCall | undefined

  constructor(inbound: Inbound) {
    this.inbound = inbound
  }

  /** The client has left. */
  handleEvent(): void {
    this.signal.abort()
  }

  onClientStalled(stallMs: number): void {
    this.signal.abort(clientStalled(stallMs))
  }
}

/**
 * The calls on their way. They are linked to each other: a Map that gains and loses an entry with every call leaves dead
 * tables behind that keep whole calls in memory until the next full collection.
 */
export class RunningCalls {
  #last: RunningCall | undefined
  /** Told each time that no call is left. */
  onIdle: (() => void) | undefined

  get none(): boolean {
    return this.#last === undefined
  }

  enter(inbound: Inbound): RunningCall {
    const call = new RunningCall(inbound)
    inbound.signal.addEventListener('abort', call)
    const last = this.#last
    if (last !== undefined) {
      last.behind = call
      call.before = last
    }
    this.#last = call
    if (inbound.signal.aborted) call.handleEvent()
    return call
  }

  /** Once for each call; again does nothing. */
  leave(call: RunningCall): void {
    const { before, behind } = call
    if (before === undefined && behind === undefined && this.#last !== call) return
    call.inbound.signal.removeEventListener('abort', call)
    if (before !== undefined) before.behind = behind
    if (behind !== undefined) behind.before = before
    else this.#last = before
    call.before = undefined
    call.behind = undefined
    if (this.#last === undefined) this.onIdle?.()
  }

  abortAll(reason: unknown): void {
    // Whom it stops leaves the list meanwhile.
    const all: RunningCall[] = []
    for (let call = this.#last; call !== undefined; call = call.before) all.push(call)
    for (const call of all.reverse()) call.signal.abort(reason)
  }
}
