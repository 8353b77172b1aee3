import { type Canceller, createCanceller } from '../base/async.ts'
import { clientStalled } from '../calls/timeout-errors.ts'
import type { Inbound, WatchedCall } from '../http/inbound.ts'

/** A call on its way: what stops it, and its place among the others. */
export class ActiveCall implements WatchedCall {
  readonly signal: Canceller = createCanceller()
  /** Held, not only its signal: Node 20 forgets to abort the signal of a Request that was collected. */
  readonly inbound: Inbound
  prev: ActiveCall | undefined
  next: ActiveCall | undefined

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
export class ActiveCalls {
  #last: ActiveCall | undefined
  /** Told each time that no call is left. */
  onIdle: (() => void) | undefined

  get none(): boolean {
    return this.#last === undefined
  }

  enter(inbound: Inbound): ActiveCall {
    const call = new ActiveCall(inbound)
    inbound.signal.addEventListener('abort', call)
    const last = this.#last
    if (last !== undefined) {
      last.next = call
      call.prev = last
    }
    this.#last = call
    if (inbound.signal.aborted) call.handleEvent()
    return call
  }

  /** Once for each call; again does nothing. */
  leave(call: ActiveCall): void {
    const { prev, next } = call
    if (prev === undefined && next === undefined && this.#last !== call) return
    call.inbound.signal.removeEventListener('abort', call)
    if (prev !== undefined) prev.next = next
    if (next !== undefined) next.prev = prev
    else this.#last = prev
    call.prev = undefined
    call.next = undefined
    if (this.#last === undefined) this.onIdle?.()
  }

  abortAll(reason: unknown): void {
    // Whom it stops leaves the list meanwhile.
    const all: ActiveCall[] = []
    for (let call = this.#last; call !== undefined; call = call.prev) all.push(call)
    for (const call of all.reverse()) call.signal.abort(reason)
  }
}
