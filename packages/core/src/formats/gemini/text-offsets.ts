import { GrowingText } from '../shared/stream-parts.ts'

/** Characters between two stored offsets. */
const stride = 1024

/**
 * Converts between character and UTF-8 byte offsets of a growing text: Google counts bytes, all other formats characters. The text
 * is scanned once, at the first conversion; each conversion then scans one stretch of `stride` characters.
 */
export class TextOffsets {
  /** Text that has not been scanned. */
  #pending = new GrowingText()
  readonly #stretches: string[] = []
  /** The offsets at which each stretch begins. */
  readonly #chars: number[] = []
  readonly #bytes: number[] = []
  #allChars = 0
  #allBytes = 0
  /** Characters scanned so far, for tests of the cost. */
  steps = 0

  constructor(text = '') {
    this.add(text)
  }

  add(text: string): void {
    this.#pending.add(text)
  }

  /** Returns the index of the character that begins at a byte offset, or of the next one. */
  charAt(byte: number): number {
    this.#measure()
    if (byte <= 0) return 0
    if (byte >= this.#allBytes) return this.#allChars
    const at = lastUpTo(this.#bytes, byte)
    let left = byte - (this.#bytes[at] as number)
    const text = this.#stretches[at] as string
    let index = 0
    while (left > 0) {
      left -= bytesOf(text, index)
      index += unitsOf(text, index)
      this.steps++
    }
    return (this.#chars[at] as number) + index
  }

  /** Returns the byte offset at which a character begins. */
  byteAt(char: number): number {
    this.#measure()
    if (char <= 0) return 0
    if (char >= this.#allChars) return this.#allBytes
    const at = lastUpTo(this.#chars, char)
    const text = (this.#stretches[at] as string).slice(0, char - (this.#chars[at] as number))
    this.steps += text.length
    return (this.#bytes[at] as number) + byteLength(text)
  }

  #measure(): void {
    if (this.#pending.length === 0) return
    const text = this.#pending.toString()
    this.#pending = new GrowingText()
    for (let from = 0; from < text.length; ) {
      let to = Math.min(from + stride, text.length)
      // A surrogate pair must not be split. Its second half may arrive later.
      if (isFirstHalf(text.charCodeAt(to - 1)))
        if (to === text.length) to--
        else if (isSecondHalf(text.charCodeAt(to))) to++
      if (to === from) {
        this.#pending.add(text.slice(from))
        return
      }
      this.#addStretch(text.slice(from, to))
      from = to
    }
  }

  #addStretch(text: string): void {
    this.#stretches.push(text)
    this.#chars.push(this.#allChars)
    this.#bytes.push(this.#allBytes)
    this.#allChars += text.length
    this.#allBytes += byteLength(text)
    this.steps += text.length
  }
}

const isFirstHalf = (code: number): boolean => (code & 0xfc00) === 0xd800

const isSecondHalf = (code: number): boolean => (code & 0xfc00) === 0xdc00

/** Returns the number of UTF-16 units of the character at an index. */
const unitsOf = (text: string, index: number): number => ((text.codePointAt(index) as number) < 0x10000 ? 1 : 2)

function bytesOf(text: string, index: number): number {
  const code = text.codePointAt(index) as number
  return code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4
}

function byteLength(text: string): number {
  let bytes = 0
  for (let index = 0; index < text.length; index += unitsOf(text, index)) bytes += bytesOf(text, index)
  return bytes
}

/** Returns the index of the last number that is not above a limit. The numbers ascend from 0. */
function lastUpTo(numbers: readonly number[], limit: number): number {
  let low = 0
  let high = numbers.length - 1
  while (low < high) {
    const middle = (low + high + 1) >> 1
    if ((numbers[middle] as number) <= limit) low = middle
    else high = middle - 1
  }
  return low
}
