import { pipeline, Readable, type Transform } from 'node:stream'
import * as zlib from 'node:zlib'

type CreateDecoder = (firstBytes: Uint8Array) => Transform

/** Decoders flush after each chunk, so that an event does not wait for the next one. */
const flush = zlib.constants.Z_SYNC_FLUSH

const decoders: { readonly [encoding: string]: CreateDecoder | undefined } = {
  gzip: () => zlib.createGunzip({ flush }),
  'x-gzip': () => zlib.createGunzip({ flush }),
  // Many servers send `deflate` as a raw stream, without the zlib header that RFC 9110 (8.4.1.2) requires.
  deflate: ([first = 0]) => ((first & 0x0f) === 8 ? zlib.createInflate({ flush }) : zlib.createInflateRaw({ flush })),
  br: () => zlib.createBrotliDecompress(),
  // Node 20 has no zstd.
  zstd: (zlib as { createZstdDecompress?: () => Transform }).createZstdDecompress,
}

/** Returns the encodings of a content-encoding header, in the order in which they were applied. */
export function encodingsOf(header: string | undefined): readonly string[] {
  if (header === undefined) return none
  return header
    .split(',')
    .map((name) => name.trim().toLowerCase())
    .filter((name) => name !== '' && name !== 'identity')
}

const none: readonly string[] = []

/** The same limit as in curl and undici. Each encoding costs a decoder, and multiplies the size that a few bytes can decode to. */
const maxEncodings = 5

/**
 * Returns a body with its encodings decoded, chunk by chunk. Truncated or invalid data makes the iterable throw; it never ends
 * early. `return()` closes the source at once, even while a chunk is awaited.
 */
export function decodeStream(
  source: AsyncIterableIterator<Uint8Array>,
  encodings: readonly string[],
): AsyncIterable<Uint8Array> {
  return {
    [Symbol.asyncIterator]() {
      const chunks = decode(source, encodings)
      return {
        next: () => chunks.next(),
        return: () => {
          // The generator's own `return` waits for the pending chunk.
          void source.return?.()
          return chunks.return(undefined)
        },
      }
    },
  }
}

async function* decode(
  source: AsyncIterableIterator<Uint8Array>,
  encodings: readonly string[],
): AsyncGenerator<Uint8Array, undefined> {
  const first = await source.next()
  // A response without a body may still have a content-encoding.
  if (first.done === true) return undefined
  if (encodings.length > maxEncodings) {
    void source.return?.()
    throw decodingError(
      `The upstream's response has ${encodings.length} content encodings; at most ${maxEncodings} are decoded.`,
    )
  }
  const stages = [...encodings].reverse().map((name) => {
    const create = Object.hasOwn(decoders, name) ? decoders[name] : undefined
    if (create !== undefined) return create(first.value)
    void source.return?.()
    throw decodingError(`The upstream's content-encoding '${name.slice(0, 40)}' cannot be decoded.`)
  })
  const output = pipeline([Readable.from(prepend(first.value, source)), ...stages], () => {}) as Transform
  for await (const chunk of output) yield chunk as Uint8Array
  return undefined
}

const decodingError = (message: string): Error => Object.assign(new Error(message), { code: 'ERR_CONTENT_ENCODING' })

async function* prepend(first: Uint8Array, rest: AsyncIterableIterator<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield first
  yield* rest
}
