import { concatBytes } from '../../base/bytes.ts'

const LF = 10
const CR = 13

/**
 * Splits a byte stream after its last blank line so far. Complete events can be sent to the client unchanged. An incomplete event is
 * held, so that an error event can follow if the stream breaks off. The cost is linear for any split into chunks.
 */
export interface BlockCutter {
  /** Adds a chunk. Returns the bytes of the events that are now complete, or undefined if there are none. */
  push(chunk: Uint8Array): Uint8Array | undefined
  /** Number of bytes held. */
  readonly heldBytes: number
  /** Returns the held bytes and holds none. */
  flush(): Uint8Array | undefined
}

export const createBlockCutter = (): BlockCutter => new Cutter()

class Cutter implements BlockCutter {
  heldBytes = 0
  #parts: Uint8Array[] | undefined
  // The last two held bytes: a blank line may be split between chunks.
  #last: number | undefined
  #lastButOne: number | undefined
  /** The returned bytes ended with a carriage return: a line feed at the start of the next chunk belongs to that line end. */
  #endedWithReturn = false

  push(chunk: Uint8Array): Uint8Array | undefined {
    const { length } = chunk
    if (length === 0) return undefined
    const cut = lastBlankLine(chunk, this.#last, this.#lastButOne) || (this.#endedWithReturn && chunk[0] === LF ? 1 : 0)
    this.#endedWithReturn = cut === length && chunk[length - 1] === CR
    if (cut === 0) {
      this.#hold(chunk)
      return undefined
    }
    const part = cut === length ? chunk : chunk.subarray(0, cut)
    const before = this.flush()
    this.#last = this.#lastButOne = undefined
    if (cut < length) this.#hold(chunk.subarray(cut))
    return before === undefined ? part : concatBytes([before, part])
  }

  flush(): Uint8Array | undefined {
    if (this.#parts === undefined) return undefined
    const whole = concatBytes(this.#parts)
    this.#parts = undefined
    this.heldBytes = 0
    return whole
  }

  #hold(tail: Uint8Array): void {
    this.#parts ??= []
    this.#parts.push(tail)
    this.heldBytes += tail.length
    this.#lastButOne = tail.length > 1 ? tail[tail.length - 2] : this.#last
    this.#last = tail[tail.length - 1]
  }
}

/** For longer parts, a search for line ends is faster than a loop over the bytes. */
const longBytes = 4096

/** Returns the index after the last blank line that ends within `chunk`; 0 if there is none. `last` and `lastButOne` precede the chunk. */
function lastBlankLine(chunk: Uint8Array, last: number | undefined, lastButOne: number | undefined): number {
  if (chunk.length > longBytes && !chunk.includes(LF) && !chunk.includes(CR)) return 0
  for (let i = chunk.length - 1; i >= 0; i--) {
    const byte = chunk[i] as number
    if (byte > CR) continue
    const before = i > 1 ? chunk[i - 2] : i === 1 ? last : lastButOne
    if (endsBlankLine(byte, i > 0 ? chunk[i - 1] : last, before)) return i + 1
  }
  return 0
}

/** Returns the index after the first blank line behind `from`, including its whole line end; the end of `bytes` if there is none. */
export function blockEnd(bytes: Uint8Array, from: number): number {
  let line = from
  for (let i = from + 1; i < bytes.length; i++) {
    const byte = bytes[i] as number
    if (byte > CR) {
      if (i - line === longBytes) i = nextLineEnd(bytes, i) - 1
      continue
    }
    line = i
    if (endsBlankLine(byte, bytes[i - 1], i > from + 1 ? bytes[i - 2] : undefined))
      return byte === CR && bytes[i + 1] === LF ? i + 2 : i + 1
  }
  return bytes.length
}

/**
 * Bytes that are searched for both kinds of line ends at a time. In a stream that uses one kind, an unbounded search for the other would
 * read all remaining bytes each time.
 */
const searchedBytes = 65_536

/** Returns the index of the next line end, or the end of the bytes. */
function nextLineEnd(bytes: Uint8Array, from: number): number {
  for (let at = from; at < bytes.length; at += searchedBytes) {
    const part = bytes.subarray(at, at + searchedBytes)
    const feed = part.indexOf(LF)
    const carriage = (feed < 0 ? part : part.subarray(0, feed)).indexOf(CR)
    const end = carriage < 0 ? feed : carriage
    if (end >= 0) return at + end
  }
  return bytes.length
}

function endsBlankLine(byte: number, previous: number | undefined, before: number | undefined): boolean {
  if (byte === CR) return previous === CR || previous === LF
  if (byte !== LF) return false
  return previous === LF || (previous === CR && (before === LF || before === CR))
}

/** Splits text after each blank line, for any kind of line ends, also mixed. */
export function splitBlocks(text: string): string[] {
  if (!text.includes('\r')) {
    const blocks: string[] = []
    let from = 0
    for (let at = text.indexOf('\n\n'); at >= 0; at = text.indexOf('\n\n', from)) {
      blocks.push(text.slice(from, at + 2))
      from = at + 2
    }
    if (from < text.length) blocks.push(text.slice(from))
    return blocks
  }
  return text.split(/(?<=\n\n|\n\r\n|\r\r\n|[\r\n]\r(?!\n))/)
}

const COLON = 0x3a

/**
 * Returns whether a chunk of an event stream contains only comments and blank lines, with which an upstream keeps a connection open. The
 * remainder of a comment that was split between two chunks counts as content. For all other chunks this reads one byte.
 */
export function isOnlyComments(chunk: Uint8Array): boolean {
  let at = 0
  while (at < chunk.length) {
    const byte = chunk[at]
    if (byte === LF || byte === CR) at++
    else if (byte !== COLON) return false
    else while (at < chunk.length && chunk[at] !== LF && chunk[at] !== CR) at++
  }
  return true
}
