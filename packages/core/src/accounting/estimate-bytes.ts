import type { Span } from '../base/json/outline.ts'
import { charsPerToken, dataTokens } from './estimate-body.ts'

/** How many bytes of a body are looked at, spread over it. */
const looked = 1000
/** How much of a text is looked at where it begins, and as much in the middle and at the end. */
const lookedAt = 500

const backslash = 92
const comma = 44
const letterU = 117
const zero = 48
const eight = 56

/**
 * About what `estimateBody` says, of a body in UTF-8 that nobody has parsed: the quotes and commas around its texts are about
 * what that adds for each of them.
 *
 * @param farTexts where its very long texts stand
 */
export function estimateBytes(bytes: Uint8Array, farTexts: readonly Span[]): number {
  let chars = bytes.length
  let tokens = 0
  for (const text of farTexts)
    if (isData(bytes, text)) {
      chars -= text.end - text.start
      tokens += dataTokens
    }
  // No multiple of the two, three, four or six bytes that characters take: each of theirs is met as often.
  const step = 6 * Math.floor(bytes.length / looked / 6) + 1
  for (let at = 0; at < bytes.length; at += step) chars += step * moreThanByte(bytes, at)
  return Math.max(0, Math.ceil(chars / charsPerToken)) + tokens
}

/** By how many quarters of a token a character that begins here, if one does, differs from the bytes it takes. */
function moreThanByte(bytes: Uint8Array, at: number): number {
  const byte = bytes[at] as number
  if (byte === backslash) return escaped(bytes, at)
  return byte < 0xe0 ? 0 : byte < 0xf0 ? 1 : 4
}

/** The same of an escape. Of two backslashes side by side either may be the one that is meant: each counts as half of one. */
function escaped(bytes: Uint8Array, at: number): number {
  const next = bytes[at + 1] as number
  if (next === backslash || bytes[at - 1] === backslash) return -0.5
  if (next !== letterU) return -1
  // By its first two digits: up to U+07FF two bytes would do.
  return bytes[at + 2] === zero && (bytes[at + 3] as number) < eight ? -4 : -2
}

/** Base64 from end to end, as far as its beginning, its middle and its end tell; as `estimateBody` has it, but as it is written. */
function isData(bytes: Uint8Array, { start, end }: Span): boolean {
  const from = start + frontLength(bytes, start)
  const middle = Math.floor((from + end) / 2)
  return isBase64(bytes, from) && isBase64(bytes, middle) && isBase64(bytes, end - lookedAt)
}

const dataUrl = new TextEncoder().encode('data:')

/** How long the front of a data URL is that begins there. */
function frontLength(bytes: Uint8Array, start: number): number {
  if (dataUrl.some((byte, index) => bytes[start + index] !== byte)) return 0
  const end = bytes.subarray(start, start + lookedAt).indexOf(comma)
  return end + 1
}

/** Letters, digits and signs of base64, of either alphabet. */
const plain = new Uint8Array(256)
for (const byte of new TextEncoder().encode('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/_=-'))
  plain[byte] = 1

const ascii = (char: string): number => char.charCodeAt(0)
/** What may be escaped there by one letter: line breaks and slashes. */
const short = new Uint8Array(256)
for (const letter of 'nr/') short[ascii(letter)] = 1
/** And by the last two digits of its number, where a server writes all signs so: `+`, `/`, `=`. */
const long: ReadonlySet<number> = new Set(
  ['2b', '2B', '2f', '2F', '3d', '3D'].map((two) => ascii(two) * 256 + two.charCodeAt(1)),
)

/** The length of an escape that base64 may have in it; 0 for any other. */
function escapeLength(bytes: Uint8Array, at: number): number {
  const next = bytes[at + 1] as number
  if (short[next] === 1) return 2
  if (next !== letterU || bytes[at + 2] !== zero || bytes[at + 3] !== zero) return 0
  return long.has((bytes[at + 4] as number) * 256 + (bytes[at + 5] as number)) ? 6 : 0
}

/**
 * Whether what stands there may be base64, with escapes in it. Text in another alphabet can be nothing but escapes, and is no
 * data. No text of words is: it has blanks, and the first of them tells.
 */
function isBase64(bytes: Uint8Array, from: number): boolean {
  const to = from + lookedAt
  for (let at = from; at < to; ) {
    const byte = bytes[at] as number
    const length = plain[byte] === 1 ? 1 : byte === backslash ? escapeLength(bytes, at) : 0
    if (length === 0) return false
    at += length
  }
  return true
}
