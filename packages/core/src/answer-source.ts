import { GatewayError } from './errors.ts'
import type { TransportResponse } from './transport.ts'

/** All at once, as a stream. */
export async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes
}

export const isJson = (response: TransportResponse): boolean => (response.header('content-type') ?? '').includes('json')

/** What the client must know of bytes that pass as they are. */
export function bodyHeaders(response: TransportResponse): Record<string, string> {
  const length = response.header('content-length')
  return {
    'content-type': response.header('content-type') ?? 'application/octet-stream',
    ...(length === undefined ? {} : { 'content-length': length }),
  }
}

/** The body once its first bytes are there: until then a failure can still become a status. */
export async function begunBody(response: TransportResponse): Promise<AsyncIterable<Uint8Array>> {
  const type = response.header('content-type') ?? ''
  if (type.includes('html')) {
    response.discard()
    throw new GatewayError('upstream_bad_response', 'The upstream answered with a web page.')
  }
  const source = response.stream()[Symbol.asyncIterator]()
  let first: IteratorResult<Uint8Array> | undefined = await source.next()
  if (first.done === true && !type.startsWith('text/'))
    throw new GatewayError('upstream_bad_response', 'The upstream answered with nothing.')
  return {
    [Symbol.asyncIterator]: () => ({
      next() {
        const ready = first
        first = undefined
        return ready === undefined ? source.next() : Promise.resolve(ready)
      },
      return: async () => (await source.return?.()) ?? { done: true, value: undefined },
    }),
  }
}

/**
 * A stream whose answer has not begun: opened by the first pull, so that the wait for the upstream's headers is bounded
 * like the wait for its first event.
 */
export function laterStream(open: () => Promise<AsyncIterable<Uint8Array>>): AsyncIterable<Uint8Array> {
  let opened: AsyncIterator<Uint8Array> | undefined
  let left = false
  // Forgotten once it has been called: it holds the request, and a stream may run for long.
  let opener: typeof open | undefined = open
  const first = async (): Promise<IteratorResult<Uint8Array>> => {
    const opening = opener?.()
    opener = undefined
    if (opening === undefined) return { done: true, value: undefined }
    opened = (await opening)[Symbol.asyncIterator]()
    if (!left) return opened.next()
    await opened.return?.()
    return { done: true, value: undefined }
  }
  return {
    [Symbol.asyncIterator]: () => ({
      next: () => (opened === undefined ? first() : opened.next()),
      async return() {
        left = true
        await opened?.return?.()
        return { done: true, value: undefined }
      },
    }),
  }
}
