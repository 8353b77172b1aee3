import { crc32 } from './crc32.ts'

/** A header with a text value. */
export type FrameHeader = readonly [name: string, value: string]

const encoder = new TextEncoder()
const textType = 7

/** Encodes the headers of frames, for `encodeFrame`. Names have at most 255 bytes, values at most 65,535. */
export function encodeHeaders(headers: readonly FrameHeader[]): Uint8Array {
  const encoded = headers.map(([name, value]) => [encoder.encode(name), encoder.encode(value)] as const)
  const bytes = new Uint8Array(encoded.reduce((size, [name, value]) => size + name.length + value.length + 4, 0))
  const view = new DataView(bytes.buffer)
  let at = 0
  for (const [name, value] of encoded) {
    view.setUint8(at, name.length)
    bytes.set(name, at + 1)
    at += 1 + name.length
    view.setUint8(at, textType)
    view.setUint16(at + 1, value.length)
    bytes.set(value, at + 3)
    at += 3 + value.length
  }
  return bytes
}

/**
 * Encodes one frame, with both checksums. See `EventFrame` for its layout.
 *
 * @param headers of `encodeHeaders`
 */
export function encodeFrame(headers: Uint8Array, payload: Uint8Array): Uint8Array {
  const length = 16 + headers.length + payload.length
  const bytes = new Uint8Array(length)
  const view = new DataView(bytes.buffer)
  view.setUint32(0, length)
  view.setUint32(4, headers.length)
  view.setUint32(8, crc32(bytes.subarray(0, 8)))
  bytes.set(headers, 12)
  bytes.set(payload, 12 + headers.length)
  view.setUint32(length - 4, crc32(bytes.subarray(0, length - 4)))
  return bytes
}
