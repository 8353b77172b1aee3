import type { Span } from '../base/json/outline.ts'
import { charsPerToken, dataTokens } from './estimate-body.ts'

/** Number of sampled bytes per body. */
const sampledBytes = 1000
/** Bytes that are inspected at the beginning, in the middle and at the end of a text. */
const inspectedBytes = 500

const backslash = 92
const comma = 44
const letterU = 117
const zero = 48
const eight = 56

/**
 * Estimates the input tokens of an unparsed body in UTF-8, approximately as `estimateBody` does. The quotes and commas around each text
 * replace the constant that `estimateBody` adds per text.
 *
 * @param longTexts positions of very long texts, from the body's outline
 */
export function estimateBytes(bytes: Uint8Array, longTexts: readonly Span[]): number {
  let chars = bytes.length
  let tokens = 0
  for (const text of longTexts)
    if (isData(bytes, text)) {
      chars -= text.end - text.start
      tokens += dataTokens
    }
  // A step that is no multiple of 2, 3, 4 or 6: it samples every byte position of characters and escapes equally often.
  const step = 6 * Math.floor(bytes.length / sampledBytes / 6) + 1
  for (let at = 0; at < bytes.length; at += step) chars += step * weightDifference(bytes, at)
  return Math.max(0, Math.ceil(chars / charsPerToken)) + tokens
}

/** Returns the weight, in quarters of a token, of the character that begins at `at`, minus its length in bytes; 0 if none begins. */
function weightDifference(bytes: Uint8Array, at: number): number {
  const byte = bytes[at] as number
  if (byte === backslash) return escapeDifference(bytes, at)
  return byte < 0xe0 ? 0 : byte < 0xf0 ? 1 : 4
}

/** Returns the same for an escape. Either of two adjacent backslashes may be the escaping one: each counts half. */
function escapeDifference(bytes: Uint8Array, at: number): number {
  const next = bytes[at + 1] as number
  if (next === backslash || bytes[at - 1] === backslash) return -0.5
  if (next !== letterU) return -1
  // Judged by its first two digits: characters up to U+07FF weigh two quarters.
  return bytes[at + 2] === zero && (bytes[at + 3] as number) < eight ? -4 : -2
}

/** Returns whether a text is base64, judged by its beginning, middle and end, as in `estimateBody`, but with JSON escapes. */
function isData(bytes: Uint8Array, { start, end }: Span): boolean {
  const from = start + dataUrlPrefixLength(bytes, start)
  const middle = Math.floor((from + end) / 2)
  return isBase64(bytes, from) && isBase64(bytes, middle) && isBase64(bytes, end - inspectedBytes)
}

const dataUrl = new TextEncoder().encode('data:')

/** Returns the length of the prefix of a data URL at `start`; 0 if there is none. */
function dataUrlPrefixLength(bytes: Uint8Array, start: number): number {
  if (dataUrl.some((byte, index) => bytes[start + index] !== byte)) return 0
  const end = bytes.subarray(start, start + inspectedBytes).indexOf(comma)
  return end + 1
}

/** 1 for the digits of base64, of either alphabet. */
const plain = new Uint8Array(256)
for (const byte of new TextEncoder().encode('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/_=-'))
  plain[byte] = 1

const ascii = (char: string): number => char.charCodeAt(0)
/** 1 for the letters of short escapes that base64 may contain: line breaks and slashes. */
const shortEscapes = new Uint8Array(256)
for (const letter of 'nr/') shortEscapes[ascii(letter)] = 1
/** The last two digits of long escapes that base64 may contain, from servers that escape `+`, `/` and `=`. */
const longEscapes: ReadonlySet<number> = new Set(
  ['2b', '2B', '2f', '2F', '3d', '3D'].map((two) => ascii(two) * 256 + two.charCodeAt(1)),
)

/** Returns the length of an escape that base64 may contain; 0 for any other. */
function escapeLength(bytes: Uint8Array, at: number): number {
  const next = bytes[at + 1] as number
  if (shortEscapes[next] === 1) return 2
  if (next !== letterU || bytes[at + 2] !== zero || bytes[at + 3] !== zero) return 0
  return longEscapes.has((bytes[at + 4] as number) * 256 + (bytes[at + 5] as number)) ? 6 : 0
}

/**
 * Returns whether the bytes at `from` may be base64 with escapes. Text of words contains blanks. Text in another alphabet may consist of
 * escapes only, but of other escapes.
 */
function isBase64(bytes: Uint8Array, from: number): boolean {
  const to = from + inspectedBytes
  for (let at = from; at < to; ) {
    const byte = bytes[at] as number
    const length = plain[byte] === 1 ? 1 : byte === backslash ? escapeLength(bytes, at) : 0
    if (length === 0) return false
    at += length
  }
  return true
}
