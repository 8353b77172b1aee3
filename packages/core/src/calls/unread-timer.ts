import { maxTimerMs, monotonicNow } from '../base/async.ts'

/** Handlers for time limits that end while no reader pulls a body. */
export interface UnreadBody {
  /** The call's total time limit is over. Called once at most. */
  onTotal(): void
  /** The client has not pulled for as long as it may. Called once at most; nothing follows. */
  onStalled(): void
}

/**
 * The time limits of a body whose client does not pull it: nothing else runs then that could notice. One timer, made when a chunk
 * has been handed over and the next one is not pulled at once. It is not re-armed for each chunk: when it rings, it looks how much
 * time is left.
 */
export class UnreadTimer {
  readonly #body: UnreadBody
  readonly #stallMs: number
  #totalUntil: number
  /** When the last chunk was handed over; undefined while the client waits for the next one. */
  #since: number | undefined
  #timer: ReturnType<typeof setTimeout> | undefined

  /**
   * @param stallMs milliseconds without a pull; Infinity: no limit
   * @param totalUntil by `monotonicNow`; Infinity: no limit
   */
  constructor(body: UnreadBody, stallMs: number, totalUntil: number) {
    this.#body = body
    this.#stallMs = stallMs
    this.#totalUntil = totalUntil
  }

  /** A chunk has been handed over, and the client has not asked for the next one. */
  start(since: number): void {
    this.#since = since
    if (this.#timer === undefined) this.#arm(monotonicNow())
  }

  pulled(): void {
    this.#since = undefined
  }

  stop(): void {
    this.#since = undefined
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  #arm(now: number): void {
    const left = Math.min((this.#since ?? now) + this.#stallMs, this.#totalUntil) - now
    if (left === Number.POSITIVE_INFINITY) return
    this.#timer = setTimeout(ring, Math.min(Math.max(0, Math.ceil(left)), maxTimerMs), this)
    unref(this.#timer)
  }

  /** The timer. */
  ring(): void {
    this.#timer = undefined
    if (this.#since === undefined) return
    const now = monotonicNow()
    if (now >= this.#totalUntil) {
      this.#totalUntil = Number.POSITIVE_INFINITY
      this.#body.onTotal()
    }
    if (now - this.#since >= this.#stallMs) this.#body.onStalled()
    else this.#arm(now)
  }
}

const ring = (timer: UnreadTimer): void => timer.ring()

/** On Node: a body that was dropped unread must not keep the process alive. */
function unref(timer: unknown): void {
  if (typeof timer === 'object' && timer !== null && 'unref' in timer && typeof timer.unref === 'function')
    timer.unref()
}
