import { createRequire } from 'node:module'
import { crc32 } from 'node:zlib'
import { encodeFrame, encodeHeaders, frameDecoder, namedFrames } from '@modelgate/core/test-support'
import fc from 'fast-check'
import { expect, test } from 'vitest'

/** The codec of AWS's own SDK, which has the decoder that clients use. Its package is a dependency of the SDK only. */
interface EventStreamCodec {
  encode(message: AwsMessage): Uint8Array
  decode(bytes: Uint8Array): AwsMessage
}
interface AwsMessage {
  readonly headers: Readonly<Record<string, { readonly type: string; readonly value: unknown }>>
  readonly body: Uint8Array
}
const requireOfSdk = createRequire(createRequire(import.meta.url).resolve('@aws-sdk/client-bedrock-runtime'))
const { EventStreamCodec: AwsCodec } = requireOfSdk('@smithy/core/event-streams') as {
  EventStreamCodec: new (
    toText: (bytes: Uint8Array) => string,
    toBytes: (text: string) => Uint8Array,
  ) => EventStreamCodec
}
const utf8 = new TextEncoder()
const aws = new AwsCodec(
  (bytes) => new TextDecoder().decode(bytes),
  (text) => utf8.encode(text),
)

const runs = { numRuns: 300, seed: 20261129 }
/** Text without halves of surrogate pairs, which UTF-8 cannot hold. */
const text = (maxLength: number) => fc.string({ unit: 'grapheme', maxLength })
const names = text(40).filter((name) => name !== '' && name !== '__proto__' && utf8.encode(name).length < 256)
const headersOf = fc.uniqueArray(fc.tuple(names, text(300)), { maxLength: 8, selector: ([name]) => name })
const payloads = fc.uint8Array({ maxLength: 2000 })

/** Returns the bytes in chunks of these sizes, over and over. */
function* inChunks(bytes: Uint8Array, sizes: readonly number[]): Generator<Uint8Array> {
  for (let at = 0, turn = 0; at < bytes.length; turn++) {
    const size = sizes[turn % sizes.length] ?? 1
    yield bytes.subarray(at, at + size)
    at += size
  }
}

test('AWS’s decoder reads the headers and the payload of every frame that the gateway writes', () => {
  fc.assert(
    fc.property(headersOf, payloads, (headers, payload) => {
      const bytes = encodeFrame(encodeHeaders(headers), payload)
      const { headers: read, body } = aws.decode(bytes)
      expect(Object.entries(read).map(([name, { type, value }]) => [name, type, value])).toEqual(
        Object.entries(Object.fromEntries(headers)).map(([name, value]) => [name, 'string', value]),
      )
      expect(Buffer.from(body).equals(payload)).toBe(true)
      const view = new DataView(bytes.buffer)
      expect(view.getUint32(0)).toBe(bytes.length)
      expect(view.getUint32(8)).toBe(crc32(bytes.subarray(0, 8)))
      expect(view.getUint32(bytes.length - 4)).toBe(crc32(bytes.subarray(0, -4)))
    }),
    runs,
  )
})

test('the gateway writes the bytes that AWS writes', () => {
  fc.assert(
    fc.property(headersOf, payloads, (headers, body) => {
      const own = Object.fromEntries(headers)
      const typed = Object.fromEntries(Object.entries(own).map(([name, value]) => [name, { type: 'string', value }]))
      const bytes = encodeFrame(encodeHeaders(Object.entries(own)), body)
      expect(Buffer.from(aws.encode({ headers: typed, body })).equals(bytes)).toBe(true)
    }),
    runs,
  )
})

test('frames are the same after encoding and decoding, however their bytes are split', () => {
  const frames = fc.array(fc.tuple(headersOf, payloads), { minLength: 1, maxLength: 5 })
  const sizes = fc.array(fc.integer({ min: 1, max: 700 }), { minLength: 1, maxLength: 6 })
  fc.assert(
    fc.property(frames, sizes, (sent, cuts) => {
      const bytes = Buffer.concat(sent.map(([headers, payload]) => encodeFrame(encodeHeaders(headers), payload)))
      const decoder = frameDecoder(bytes.length)
      const received: (readonly [Record<string, string>, Uint8Array])[] = []
      for (const chunk of inChunks(bytes, cuts)) {
        decoder.push(chunk)
        for (let frame = decoder.next(); frame !== undefined; frame = decoder.next())
          received.push([{ ...frame.headers }, frame.payload])
      }
      expect(decoder.heldBytes()).toBe(0)
      expect(received.map(([headers]) => headers)).toEqual(sent.map(([headers]) => Object.fromEntries(headers)))
      expect(received.map(([, payload]) => Buffer.from(payload))).toEqual(
        sent.map(([, payload]) => Buffer.from(payload)),
      )
    }),
    runs,
  )
})

test('every event of a stream is one frame with its name, and every exception one with AWS’s headers', () => {
  const events = fc.array(
    fc.record({ event: fc.constantFrom('messageStart', 'contentBlockDelta', 'validationException'), data: fc.json() }),
    { minLength: 1, maxLength: 6 },
  )
  fc.assert(
    fc.property(events, (sent) => {
      const writer = namedFrames.open()
      writer.write(sent)
      const bytes = writer.take() ?? new Uint8Array()
      const decoder = frameDecoder(bytes.length)
      decoder.push(bytes)
      for (const { event, data } of sent) {
        const frame = decoder.next()
        const { headers, body } = aws.decode(frame?.bytes ?? new Uint8Array())
        const kind = event.endsWith('Exception') ? 'exception' : 'event'
        expect(Object.fromEntries(Object.entries(headers).map(([name, { value }]) => [name, value]))).toEqual({
          [`:${kind}-type`]: event,
          ':content-type': 'application/json',
          ':message-type': kind,
        })
        expect(new TextDecoder().decode(body)).toBe(data)
      }
      expect(decoder.next()).toBeUndefined()
    }),
    runs,
  )
})
