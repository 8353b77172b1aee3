import { concatBytes } from '../../base/bytes.ts'
import { GatewayError } from '../../base/errors.ts'
import { eventTooLarge } from '../sse/sse.ts'
import { crc32 } from './crc32.ts'

/**
 * A frame of AWS's event stream encoding (`application/vnd.amazon.eventstream`); all numbers are big-endian:
 *
 *    frame length (4) | headers length (4) | CRC-32 of these 8 bytes (4) | headers | payload | CRC-32 of all before it (4)
 */
export interface EventFrame {
  /** Headers with text values, by name (`:event-type`). Headers of other types are not needed here. */
  readonly headers: Readonly<Record<string, string>>
  readonly payload: Uint8Array
  /** The whole frame. */
  readonly bytes: Uint8Array
}

/** Decodes frames from bytes that may be split anywhere. */
export interface FrameDecoder {
  push(chunk: Uint8Array): void
  /**
   * Returns the next frame, or undefined if it is incomplete. Throws GatewayError `upstream_bad_response` for an invalid frame or a wrong
   * checksum.
   */
  next(): EventFrame | undefined
  /** Number of bytes of an incomplete frame. */
  heldBytes(): number
}

/** AWS sends at most 16 MiB of payload in a frame. */
export const maxFrameBytes: number = 24 * 1024 * 1024

const preludeBytes = 12
const checksumBytes = 4
const minFrameBytes = preludeBytes + checksumBytes

/**
 * Creates a decoder.
 *
 * @param maxBytes bound of one frame. A longer length field is an error, so that it cannot make the decoder wait and buffer forever
 */
export function createFrameDecoder(maxBytes: number): FrameDecoder {
  let parts: Uint8Array[] = []
  let held = 0
  // Length of the current frame; 0 until its first 12 bytes have arrived.
  let length = 0

  /** Joins all bytes that are held. */
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
    heldBytes: () => held,
  }
}

const invalidStream = (why: string): GatewayError =>
  new GatewayError('upstream_bad_response', `The upstream sent an event stream that cannot be read: ${why}.`)

const viewOf = (bytes: Uint8Array): DataView => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)

function frameLength(bytes: Uint8Array, maxBytes: number): number {
  const view = viewOf(bytes)
  if (view.getUint32(8) !== crc32(bytes.subarray(0, 8)))
    throw invalidStream('the checksum of a frame’s prelude is wrong')
  const length = view.getUint32(0)
  if (length < minFrameBytes || view.getUint32(4) > length - minFrameBytes)
    throw invalidStream('the lengths in a frame contradict each other')
  if (length > maxBytes) throw eventTooLarge()
  return length
}

function readFrame(bytes: Uint8Array): EventFrame {
  const view = viewOf(bytes)
  const end = bytes.length - checksumBytes
  if (view.getUint32(end) !== crc32(bytes.subarray(0, end))) throw invalidStream('the checksum of a frame is wrong')
  const payloadAt = preludeBytes + view.getUint32(4)
  return {
    headers: readHeaders(bytes.subarray(preludeBytes, payloadAt)),
    payload: bytes.subarray(payloadAt, end),
    bytes,
  }
}

const text = new TextDecoder()
const textType = 7
/** Sizes in bytes of value types with a fixed size: true, false, byte, short, integer, long, timestamp, uuid. */
const sizes: Readonly<Record<number, number>> = { 0: 0, 1: 0, 2: 1, 3: 2, 4: 4, 5: 8, 8: 8, 9: 16 }

function readHeaders(bytes: Uint8Array): Record<string, string> {
  const view = viewOf(bytes)
  const headers: Record<string, string> = {}
  let at = 0
  /** Advances by `size` bytes and returns the position before them. */
  const advance = (size: number): number => {
    const from = at
    at += size
    if (at > bytes.length) throw invalidStream('a header exceeds the headers of its frame')
    return from
  }
  while (at < bytes.length) {
    const nameLength = view.getUint8(advance(1))
    const nameAt = advance(nameLength)
    const type = view.getUint8(advance(1))
    const size = sizes[type]
    if (size === undefined && type !== textType && type !== 6)
      throw invalidStream(`it has a header of the unknown type ${type}`)
    const length = size ?? view.getUint16(advance(2))
    const valueAt = advance(length)
    if (type === textType)
      headers[text.decode(bytes.subarray(nameAt, nameAt + nameLength))] = text.decode(
        bytes.subarray(valueAt, valueAt + length),
      )
  }
  return headers
}
