import type { IncomingMessage } from 'node:http'
import { bodyTooSlow } from './body-errors.ts'
import { guardRate } from './rate-guard.ts'

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
