import { concatBytes } from '../../base/bytes.ts'
import { GatewayError } from '../../base/errors.ts'
import { eventTooLarge } from '../../http/sse/decode.ts'

/**
 * AWS's framing of events (`application/vnd.amazon.eventstream`). A frame is: its length and its headers' length (4 bytes
 * each, big end first), the CRC of those eight bytes, the headers, the payload, and the CRC of all before it.
 */
export interface EventFrame {
  /** The headers that hold text, by name (`:event-type`). Those of other types say nothing that is needed here. */
  readonly headers: Readonly<Record<string, string>>
  readonly payload: Uint8Array
}

/** Bytes in, whole frames out, at any split of the bytes. */
export interface FrameDecoder {
  push(chunk: Uint8Array): void
  /** The next frame, where all of it is there. Throws GatewayError `upstream_bad_response` for one that is none, or whose sums are wrong. */
  next(): EventFrame | undefined
  /** Bytes of a frame whose end has not come. */
  readonly held: number
}

const preludeBytes = 12
const sumBytes = 4
const leastBytes = preludeBytes + sumBytes

/** @param maxBytes cap of one frame; none is believed to be longer, whatever it says */
export function createFrameDecoder(maxBytes: number): FrameDecoder {
  let parts: Uint8Array[] = []
  let held = 0
  // Of the frame at hand; 0 until its prelude is there.
  let length = 0

  /** All that is held, in one piece. */
  const whole = (): Uint8Array => {
    const bytes = concatBytes(parts)
    parts = [bytes]
    return bytes
  }

  return {
    push(chunk) {
      if (chunk.length === 0) return
      parts.push(chunk)
      held += chunk.length
    },
    next() {
      if (length === 0) {
        if (held < preludeBytes) return undefined
        length = frameLength(whole(), maxBytes)
      }
      if (held < length) return undefined
      const bytes = whole()
      const frame = readFrame(bytes.subarray(0, length))
      const rest = bytes.subarray(length)
      parts = rest.length === 0 ? [] : [rest]
      held = rest.length
      length = 0
      return frame
    },
    get held() {
      return held
    },
  }
}

const broken = (why: string): GatewayError =>
  new GatewayError('upstream_bad_response', `The upstream sent an event stream that cannot be read: ${why}.`)

const viewOf = (bytes: Uint8Array): DataView => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)

function frameLength(bytes: Uint8Array, maxBytes: number): number {
  const view = viewOf(bytes)
  if (view.getUint32(8) !== crc32(bytes.subarray(0, 8))) throw broken('the sum of a frame’s beginning is wrong')
  const length = view.getUint32(0)
  if (length < leastBytes || view.getUint32(4) > length - leastBytes) throw broken('a frame’s lengths contradict')
  if (length > maxBytes) throw eventTooLarge()
  return length
}

function readFrame(bytes: Uint8Array): EventFrame {
  const view = viewOf(bytes)
  const end = bytes.length - sumBytes
  if (view.getUint32(end) !== crc32(bytes.subarray(0, end))) throw broken('the sum of a frame is wrong')
  const payloadAt = preludeBytes + view.getUint32(4)
  return { headers: readHeaders(bytes.subarray(preludeBytes, payloadAt)), payload: bytes.subarray(payloadAt, end) }
}

const text = new TextDecoder()
const textType = 7
/** Bytes of the values whose length the type alone says: true, false, byte, short, integer, long, time, uuid. */
const sizes: Readonly<Record<number, number>> = { 0: 0, 1: 0, 2: 1, 3: 2, 4: 4, 5: 8, 8: 8, 9: 16 }

function readHeaders(bytes: Uint8Array): Record<string, string> {
  const view = viewOf(bytes)
  const headers: Record<string, string> = {}
  let at = 0
  /** The place of the next `size` bytes. */
  const take = (size: number): number => {
    const from = at
    at += size
    if (at > bytes.length) throw broken('a header ends behind its frame’s headers')
    return from
  }
  while (at < bytes.length) {
    const nameLength = view.getUint8(take(1))
    const nameAt = take(nameLength)
    const type = view.getUint8(take(1))
    const size = sizes[type]
    if (size === undefined && type !== textType && type !== 6)
      throw broken(`it has a header of the unknown type ${type}`)
    const length = size ?? view.getUint16(take(2))
    const valueAt = take(length)
    if (type === textType)
      headers[text.decode(bytes.subarray(nameAt, nameAt + nameLength))] = text.decode(
        bytes.subarray(valueAt, valueAt + length),
      )
  }
  return headers
}

const table = Uint32Array.from({ length: 256 }, (_, byte) => {
  let value = byte
  for (let bit = 0; bit < 8; bit++) value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1
  return value
})

/** CRC-32 as zip, PNG and AWS have it. */
export function crc32(bytes: Uint8Array): number {
  let crc = 0xffffffff
  for (const byte of bytes) crc = (crc >>> 8) ^ (table[(crc ^ byte) & 0xff] as number)
  return (crc ^ 0xffffffff) >>> 0
}
