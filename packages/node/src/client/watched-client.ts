import type { Socket } from 'node:net'

/** Sweeps within a client's time limit, and the bounds of their interval in milliseconds. */
const sweepsPerLimit = 10
const minSweepMs = 10
const maxSweepMs = 5000

/**
 * Detects a client that does not read its response: while bytes wait for it, it must receive some within the time limit.
 *
 * Watched clients form a linked list, and one timer for the whole process sweeps it: a timer for each response would cost more than
 * sending a small one. The links are members of an object that exists for each request anyway.
 */
export abstract class WatchedClient {
  #previous: WatchedClient | undefined
  #next: WatchedClient | undefined
  #isWatched = false
  #limitMs = 0
  /** Time without progress, measured from sweep to sweep. */
  #stalledMs = 0
  /** Progress at the last sweep; NaN if no bytes were waiting, so that the time starts at the next sweep. */
  #progress = Number.NaN

  /** Bytes in this process that wait to be sent to the client. */
  protected abstract pendingBytes(): number
  /** A number that, while bytes wait, changes when the client receives some and only then. */
  protected abstract progress(): number
  /** Called when the client has received nothing for `stallMs`. The watch has ended. */
  protected abstract onStalled(stallMs: number): void

  /** Starts the watch. */
  protected watch(limitMs: number): void {
    if (this.#isWatched) return
    this.#isWatched = true
    this.#limitMs = limitMs
    if (last !== undefined) {
      last.#next = this
      this.#previous = last
    }
    last = this
    sweepEvery(Math.min(maxSweepMs, Math.max(minSweepMs, limitMs / sweepsPerLimit)))
  }

  /** Ends the watch. Does nothing if it has ended. */
  protected unwatch(): void {
    if (!this.#isWatched) return
    this.#isWatched = false
    if (this.#previous !== undefined) this.#previous.#next = this.#next
    if (this.#next !== undefined) this.#next.#previous = this.#previous
    else last = this.#previous
    this.#previous = undefined
    this.#next = undefined
  }

  /** Checks all watched clients. @param elapsedMs milliseconds since the last sweep */
  static sweep(elapsedMs: number): void {
    const stalled: WatchedClient[] = []
    for (let client = last; client !== undefined; client = client.#previous)
      if (client.#isStalled(elapsedMs)) stalled.push(client)
    for (const client of stalled) {
      client.unwatch()
      client.onStalled(client.#limitMs)
    }
  }

  #isStalled(elapsedMs: number): boolean {
    const progress = this.pendingBytes() === 0 ? Number.NaN : this.progress()
    this.#stalledMs = progress === this.#progress ? this.#stalledMs + elapsedMs : 0
    this.#progress = progress
    return this.#stalledMs >= this.#limitMs
  }
}

let last: WatchedClient | undefined
let sweeper: NodeJS.Timeout | undefined
let sweepMs = Number.POSITIVE_INFINITY
let lastSweepAt = 0

function sweepEvery(ms: number): void {
  if (ms >= sweepMs) return
  clearInterval(sweeper)
  sweepMs = ms
  lastSweepAt = performance.now()
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
  // After a pause of the whole process, its clients have not stalled: nothing could be sent to them.
  WatchedClient.sweep(Math.min(now - lastSweepAt, 2 * sweepMs))
  lastSweepAt = now
}

/**
 * Returns the bytes of a socket that the operating system has accepted. `bytesWritten` and `writableLength` change with whole writes
 * only; `writeQueueSize`, which Node itself uses for socket timeouts, also shows the progress of the current write.
 */
export function bytesFlushed(
  socket: Socket & { readonly _handle?: { readonly writeQueueSize?: number } | null },
): number {
  return socket.bytesWritten - socket.writableLength - (socket._handle?.writeQueueSize ?? 0)
}
