import { concatBytes } from '../../base/bytes.ts'

const LF = 10
const CR = 13

/**
 * Cuts a byte stream behind the last blank line seen so far: what is complete can go to the client untouched, half an
 * event is held, so that an error event can follow if the rest never comes. Linear, whatever the chunks.
 */
export interface BlockCutter {
  /** The bytes complete with this chunk, or undefined if no event was completed. */
  push(chunk: Uint8Array): Uint8Array | undefined
  /** Bytes held. */
  readonly heldBytes: number
  /** Gives out what is held. */
  flush(): Uint8Array | undefined
}

export const createBlockCutter = (): BlockCutter => new Cutter()

class Cutter implements BlockCutter {
  heldBytes = 0
  #parts: Uint8Array[] | undefined
  // The last two bytes held: a blank line may straddle chunks.
  #last: number | undefined
  #lastButOne: number | undefined
  /** A carriage return ended what was given out: a line feed behind it is the other half of that line end. */
  #halfOut = false

  push(chunk: Uint8Array): Uint8Array | undefined {
    const { length } = chunk
    if (length === 0) return undefined
    const cut = lastBlankLine(chunk, this.#last, this.#lastButOne) || (this.#halfOut && chunk[0] === LF ? 1 : 0)
    this.#halfOut = cut === length && chunk[length - 1] === CR
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

/** From here on, searching for line ends takes less time than looking at each byte. */
const longBytes = 4096

/** Index after the last blank line that ends within `chunk`, 0 if none does. The other two preceded it. */
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

/** Index after the first blank line behind `from`, the whole of its line end taken; the end of `bytes` if there is none. */
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

/** What is searched for both line ends at a time: who writes one of them alone must not have the rest searched for the other each time. */
const searchedBytes = 65_536

/** Where the next line ends, or the bytes. */
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

/** The text cut behind each blank line, whatever the line ends, also mixed ones. */
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
 * Whether bytes of an event stream are comments and blank lines alone, with which an upstream keeps a connection open but says
 * nothing. The rest of a comment that was split between two chunks counts as something said. Costs a look at the first byte of
 * all other chunks.
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
