import type { IncomingMessage } from 'node:http'
import { tooSlow } from './body-errors.ts'
import { guardPace } from './slow-body.ts'

/**
 * A body as it comes, given up (`timeout`) where it trickles in. Leaving early, or giving up, does not wait for a chunk that may
 * never come.
 */
export async function* paced<Chunk extends { readonly length: number }>(
  chunks: AsyncIterator<Chunk>,
): AsyncGenerator<Chunk, undefined> {
  let giveUp: (error: Error) => void = () => {}
  const pace = guardPace(() => giveUp(tooSlow()))
  // One promise for each chunk: racing them all against a common one would keep every chunk until the end.
  const next = (): Promise<IteratorResult<Chunk>> =>
    new Promise((resolve, reject) => {
      giveUp = reject
      chunks.next().then(resolve, reject)
    })
  try {
    for (;;) {
      const { done, value } = await next()
      if (done === true) return
      pace.bytes += value.length
      yield value
    }
  } finally {
    pace.done()
    chunks.return?.().catch(() => {})
  }
}

/** What reads a whole body, for whoever does not see its bytes: given up where too few come over the connection. */
export function pacedRead<T>({ socket }: IncomingMessage, reading: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const pace = guardPace(
      () => {
        pace.done()
        reject(tooSlow())
      },
      () => socket.bytesRead,
    )
    reading.then(
      (value) => {
        pace.done()
        resolve(value)
      },
      (error: unknown) => {
        pace.done()
        reject(error)
      },
    )
  })
}
