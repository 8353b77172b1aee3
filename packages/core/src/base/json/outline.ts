import { isSpace, type Member, Scanner } from './scan.ts'
import { StringBytes } from './string-bytes.ts'
import { tooManyValues } from './too-many-values.ts'

/** A JSON document with its long texts cut. */
export interface Outline {
  /** The document, but for its long string values: each of them is `cutText`. */
  readonly text: string
  /** The top-level object's members, as `Scan` has them: where they stand in the document's bytes. */
  readonly members: readonly Member[]
  /** Which of them hold a text that was cut. */
  readonly cutKeys: ReadonlySet<string>
  /** Where texts of more than `farBytes` stand in the bytes. */
  readonly farTexts: readonly Span[]
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
export function outlineOf(
  bytes: Uint8Array,
  maxDepth: number,
  shunned: readonly Uint8Array[],
  maxValues = Number.POSITIVE_INFINITY,
): Outline | undefined {
  const strings = new StringBytes(bytes, shunned)
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
      scanner.other(byte, at++)
      out[size++] = byte
      continue
    }
    const end = strings.end(at)
    if (scanner.tooMany) throw tooManyValues(maxValues)
    if (end < 0 || scanner.tooDeep || size > out.length) return undefined
    scanner.string(at, end)
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
    return { text: decoder.decode(out.subarray(0, size)), members: scanner.members, cutKeys, farTexts }
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
