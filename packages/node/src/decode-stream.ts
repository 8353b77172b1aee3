import { pipeline, Readable, type Transform } from 'node:stream'
import * as zlib from 'node:zlib'

type MakeDecoder = (firstBytes: Uint8Array) => Transform

/** Each chunk is flushed: an event must not wait in a decoder for those that come after it. */
const flush = zlib.constants.Z_SYNC_FLUSH

const decoders: { readonly [encoding: string]: MakeDecoder | undefined } = {
  gzip: () => zlib.createGunzip({ flush }),
  'x-gzip': () => zlib.createGunzip({ flush }),
  // Half the world takes `deflate` for the raw stream without the zlib header that the standard asks for.
  deflate: ([first = 0]) => ((first & 0x0f) === 8 ? zlib.createInflate({ flush }) : zlib.createInflateRaw({ flush })),
  br: () => zlib.createBrotliDecompress(),
  // Node 20 has no zstd.
  zstd: (zlib as { createZstdDecompress?: () => Transform }).createZstdDecompress,
}

/** The encodings of a content-encoding header, in the order in which they were applied. */
export function encodingsOf(header: string | undefined): readonly string[] {
  if (header === undefined) return none
  return header
    .split(',')
    .map((name) => name.trim().toLowerCase())
    .filter((name) => name !== '' && name !== 'identity')
}

const none: readonly string[] = []

/** Encodings that one answer may have, as curl and undici have it. Each costs a decoder and multiplies what a few bytes unpack to. */
const mostEncodings = 5

/**
 * A body with its encodings undone, as it comes. Data that is cut short or broken is an error of the iterable, never an
 * early end. Leaving closes the source at once, also while a chunk is awaited.
 */
export function decoded(
  source: AsyncIterableIterator<Uint8Array>,
  encodings: readonly string[],
): AsyncIterable<Uint8Array> {
  return {
    [Symbol.asyncIterator]() {
      const chunks = decode(source, encodings)
      return {
        next: () => chunks.next(),
        return: () => {
          // A generator would first wait for its pending chunk.
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
  // Answers without a body may still name an encoding.
  if (first.done === true) return undefined
  if (encodings.length > mostEncodings) {
    void source.return?.()
    throw undecodable(
      `The upstream's answer has ${encodings.length} content encodings; at most ${mostEncodings} are decoded.`,
    )
  }
  const stages = [...encodings].reverse().map((name) => {
    const make = Object.hasOwn(decoders, name) ? decoders[name] : undefined
    if (make !== undefined) return make(first.value)
    void source.return?.()
    throw undecodable(`The upstream's content-encoding '${name.slice(0, 40)}' cannot be decoded.`)
  })
  const last = pipeline([Readable.from(prepended(first.value, source)), ...stages], () => {}) as Transform
  for await (const chunk of last) yield chunk as Uint8Array
  return undefined
}

const undecodable = (message: string): Error => Object.assign(new Error(message), { code: 'ERR_CONTENT_ENCODING' })

async function* prepended(first: Uint8Array, rest: AsyncIterableIterator<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield first
  yield* rest
}
