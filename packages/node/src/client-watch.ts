import type { Socket } from 'node:net'

/** Sweeps within the time that a client has, and their bounds in milliseconds. */
const sweepsPerLimit = 10
const shortestSweepMs = 10
const longestSweepMs = 5000

/**
 * A client that is watched while it gets a response: it has to take a byte from time to time while there are some for it.
 *
 * All watched clients are linked to each other, and one timer for the whole process looks at them: a timer for each response would
 * cost more than sending a small one. The links are members of an object that exists for each request anyway.
 */
export abstract class WatchedClient {
  #before: WatchedClient | undefined
  #behind: WatchedClient | undefined
  #isWatched = false
  #limitMs = 0
  /** For how long nothing has been taken, as far as sweeps have seen it. */
  #stalledMs = 0
  /** What had been taken when it was last looked; NaN: there was nothing to take, so that the time counts from the next look. */
  #taken = Number.NaN

  /** Bytes that wait for the client in this process. */
  protected abstract unread(): number
  /** A number that changes whenever the client takes bytes, and only then while there are some for it. */
  protected abstract taken(): number
  /** The client has taken nothing for `stallMs`. It is no longer watched. */
  protected abstract onStalled(stallMs: number): void

  /** Begins to watch. */
  protected watch(limitMs: number): void {
    if (this.#isWatched) return
    this.#isWatched = true
    this.#limitMs = limitMs
    if (last !== undefined) {
      last.#behind = this
      this.#before = last
    }
    last = this
    sweepEach(Math.min(longestSweepMs, Math.max(shortestSweepMs, limitMs / sweepsPerLimit)))
  }

  /** Ends watching; again does nothing. */
  protected unwatch(): void {
    if (!this.#isWatched) return
    this.#isWatched = false
    if (this.#before !== undefined) this.#before.#behind = this.#behind
    if (this.#behind !== undefined) this.#behind.#before = this.#before
    else last = this.#before
    this.#before = undefined
    this.#behind = undefined
  }

  /** @param elapsedMs since the last sweep */
  static sweep(elapsedMs: number): void {
    const stalled: WatchedClient[] = []
    for (let client = last; client !== undefined; client = client.#before)
      if (client.#isStalled(elapsedMs)) stalled.push(client)
    for (const client of stalled) {
      client.unwatch()
      client.onStalled(client.#limitMs)
    }
  }

  #isStalled(elapsedMs: number): boolean {
    const taken = this.unread() === 0 ? Number.NaN : this.taken()
    this.#stalledMs = taken === this.#taken ? this.#stalledMs + elapsedMs : 0
    this.#taken = taken
    return this.#stalledMs >= this.#limitMs
  }
}

let last: WatchedClient | undefined
let sweeper: NodeJS.Timeout | undefined
let sweepMs = Number.POSITIVE_INFINITY
let sweptAt = 0

function sweepEach(ms: number): void {
  if (ms >= sweepMs) return
  clearInterval(sweeper)
  sweepMs = ms
  sweptAt = performance.now()
  sweeper = setInterval(sweep, ms).unref()
}

function sweep(): void {
  if (last === undefined) {
    clearInterval(sweeper)
    sweeper = undefined
    sweepMs = Number.POSITIVE_INFINITY
    return
  }
  const now = performance.now()
  // A process that stood still must not take all its clients for stalled ones: they had no chance to be sent anything.
  WatchedClient.sweep(Math.min(now - sweptAt, 2 * sweepMs))
  sweptAt = now
}

/**
 * Bytes of a socket that its peer's side of the network has taken. `bytesWritten` and `writableLength` change with whole writes only;
 * how much of the running one is gone is what Node itself goes by for its socket timeouts.
 */
export function bytesTaken(
  socket: Socket & { readonly _handle?: { readonly writeQueueSize?: number } | null },
): number {
  return socket.bytesWritten - socket.writableLength - (socket._handle?.writeQueueSize ?? 0)
}
