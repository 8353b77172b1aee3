import * as zlib from 'node:zlib'
import {
  brotliCompressSync,
  brotliDecompressSync,
  deflateRawSync,
  deflateSync,
  gunzipSync,
  gzipSync,
  inflateSync,
} from 'node:zlib'
import { statusIn } from '../../base/client-formats.ts'
import { readableText } from '../../base/frames.ts'
import type { UpstreamCall } from '../../base/raw-upstream.ts'
import { bodyWithWords, eventsWithWords, formatOf, sleep } from '../../base/upstream-responses.ts'
import { type Check, type CheckContext, type PairVariant, variantName, variantsOf } from '../check.ts'
import { exchange, type HttpResponse } from '../client.ts'
import { inParallel, tally } from '../measurements.ts'
import { readError, readStream } from '../read-responses.ts'

type Encode = (data: Buffer) => Buffer

/**
 * Encodes a zstd frame (RFC 8878) of uncompressed blocks, because Node 20 has no zstd. Decoders handle it like any
 * frame. A block holds at most 128 KiB.
 */
function zstdFrame(data: Buffer): Buffer {
  const most = 0x20000
  // Magic number; one segment, its size in four bytes.
  const head = Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0xa0, 0, 0, 0, 0])
  head.writeUInt32LE(data.length, 5)
  const blocks: Buffer[] = []
  for (let at = 0; at < data.length || at === 0; at += most) {
    const block = data.subarray(at, at + most)
    const blockHead = Buffer.alloc(3)
    blockHead.writeUIntLE((block.length << 3) | (at + most >= data.length ? 1 : 0), 0, 3)
    blocks.push(blockHead, block)
  }
  return Buffer.concat([head, ...blocks])
}

/** Decodes `zstdFrame`. */
function fromZstdFrame(frame: Buffer): Buffer {
  const blocks: Buffer[] = []
  for (let at = 9; at + 3 <= frame.length; ) {
    const size = frame.readUIntLE(at, 3) >> 3
    blocks.push(frame.subarray(at + 3, at + 3 + size))
    at += 3 + size
  }
  return Buffer.concat(blocks)
}

/** Encodings by `content-encoding`. */
const encodings: Readonly<Record<string, { readonly says: string; readonly encode: Encode }>> = {
  gzip: { says: 'gzip', encode: gzipSync },
  br: { says: 'br', encode: brotliCompressSync },
  deflate: { says: 'deflate', encode: deflateSync },
  'deflate without its header': { says: 'deflate', encode: deflateRawSync },
  'gzip in br': { says: 'gzip, br', encode: (data) => brotliCompressSync(gzipSync(data)) },
  zstd: { says: 'zstd', encode: zstdFrame },
}

const undo: Readonly<Record<string, Encode>> = {
  gzip: gunzipSync,
  br: brotliDecompressSync,
  deflate: inflateSync,
  zstd: fromZstdFrame,
}

/** The gateway runs on the same Node as the kit. */
const haveZstd = 'createZstdDecompress' in zlib

const long = 'ä€😀 '.repeat(3000)
const words = { one: long, two: 'two', three: 'three' }

/** Sends several pieces whose boundaries do not match events or blocks. */
async function sendInPieces({ response }: UpstreamCall, bytes: Buffer): Promise<void> {
  const piece = Math.ceil(bytes.length / 5)
  for (let at = 0; at < bytes.length; at += piece) {
    response.write(bytes.subarray(at, at + piece))
    await sleep(1)
  }
  response.end()
}

/** Decodes the body according to its headers, like a client; undefined if that fails. */
function believed({ bytes, headers }: HttpResponse): string | undefined {
  try {
    const names = (headers['content-encoding'] ?? '').split(',').map((name) => name.trim())
    const plain = names
      .filter((name) => name !== '')
      .reverse()
      .reduce((data, name) => (undo[name] as Encode)(data), bytes)
    return readableText(plain, headers['content-type'])
  } catch {
    return undefined
  }
}

function wrong(way: PairVariant, answer: HttpResponse): string | undefined {
  if (answer.status !== 200) return `returned status ${answer.status || answer.broken}`
  if (answer.broken !== undefined) return `broken: ${answer.broken}`
  const length = answer.headers['content-length']
  if (length !== undefined && Number(length) !== answer.bytes.length)
    return `${answer.bytes.length} bytes, but content-length is ${length}`
  const text = believed(answer)
  if (text === undefined) return `not ${answer.headers['content-encoding']}, although content-encoding declares it`
  if (!way.stream) return text.includes(`${long}`) ? undefined : 'other bytes'
  const { text: output, successes } = readStream(way.client, text)
  if (output !== `${long}twothree` && output !== `${long} two three`) return 'other bytes'
  return successes.length === 1 ? undefined : 'no end'
}

/** The names of `encodings`. */
export const encodingNames: readonly string[] = Object.keys(encodings)

/**
 * Sends one call whose upstream compresses its response.
 *
 * @param place index of the call, which determines whether the response has a length and whether the client accepts
 * compression
 * @returns the response and its defect
 */
export async function askEncoded(
  { target, upstream }: Pick<CheckContext, 'target' | 'upstream'>,
  name: string,
  way: PairVariant,
  place: number,
): Promise<{ readonly answer: HttpResponse; readonly wrong: string | undefined }> {
  const { says, encode } = encodings[name] ?? { says: name, encode: (data: Buffer) => data }
  const scene = upstream.play((call) => {
    const format = formatOf(call)
    const bytes = encode(
      Buffer.from(call.stream ? eventsWithWords(format, words).join('') : bodyWithWords(format, words)),
    )
    call.response.writeHead(200, {
      'content-type': call.stream ? 'text/event-stream' : 'application/json',
      'content-encoding': says,
      ...(place % 2 === 0 ? { 'content-length': bytes.length } : {}),
    })
    return sendInPieces(call, bytes)
  })
  // Half of the clients accept compression.
  const headers = { 'accept-encoding': place % 3 === 0 ? 'identity' : 'gzip, deflate, br, zstd' }
  const answer = await exchange(target, { ...way, text: scene.marker, headers }, { withinMs: 10_000 })
  scene.end()
  return { answer, wrong: wrong(way, answer) }
}

/** An upstream that compresses although the request forbids it. */
export const encodedAnswers: Check = {
  row: 18,
  group: 'Faults',
  title: 'gzip/br/deflate/zstd upstream, stream and JSON',
  promise: 'correct bytes, no content-encoding/length mismatch',
  perServer: true,
  async run(setting) {
    const cases = encodingNames
      .filter((_, place) => !setting.short || place % 2 === 0 || place === 5)
      .flatMap((name) => variantsOf(setting.target).map((way) => ({ name, way })))
    const complaints: string[] = []
    let undecodable = 0
    await inParallel(cases, 4, async ({ name, way }, place) => {
      const { answer, wrong } = await askEncoded(setting, name, way, place)
      if (
        name === 'zstd' &&
        !haveZstd &&
        answer.status === statusIn(way.client, 502) &&
        readError(way.client, answer) !== undefined
      )
        undecodable++
      else if (wrong !== undefined) complaints.push(`${name}, ${variantName(way)}: ${wrong}`)
    })
    const total = cases.length - undecodable
    return {
      held: complaints.length === 0,
      figure: `${total - complaints.length}/${total} correct${
        undecodable === 0
          ? ''
          : `; zstd, which Node ${process.versions.node} cannot decode: ${undecodable} times an honest 502 (Node 22.15 can)`
      }`,
      notes: tally(complaints),
    }
  },
}
