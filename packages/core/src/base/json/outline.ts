import { tooManyValues } from '../errors.ts'
import { isSpace, type Member, Scanner } from './scan.ts'

/** A JSON document with its long texts cut. */
export interface Outline {
  /** The document, but for its long string values: each of them is `cutText`. */
  readonly text: string
  /** The top-level object's members, as `Scan` has them: where they stand in the document's bytes. */
  readonly members: readonly Member[]
  /** Which of them hold a text that was cut. */
  readonly cutKeys: ReadonlySet<string>
  /** Where texts of more than `farBytes` stand in the bytes. */
  readonly longTexts: readonly Span[]
}

export interface Span {
  readonly start: number
  readonly end: number
}

/** Stands for a text that was cut. No field has a meaning for it, and it is no number. */
export const cutText = '~'

/** Strings up to so many bytes stay, their quotes among them. Longer ones are no words that anything depends on. */
export const keptBytes = 64

/** So many bytes of text may be data (an image, a sealed value), not words. */
const farBytes = 2000

const quote = 34
const colon = 58
const cut = new TextEncoder().encode(`"${cutText}"`)
// A byte order mark stays, and no parser takes it.
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/**
 * The outline of a JSON document in UTF-8. What is left out of it is proven to be right here, string by string; all else is in
 * it as it was written, faults included. So a parser that takes the outline would take the document, and finds the same in it
 * but for the texts that were cut.
 *
 * Undefined where the document has to be read whole: it is no UTF-8, it nests too deep, a string is broken or shunned, or too
 * little can be cut for an outline to be worth it.
 *
 * @param maxValues there may be so many values and names; of more, no more is looked at. Throws GatewayError
 * @param shunned no string, and nothing that is quoted within one, may begin with one of these
 */
export function createOutline(
  bytes: Uint8Array,
  maxDepth: number,
  shunned: readonly Uint8Array[],
  maxValues = Number.POSITIVE_INFINITY,
): Outline | undefined {
  const strings = new StringScanner(bytes, shunned)
  const scanner = new Scanner(bytes, maxDepth, maxValues)
  const cutKeys = new Set<string>()
  const farTexts: Span[] = []
  const out = scratch(bytes.length >> 1)
  // What is written beyond the end of `out` is lost, and the size tells.
  let size = 0
  let at = 0
  while (at < bytes.length) {
    const byte = bytes[at] as number
    if (byte !== quote) {
      scanner.addCharacter(byte, at++)
      out[size++] = byte
      continue
    }
    const end = strings.endOf(at)
    if (scanner.tooMany) throw tooManyValues(maxValues)
    if (end < 0 || scanner.tooDeep || size > out.length) return undefined
    scanner.addString(at, end)
    if (end - at > keptBytes && !isKey(bytes, end)) {
      if (scanner.key !== undefined) cutKeys.add(scanner.key)
      if (end - at > farBytes) farTexts.push({ start: at + 1, end: end - 1 })
      for (let i = 0; i < cut.length; i++) out[size++] = cut[i] as number
      at = end
    } else while (at < end) out[size++] = bytes[at++] as number
  }
  if (scanner.tooMany) throw tooManyValues(maxValues)
  if (scanner.tooDeep || size > out.length) return undefined
  try {
    return { text: decoder.decode(out.subarray(0, size)), members: scanner.members, cutKeys, longTexts: farTexts }
  } catch {
    return undefined
  }
}

/** Whether the string that ends here is a member's name. */
function isKey(bytes: Uint8Array, end: number): boolean {
  let at = end
  while (isSpace(bytes[at])) at++
  return bytes[at] === colon
}

const mostScratch = 1 << 20
let kept = new Uint8Array(0)

/** Memory to be used until the function returns. The same is used again, unless it is very large. */
function scratch(size: number): Uint8Array {
  if (size > mostScratch) return new Uint8Array(size)
  if (size > kept.length) kept = new Uint8Array(size)
  return kept.subarray(0, size)
}

const backslash = 92

/** What may stand behind a backslash: the length of the whole escape. */
const escapes = new Uint8Array(256)
for (const char of '"\\/bfnrt') escapes[char.charCodeAt(0)] = 2
escapes['u'.charCodeAt(0)] = 6

/** 1 for what stands for itself in a string: ASCII but for quotes, backslashes and control characters. */
const plain = new Uint8Array(256).fill(1, 32, 128)
plain[quote] = 0
plain[backslash] = 0

/**
 * Finds the ends of JSON strings in UTF-8, and proves on the way that they are right: without control characters, with whole
 * escapes and whole characters.
 */
export class StringScanner {
  readonly #bytes: Uint8Array
  /** The same bytes, four at a time; the first word begins `#skew` bytes before them. */
  readonly #words: Int32Array
  readonly #skew: number
  readonly #shunned: readonly Uint8Array[]
  /** 1 for the first byte of a shunned text. */
  readonly #suspect = new Uint8Array(256)

  /** @param shunned no string, and nothing that is quoted within one, may begin with one of these */
  constructor(bytes: Uint8Array, shunned: readonly Uint8Array[]) {
    const { buffer, byteOffset, length } = bytes
    this.#bytes = bytes
    this.#skew = byteOffset & 3
    this.#words = new Int32Array(buffer, byteOffset - this.#skew, (this.#skew + length) >> 2)
    this.#shunned = shunned
    for (const start of shunned) this.#suspect[start[0] as number] = 1
  }

  /** Behind the closing quote of the string that opens at `open`; -1 for one that is broken or shunned. */
  endOf(open: number): number {
    const bytes = this.#bytes
    let at = open + 1
    if (this.#suspect[bytes[at] as number] === 1 && this.#isShunned(at)) return -1
    for (;;) {
      let byte = bytes[at] as number
      if (plain[byte] === 1) {
        at = this.#plainEnd(at + 1)
        byte = bytes[at] as number
      }
      if (byte === quote) return at + 1
      if (byte === backslash) {
        const next = bytes[at + 1] as number
        const length = escapes[next] as number
        if (length === 0 || (length === 6 && !this.#isHex(at + 2))) return -1
        at += length
        if (next === quote && this.#suspect[bytes[at] as number] === 1 && this.#isShunned(at)) return -1
      } else {
        const length = byte >= 0x80 ? this.#characterLength(at, byte) : 0
        if (length === 0) return -1
        at += length
      }
    }
  }

  /** Where the plain characters from here on end. */
  #plainEnd(from: number): number {
    const bytes = this.#bytes
    const words = this.#words
    const skew = this.#skew
    let at = from
    for (; ((at + skew) & 3) !== 0; at++) if (plain[bytes[at] as number] !== 1) return at
    let word = (at + skew) >> 2
    while (word < words.length && arePlain(words[word] as number)) word++
    at = (word << 2) - skew
    while (plain[bytes[at] as number] === 1) at++
    return at
  }

  /** How many bytes the character beyond ASCII takes that begins here; 0 for what is none. */
  #characterLength(at: number, first: number): number {
    const bytes = this.#bytes
    const second = bytes[at + 1] as number
    if (first < 0xc2 || first > 0xf4 || !isContinuation(second)) return 0
    if (first < 0xe0) return 2
    if (!isContinuation(bytes[at + 2] as number)) return 0
    // Neither what fewer bytes could say nor halves of surrogate pairs.
    if (first < 0xf0) return (first === 0xe0 && second < 0xa0) || (first === 0xed && second > 0x9f) ? 0 : 3
    if (!isContinuation(bytes[at + 3] as number)) return 0
    return (first === 0xf0 && second < 0x90) || (first === 0xf4 && second > 0x8f) ? 0 : 4
  }

  #isHex(from: number): boolean {
    for (let at = from; at < from + 4; at++) {
      const byte = this.#bytes[at] as number
      const letter = byte | 32
      if (!((byte >= 48 && byte <= 57) || (letter >= 97 && letter <= 102))) return false
    }
    return true
  }

  #isShunned(at: number): boolean {
    // In loops: in a text that quotes much, as code does, this is asked for every quote.
    for (const start of this.#shunned) {
      let same = 0
      while (same < start.length && this.#bytes[at + same] === start[same]) same++
      if (same === start.length) return true
    }
    return false
  }
}

const isContinuation = (byte: number): boolean => (byte & 0xc0) === 0x80

/**
 * The same as `plain` of four bytes at once: nothing has its highest bit set, of the bytes as they are, less 32, and, where
 * quotes or backslashes are made zeros, less one.
 */
const arePlain = (word: number): boolean =>
  ((word | (word - 0x20202020) | ((word ^ 0x22222222) - 0x01010101) | ((word ^ 0x5c5c5c5c) - 0x01010101)) &
    0x80808080) ===
  0
