import type { TransportResponse } from './transport.ts'

/** A charset that a media type names, unless UTF-8 holds all of it anyway. */
function otherCharset(response: Pick<TransportResponse, 'header'>): string | undefined {
  const type = response.header('content-type') ?? ''
  const charset = /;\s*charset\s*=\s*"?([\w:.-]+)/i.exec(type)?.[1]
  return charset === undefined || /^(?:utf-?8|us-ascii|ascii)$/i.test(charset) ? undefined : charset
}

/** Reads the charset; undefined for one that the runtime does not know. */
function decoderOf(charset: string | undefined): TextDecoder | undefined {
  try {
    return charset === undefined ? undefined : new TextDecoder(charset)
  } catch {
    return undefined
  }
}

const encoder = new TextEncoder()

/** A text in UTF-8, as the client is told it is. JSON should be, but some servers name another charset, and use it. */
export function inUtf8(bytes: Uint8Array, response: Pick<TransportResponse, 'header'>): Uint8Array {
  const decoder = decoderOf(otherCharset(response))
  return decoder === undefined ? bytes : encoder.encode(decoder.decode(bytes))
}

/** The same for a stream. */
export function streamInUtf8(response: TransportResponse): AsyncIterable<Uint8Array> {
  const decoder = decoderOf(otherCharset(response))
  const stream = response.stream()
  return decoder === undefined ? stream : transcoded(stream, decoder)
}

/** Not a generator: leaving it would wait for the chunk that is awaited. */
function transcoded(stream: AsyncIterable<Uint8Array>, decoder: TextDecoder): AsyncIterable<Uint8Array> {
  const source = stream[Symbol.asyncIterator]()
  return {
    [Symbol.asyncIterator]: () => ({
      async next() {
        const { done, value } = await source.next()
        return done === true
          ? { done, value: undefined }
          : { done: false, value: encoder.encode(decoder.decode(value, { stream: true })) }
      },
      return: async () => (await source.return?.()) ?? { done: true, value: undefined },
    }),
  }
}
