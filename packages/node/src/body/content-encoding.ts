// Decoding of content encodings: of whole request bodies, and of streams (uploads, responses of upstreams).
import { pipeline, Readable, type Transform } from 'node:stream'
import * as zlib from 'node:zlib'
import { GatewayError } from '@modelgate/core'

type Decode = (
  data: Uint8Array,
  options: { maxOutputLength: number; chunkSize: number },
  done: (error: Error | null, result: Uint8Array) => void,
) => void

const bodyDecoders: { readonly [encoding: string]: Decode | undefined } = {
  gzip: zlib.gunzip,
  'x-gzip': zlib.gunzip,
  deflate: inflateAny,
  br: zlib.brotliDecompress,
  // Node 20 has no zstd.
  zstd: (zlib as { zstdDecompress?: Decode }).zstdDecompress,
}
const supportedEncodings = ['gzip', 'deflate', 'br', 'zstd']
  .filter((name) => bodyDecoders[name] !== undefined)
  .join(', ')

export function isEncoded(encoding: string | undefined): encoding is string {
  return encoding !== undefined && encoding !== '' && encoding.toLowerCase() !== 'identity'
}

/**
 * Returns the decoder of a request's content-encoding. Decoded data is limited, so that a decompression bomb cannot fill the memory.
 *
 * @throws GatewayError `unsupported_media_type` for an unknown encoding; the returned function rejects with `request_too_large`
 * or, for invalid data, `invalid_request`.
 */
export function decodeBody(encoding: string, limit: number): (data: Uint8Array) => Promise<Uint8Array> {
  const name = encoding.trim().toLowerCase()
  const decode = Object.hasOwn(bodyDecoders, name) ? bodyDecoders[name] : undefined
  if (decode === undefined) {
    throw new GatewayError(
      'unsupported_media_type',
      `Unsupported content-encoding '${encoding.slice(0, 40)}'. Send the body without encoding, or as one of: ${supportedEncodings}.`,
      { headers: { 'accept-encoding': supportedEncodings } },
    )
  }
  return (data) =>
    new Promise((resolve, reject) => {
      decode(
        data,
        { maxOutputLength: Math.max(1, limit), chunkSize: outputChunkSize(data.length) },
        (error, result) => {
          if (error === null) resolve(result)
          else if ('code' in error && error.code === 'ERR_BUFFER_TOO_LARGE') reject(bodyTooLarge(limit))
          else
            reject(
              new GatewayError('invalid_request', `The request body is not valid ${encoding.slice(0, 40)} data.`, {
                cause: error,
              }),
            )
        },
      )
    })
}

/**
 * zlib switches threads for each chunk of output. With its default of 16 kB, a decompression bomb takes 0.2 s to reach 32 MB; with
 * 256 kB it takes 15 ms. Small bodies get small chunks, because the result keeps the whole chunk in memory.
 */
const outputChunkSize = (encoded: number): number => Math.min(Math.max(encoded * 8, 16 * 1024), 256 * 1024)

/** Many clients send `deflate` as a raw stream, without the zlib header that RFC 9110 (8.4.1.2) requires. */
function inflateAny(...[data, options, done]: Parameters<Decode>): void {
  const hasZlibHeader = ((data[0] ?? 0) & 0x0f) === 8
  if (hasZlibHeader) zlib.inflate(data, options, done)
  else zlib.inflateRaw(data, options, done)
}

export function bodyTooLarge(limit: number, contentLength?: string): GatewayError {
  const size = contentLength === undefined ? '' : ` (content-length: ${contentLength.slice(0, 20)})`
  return new GatewayError('request_too_large', `The request body is larger than the limit of ${limit} bytes${size}.`)
}

type CreateDecoder = (firstBytes: Uint8Array) => Transform

/** Decoders flush after each chunk, so that an event does not wait for the next one. */
const flush = zlib.constants.Z_SYNC_FLUSH

const streamDecoders: { readonly [encoding: string]: CreateDecoder | undefined } = {
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
    const create = Object.hasOwn(streamDecoders, name) ? streamDecoders[name] : undefined
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
