import { tooManyValues } from '../errors.ts'
import { isSpace, type Member, Scanner } from './json.ts'

// Parsing of large request bodies. A body with images or files consists mostly of long strings that nothing here reads. The outline
// replaces each of them by one character, so that the parser reads a few kilobytes instead of megabytes:
//
//   {"model":"m","messages":[{"content":"iVBORw0KGgo… (4 MB)"}]}      the document, in UTF-8
//   {"model":"m","messages":[{"content":"~"}]}                        its outline, as text
//                └ members: key, start and end in the document's bytes

/** A JSON document without its long strings. */
export interface Outline {
  /** The document with each long string value replaced by `cutText`. */
  readonly text: string
  /** The top-level object's members, as in `Scan`, with positions in the document's bytes. */
  readonly members: readonly Member[]
  /** Keys of the members that contain a replaced text. */
  readonly cutKeys: ReadonlySet<string>
  /** Positions of texts of more than `longTextBytes` in the bytes. */
  readonly longTexts: readonly Span[]
}

/** A range of bytes. */
export interface Span {
  readonly start: number
  readonly end: number
}

/** Replaces a long text. No field gives it a meaning, and it is no number. */
export const cutText = '~'

/** Longest string in bytes, quotes included, that is kept. No behaviour of the gateway depends on longer values. */
export const keptBytes = 64

/** Longer texts may be data (an image, a sealed value), not words. */
const longTextBytes = 2000

const quote = 34
const colon = 58
const cut = new TextEncoder().encode(`"${cutText}"`)
// A byte order mark is kept, so that the parser rejects it.
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/**
 * Creates the outline of a JSON document in UTF-8. Replaced strings are validated here; everything else is kept as it was written,
 * including errors. So a parser accepts the outline exactly if it accepts the document, and returns the same value except for the
 * replaced texts.
 *
 * Returns undefined if the document must be parsed whole: it is not UTF-8, its nesting is too deep, a string is invalid or has a
 * forbidden prefix, or the outline would be more than half as long. Throws GatewayError `invalid_request` beyond `maxValues`.
 *
 * @param forbiddenPrefixes prefixes that no string, and no text quoted within a string, may have
 * @param maxValues largest number of values and names
 */
export function createOutline(
  bytes: Uint8Array,
  maxDepth: number,
  forbiddenPrefixes: readonly Uint8Array[],
  maxValues = Number.POSITIVE_INFINITY,
): Outline | undefined {
  const strings = new StringScanner(bytes, forbiddenPrefixes)
  const scanner = new Scanner(bytes, maxDepth, maxValues)
  const cutKeys = new Set<string>()
  const longTexts: Span[] = []
  const out = scratch(bytes.length >> 1)
  // Bytes written beyond the end of `out` are lost; `size` shows that below.
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
      if (end - at > longTextBytes) longTexts.push({ start: at + 1, end: end - 1 })
      for (let i = 0; i < cut.length; i++) out[size++] = cut[i] as number
      at = end
    } else while (at < end) out[size++] = bytes[at++] as number
  }
  if (scanner.tooMany) throw tooManyValues(maxValues)
  if (scanner.tooDeep || size > out.length) return undefined
  try {
    return { text: decoder.decode(out.subarray(0, size)), members: scanner.members, cutKeys, longTexts: longTexts }
  } catch {
    return undefined
  }
}

/** Returns whether the string that ends at `end` is the name of a member. */
function isKey(bytes: Uint8Array, end: number): boolean {
  let at = end
  while (isSpace(bytes[at])) at++
  return bytes[at] === colon
}

const mostScratch = 1 << 20
let kept = new Uint8Array(0)

/** Returns memory that is valid until the caller returns. It is reused, unless it is very large. */
function scratch(size: number): Uint8Array {
  if (size > mostScratch) return new Uint8Array(size)
  if (size > kept.length) kept = new Uint8Array(size)
  return kept.subarray(0, size)
}

const backslash = 92

/** The length of an escape by the character after the backslash; 0: no valid escape. */
const escapes = new Uint8Array(256)
for (const char of '"\\/bfnrt') escapes[char.charCodeAt(0)] = 2
escapes['u'.charCodeAt(0)] = 6

/** 1 for bytes that mean themselves in a string: ASCII except for quotes, backslashes and control characters. */
const plain = new Uint8Array(256).fill(1, 32, 128)
plain[quote] = 0
plain[backslash] = 0

/**
 * Finds the ends of JSON strings in UTF-8 and validates the strings: no control characters, complete escapes, complete characters.
 */
export class StringScanner {
  readonly #bytes: Uint8Array
  /** The same bytes, four at a time; the first word begins `#skew` bytes before them. */
  readonly #words: Int32Array
  readonly #skew: number
  readonly #forbiddenPrefixes: readonly Uint8Array[]
  /** 1 for the first byte of a forbidden prefix. */
  readonly #forbiddenStarts = new Uint8Array(256)

  /** @param forbiddenPrefixes prefixes that no string, and no text quoted within a string, may have */
  constructor(bytes: Uint8Array, forbiddenPrefixes: readonly Uint8Array[]) {
    const { buffer, byteOffset, length } = bytes
    this.#bytes = bytes
    this.#skew = byteOffset & 3
    this.#words = new Int32Array(buffer, byteOffset - this.#skew, (this.#skew + length) >> 2)
    this.#forbiddenPrefixes = forbiddenPrefixes
    for (const start of forbiddenPrefixes) this.#forbiddenStarts[start[0] as number] = 1
  }

  /** Returns the index after the closing quote of the string that opens at `open`; -1 if it is invalid or has a forbidden prefix. */
  endOf(open: number): number {
    const bytes = this.#bytes
    let at = open + 1
    if (this.#forbiddenStarts[bytes[at] as number] === 1 && this.#hasForbiddenPrefix(at)) return -1
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
        if (next === quote && this.#forbiddenStarts[bytes[at] as number] === 1 && this.#hasForbiddenPrefix(at))
          return -1
      } else {
        const length = byte >= 0x80 ? this.#characterLength(at, byte) : 0
        if (length === 0) return -1
        at += length
      }
    }
  }

  /** Returns the end of the run of plain characters that starts at `from`. */
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

  /** Returns the length in bytes of the character beyond ASCII at `at`; 0 if the bytes are invalid. */
  #characterLength(at: number, first: number): number {
    const bytes = this.#bytes
    const second = bytes[at + 1] as number
    if (first < 0xc2 || first > 0xf4 || !isContinuation(second)) return 0
    if (first < 0xe0) return 2
    if (!isContinuation(bytes[at + 2] as number)) return 0
    // Rejects overlong encodings and halves of surrogate pairs.
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

  #hasForbiddenPrefix(at: number): boolean {
    // Plain loops for speed: in source code with many quotes this runs for every quote.
    for (const start of this.#forbiddenPrefixes) {
      let same = 0
      while (same < start.length && this.#bytes[at + same] === start[same]) same++
      if (same === start.length) return true
    }
    return false
  }
}

const isContinuation = (byte: number): boolean => (byte & 0xc0) === 0x80

/**
 * Checks `plain` for four bytes at once. All are plain if no byte has its highest bit set in the word itself, in the word minus 32 per
 * byte, and, after an XOR that turns quotes or backslashes into zeros, in the word minus one per byte.
 */
const arePlain = (word: number): boolean =>
  ((word | (word - 0x20202020) | ((word ^ 0x22222222) - 0x01010101) | ((word ^ 0x5c5c5c5c) - 0x01010101)) &
    0x80808080) ===
  0
