import { GatewayError } from '../base/errors.ts'
import type { TransportResponse } from '../http/transport.ts'
import type { Lane } from '../lanes/lane.ts'
import { contentTypeOf } from './response-body.ts'

// Responses whose bytes pass unchanged: their headers and their first chunk.

/** A media type with parameters that is safe in a response header. */
const sendable = /^[\w!#$&^.+-]+\/[\w!#$&^.+-]+[ \t]*(?:;[ \t\x21-\x7e]*)?$/
const longestType = 200

/** Returns the headers of bytes that pass unchanged. No other header of the upstream is passed. */
export function passedHeaders(response: TransportResponse, length: number | undefined): Record<string, string> {
  const type = response.header('content-type') ?? ''
  return {
    'content-type': type.length <= longestType && sendable.test(type) ? type : 'application/octet-stream',
    // A browser must not guess that an upstream's bytes are a page or a script.
    'x-content-type-options': 'nosniff',
    ...(length === undefined ? {} : { 'content-length': String(length) }),
  }
}

/**
 * Returns the length of the decoded body, if known. A content encoding has another length: a client that trusts it would read the rest of
 * the body as the next response.
 */
export function contentLengthOf(response: TransportResponse): number | undefined {
  const encoding = response.header('content-encoding') ?? ''
  const length = response.header('content-length') ?? ''
  const isEncoded = encoding !== '' && encoding.toLowerCase() !== 'identity'
  return isEncoded || !/^\d{1,15}$/.test(length) ? undefined : Number(length)
}

/** Waits for the first bytes of a body: until then a failure can still become a status. */
export async function awaitFirstChunk(
  response: TransportResponse,
  passes: NonNullable<Lane['passes']>,
): Promise<AsyncIterable<Uint8Array>> {
  const type = contentTypeOf(response)
  if (type.includes('html')) {
    response.discard()
    throw new GatewayError('upstream_bad_response', 'The upstream responded with an HTML page.')
  }
  if (passes === 'media' && /^text\/|[/+]xml/.test(type)) {
    response.discard()
    throw new GatewayError('upstream_bad_response', 'The upstream responded with text instead of audio.')
  }
  const source = response.stream()[Symbol.asyncIterator]()
  let first: IteratorResult<Uint8Array> | undefined = await source.next()
  if (first.done === true && !type.startsWith('text/'))
    throw new GatewayError('upstream_bad_response', 'The upstream responded with an empty body.')
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
