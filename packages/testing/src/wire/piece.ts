import type { Json } from '../base/json.ts'

/** A piece of a body, sent in one write: a server-sent event, or a part of a JSON text or of raw bytes. */
export interface Piece {
  readonly bytes: Uint8Array
  /** True for a part of the response's text: the pace applies before it. */
  readonly paced: boolean
}

const encoder = new TextEncoder()

export const pieceOf = (text: string, paced = false): Piece => ({ bytes: encoder.encode(text), paced })

/** Returns a data-only event, as in Chat Completions. */
export const dataPiece = (data: Json | string, paced = false): Piece =>
  pieceOf(`data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`, paced)

/** Returns a named event. */
export const eventPiece = (event: string, data: Json | string, paced = false): Piece =>
  pieceOf(`event: ${event}\ndata: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`, paced)

/** Cuts bytes for faults and bytewise replays. */
export function* cutBytes(bytes: Uint8Array, cuts: 'bytes' | number | readonly number[]): Generator<Piece> {
  const step = cuts === 'bytes' ? 1 : typeof cuts === 'number' ? Math.max(1, Math.floor(cuts)) : undefined
  let from = 0
  if (step === undefined) {
    const positions = [...(cuts as readonly number[])].sort((one, other) => one - other)
    for (const position of positions) {
      if (position <= from || position >= bytes.length) continue
      yield { bytes: bytes.subarray(from, position), paced: false }
      from = position
    }
    if (from < bytes.length) yield { bytes: bytes.subarray(from), paced: false }
    return
  }
  for (; from < bytes.length; from += step) yield { bytes: bytes.subarray(from, from + step), paced: true }
}

/** Cuts an event stream after each blank line, whatever its line ends. */
export function* cutEvents(bytes: Uint8Array): Generator<Piece> {
  let from = 0
  let lineStart = 0
  for (let index = 0; index < bytes.length; index++) {
    if (bytes[index] !== 10) continue
    const blank = index === lineStart || (index === lineStart + 1 && bytes[lineStart] === 13)
    lineStart = index + 1
    if (!blank) continue
    yield { bytes: bytes.subarray(from, index + 1), paced: true }
    from = index + 1
  }
  if (from < bytes.length) yield { bytes: bytes.subarray(from), paced: true }
}

/** Returns no events, for operations without a stream. */
export const noEvents = (): Iterable<Piece> => []
