import type { IncomingMessage } from 'node:http'
import { GatewayError } from '@modelgate/core'

/**
 * Passes a body's chunks on, and throws a GatewayError (`timeout`) if they arrive below the minimum rate. Neither the error nor an
 * early `return()` waits for the pending chunk, which may never arrive.
 */
export async function* withMinimumRate<Chunk extends { readonly length: number }>(
  chunks: AsyncIterator<Chunk>,
): AsyncGenerator<Chunk, undefined> {
  let rejectPending: (error: Error) => void = () => {}
  const guard = guardRate(() => rejectPending(bodyTooSlow()))
  // One promise for each chunk: a race against one common promise would keep every chunk in memory until the end.
  const next = (): Promise<IteratorResult<Chunk>> =>
    new Promise((resolve, reject) => {
      rejectPending = reject
      chunks.next().then(resolve, reject)
    })
  try {
    for (;;) {
      const { done, value } = await next()
      if (done === true) return
      guard.bytes += value.length
      yield value
    }
  } finally {
    guard.done()
    chunks.return?.().catch(() => {})
  }
}

/**
 * Waits for a promise that reads a whole body, and rejects (`timeout`) if the request's connection stays below the minimum rate.
 * For adapters whose host reads the body, so that its chunks are not visible here.
 */
export function readWithMinimumRate<T>({ socket }: IncomingMessage, reading: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const guard = guardRate(
      () => {
        guard.done()
        reject(bodyTooSlow())
      },
      () => socket.bytesRead,
    )
    reading.then(
      (value) => {
        guard.done()
        resolve(value)
      },
      (error: unknown) => {
        guard.done()
        reject(error)
      },
    )
  })
}

/** A body must bring this many bytes… */
const minBytes = 1024
/** …within this many sweeps (25 s), or end. */
const maxSweeps = 5
const sweepMs = 5000

/** A guarded body, as its reader sees it. */
export interface RateGuard {
  /** Bytes received since the count was last reset. The reader adds to it. */
  bytes: number
  /** Ends the guard. */
  done(): void
}

/**
 * Guarded bodies form a linked list. A Set that gains and loses an entry with every request leaves dead hash tables behind, which
 * keep whole requests in memory until the next full collection.
 */
class GuardedBody implements RateGuard {
  bytes = 0
  sweeps = 0
  readonly onSlow: () => void
  /** Returns all bytes received so far; undefined if the reader counts them in `bytes`. */
  readonly countBytes: (() => number) | undefined
  /** Result of `countBytes` at the last sweep. */
  countedBytes: number
  previous: GuardedBody | undefined
  next: GuardedBody | undefined

  constructor(onSlow: () => void, countBytes: (() => number) | undefined) {
    this.onSlow = onSlow
    this.countBytes = countBytes
    this.countedBytes = countBytes === undefined ? 0 : countBytes()
  }

  done(): void {
    const { previous, next } = this
    if (previous !== undefined) previous.next = next
    if (next !== undefined) next.previous = previous
    else if (last === this) last = previous
    this.previous = undefined
    this.next = undefined
  }
}

let last: GuardedBody | undefined
let sweeper: NodeJS.Timeout | undefined

/**
 * Calls back once a body has stayed below 1 kB for 25 to 30 s, so that slow clients cannot hold connections. One timer serves the
 * whole process, and none runs while no body is awaited: a timer for each request costs more than reading its body.
 *
 * @param countBytes returns the bytes received so far, for readers that do not count them in `bytes`
 */
export function guardRate(onSlow: () => void, countBytes?: () => number): RateGuard {
  const body = new GuardedBody(onSlow, countBytes)
  if (last !== undefined) {
    last.next = body
    body.previous = last
  }
  last = body
  sweeper ??= setInterval(sweep, sweepMs).unref()
  return body
}

function sweep(): void {
  if (last === undefined) {
    clearInterval(sweeper)
    sweeper = undefined
    return
  }
  const slow: GuardedBody[] = []
  for (let body: GuardedBody | undefined = last; body !== undefined; body = body.previous) {
    if (body.countBytes !== undefined) {
      const total = body.countBytes()
      body.bytes += total - body.countedBytes
      body.countedBytes = total
    }
    if (body.bytes >= minBytes) {
      body.bytes = 0
      body.sweeps = 0
      continue
    }
    body.sweeps++
    if (body.sweeps > maxSweeps) slow.push(body)
  }
  // After the loop, because each callback removes its body from the list.
  for (const body of slow) body.onSlow()
}

export const bodyTooSlow = (): GatewayError => new GatewayError('timeout', 'The request body arrived too slowly.')
