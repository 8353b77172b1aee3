import { charsPerToken, dataTokens } from './estimate-body.ts'
import type { Span } from './json/outline.ts'
import { slice } from './json/source.ts'

/** How many bytes of a body are looked at, spread over it. */
const looked = 1000
/** How much of a text is looked at where it begins, and as much in the middle and at the end. */
const lookedAt = 500

const backslash = 92
const letterU = 117

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
  if (byte === backslash) return bytes[at + 1] === letterU ? -3 : -1
  return byte < 0xe0 ? 0 : byte < 0xf0 ? 1 : 4
}

/** Base64 from end to end, as far as its beginning, its middle and its end tell; as `estimateBody` has it, but as it is written. */
function isData(bytes: Uint8Array, { start, end }: Span): boolean {
  const head = slice(bytes, start, start + lookedAt)
  const from = start + (head.startsWith('data:') ? head.indexOf(',') + 1 : 0)
  const middle = Math.floor((from + end) / 2)
  return [from, middle, end - lookedAt].every((at) => isBase64(slice(bytes, at, at + lookedAt)))
}

/** With line breaks and slashes in escapes. */
const isBase64 = (text: string): boolean => /^[A-Za-z0-9+/_=\\-]*$/.test(text)
