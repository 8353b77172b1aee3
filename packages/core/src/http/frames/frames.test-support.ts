import { concatBytes, toBase64 } from '../../base/bytes.ts'

const encoder = new TextEncoder()

/** Computes the checksum bit by bit from the polynomial, independently of the tested code. */
function sum(bytes: Uint8Array): number {
  let crc = 0xffffffff
  for (const byte of bytes)
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (((crc ^ (byte >>> bit)) & 1) * 0xedb88320)
  return (crc ^ 0xffffffff) >>> 0
}

const number = (value: number, bytes: 1 | 2 | 4): Uint8Array =>
  Uint8Array.from({ length: bytes }, (_, at) => (value >>> (8 * (bytes - 1 - at))) & 0xff)

/** A header of any type, with its value as bytes. */
export interface RawHeader {
  readonly name: string
  readonly type: number
  readonly value: Uint8Array
}

export const textHeader = (name: string, value: string): RawHeader => {
  const bytes = encoder.encode(value)
  return { name, type: 7, value: concatBytes([number(bytes.length, 2), bytes]) }
}

/** Encodes one frame as AWS does. */
export function frame(headers: readonly RawHeader[], payload: string | Uint8Array): Uint8Array {
  const head = concatBytes(
    headers.flatMap(({ name, type, value }) => {
      const bytes = encoder.encode(name)
      return [number(bytes.length, 1), bytes, number(type, 1), value]
    }),
  )
  const body = typeof payload === 'string' ? encoder.encode(payload) : payload
  const prelude = concatBytes([number(16 + head.length + body.length, 4), number(head.length, 4)])
  const before = concatBytes([prelude, number(sum(prelude), 4), head, body])
  return concatBytes([before, number(sum(before), 4)])
}

const of = (kind: 'event' | 'exception', type: string, payload: unknown): Uint8Array =>
  frame(
    [
      textHeader(`:${kind}-type`, type),
      textHeader(':content-type', 'application/json'),
      textHeader(':message-type', kind),
    ],
    JSON.stringify(payload),
  )

export const eventFrame = (type: string, payload: unknown): Uint8Array => of('event', type, payload)
export const exceptionFrame = (type: string, payload: unknown): Uint8Array => of('exception', type, payload)

/** Encodes one event of the model as InvokeModel does. */
export const chunkFrame = (event: unknown): Uint8Array =>
  eventFrame('chunk', { bytes: toBase64(encoder.encode(JSON.stringify(event))), p: 'abcdef' })

export async function* inPieces(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}
