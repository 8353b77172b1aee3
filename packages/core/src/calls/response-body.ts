import { GatewayError } from '../base/errors.ts'
import type { TransportResponse } from '../http/transport.ts'
import type { Lane } from '../lanes/lane.ts'

/** All at once, as a stream. */
export async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes
}

/** In lower case, as media types are compared; '' where the upstream does not say one. */
export const contentTypeOf = (response: TransportResponse): string =>
  (response.header('content-type') ?? '').toLowerCase()

export const isJson = (response: TransportResponse): boolean => contentTypeOf(response).includes('json')

/** A media type that may stand in a header of our own, with parameters. */
const sendable = /^[\w!#$&^.+-]+\/[\w!#$&^.+-]+[ \t]*(?:;[ \t\x21-\x7e]*)?$/
const longestType = 200

/** What the client must know of bytes that pass as they are. Nothing else of the upstream's headers describes them. */
export function bodyHeaders(response: TransportResponse, length: number | undefined): Record<string, string> {
  const type = response.header('content-type') ?? ''
  return {
    'content-type': type.length <= longestType && sendable.test(type) ? type : 'application/octet-stream',
    // An upstream's bytes must not become a page or a script in a browser that guesses what they are.
    'x-content-type-options': 'nosniff',
    ...(length === undefined ? {} : { 'content-length': String(length) }),
  }
}

/**
 * How many bytes the body has, where that is known of the bytes as they are handed over: the length of an encoded body is another
 * one, and a client that reads by it would take the rest of the body for the next response.
 */
export function lengthOf(response: TransportResponse): number | undefined {
  const encoding = response.header('content-encoding') ?? ''
  const length = response.header('content-length') ?? ''
  const isEncoded = encoding !== '' && encoding.toLowerCase() !== 'identity'
  return isEncoded || !/^\d{1,15}$/.test(length) ? undefined : Number(length)
}

/** The body once its first bytes are there: until then a failure can still become a status. */
export async function awaitFirstChunk(
  response: TransportResponse,
  passes: NonNullable<Lane['passes']>,
): Promise<AsyncIterable<Uint8Array>> {
  const type = contentTypeOf(response)
  if (type.includes('html')) {
    response.discard()
    throw new GatewayError('upstream_bad_response', 'The upstream answered with a web page.')
  }
  if (passes === 'media' && /^text\/|[/+]xml/.test(type)) {
    response.discard()
    throw new GatewayError('upstream_bad_response', 'The upstream answered with text where sound was asked for.')
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
export const lazyStream = (open: () => Promise<AsyncIterable<Uint8Array>>): AsyncIterable<Uint8Array> =>
  new LazyStream(open)

/** It is iterated once. */
class LazyStream implements AsyncIterableIterator<Uint8Array> {
  // Forgotten once it has been called: it holds the request, and a stream may run for long.
  #open: (() => Promise<AsyncIterable<Uint8Array>>) | undefined
  #opened: AsyncIterator<Uint8Array> | undefined
  #left = false

  constructor(open: () => Promise<AsyncIterable<Uint8Array>>) {
    this.#open = open
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  next(): Promise<IteratorResult<Uint8Array>> {
    return this.#opened === undefined ? this.#first() : this.#opened.next()
  }

  async return(): Promise<IteratorResult<Uint8Array>> {
    this.#left = true
    await this.#opened?.return?.()
    return { done: true, value: undefined }
  }

  async #first(): Promise<IteratorResult<Uint8Array>> {
    const opening = this.#open?.()
    this.#open = undefined
    if (opening === undefined) return { done: true, value: undefined }
    const opened = (await opening)[Symbol.asyncIterator]()
    this.#opened = opened
    if (!this.#left) return opened.next()
    await opened.return?.()
    return { done: true, value: undefined }
  }
}
