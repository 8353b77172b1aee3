// Consecutive events of a stream differ only in a few words and perhaps a number. A template compares the bytes of events with one of
// them: its fixed pieces, and the parts that vary. This takes a tenth of the time of decoding and inspecting an event: measured 0.59 µs
// against 5.64 µs per event of a passing stream. It has two users:
//
// - Pass-through (`lanes/pass-through-stream.ts`, `createEventTemplate`): the template is an event with nothing to account for. Events that
//   match it have nothing either, and are passed on without being decoded.
// - Translation (`lanes/text-runs.ts`, `createTextTemplate`): events that match differ only in one text, whose place is reported.
//
//   event      data: {"id":"c1","choices":[{"delta":{"content":"Hel"}}],"n":17}\n\n
//   fixed      data: {"id":"c1","choices":[{"delta":{"content":"   "}}],"n":  }\n\n      compared eight bytes at a time
//   variable                                                 Hel            17          a text up to its quote; a number
//
// Any difference in a fixed piece ends the run, and the next event is decoded as usual.

/** The fixed pieces of an event, between which texts, numbers and blanks vary. */
export interface EventTemplate {
  /** The event's bytes, including its blank line. */
  readonly bytes: DataView
  /** Three numbers per fixed piece: its start and end in `bytes`, and the kind of the variable part that follows. */
  readonly pieces: readonly number[]
  /** Bytes of an event outside its data. */
  readonly frameBytes: number
  /** Index in `pieces` of the piece that contains the text to erase; -1: none. */
  readonly erasedPiece: number
  /** Offset of that text in the piece, and its length in bytes. */
  readonly erasedAt: number
  readonly erasedLength: number
  /** Index in `pieces` of the piece before the text whose place is reported; -1: none. */
  readonly reportedPiece: number
}

/** What stands between two fixed pieces: a text whose place is reported, an ignored text or number, or nothing more. */
export type EventGap = 'text' | 'ignored-text' | 'ignored-number' | 'end'

/** The rules for templates of one stream. */
export interface EventTemplateOptions {
  /** Members whose texts or numbers may differ between events. */
  readonly varyingMembers: ReadonlySet<string>
  /** A text that every matching event must contain. */
  readonly mark?: string | undefined
  /** A text to remove from each event. */
  readonly erase?: string | undefined
}

/** Consecutive events that match one template. */
export interface EventRun {
  /** Index after the last event. */
  end: number
  count: number
  /** Characters of the events' data. */
  chars: number
  /** Some text has other characters than ASCII. */
  isWide: boolean
  /** Starts of the last few events: event `n` (from 0) starts at `starts[n & (sampleSize - 1)]`. */
  readonly starts: Int32Array
}

/** Number of events at the end of a run whose positions are known. A power of two. */
export const sampleSize = 8

/** Longest event in bytes that is compared. Longer ones are rare and are decoded. */
const maxLength = 8192

// Kinds of variable parts.
const ignoredText = 0
const ignoredNumber = 1
const padding = 2
const eventEnd = 3
const reportedText = 4

const kindOf: { readonly [gap in EventGap]: number } = {
  text: reportedText,
  'ignored-text': ignoredText,
  'ignored-number': ignoredNumber,
  end: eventEnd,
}

const LF = 10
const SPACE = 0x20
const QUOTE = 0x22
const COLON = 0x3a
const BACKSLASH = 0x5c

/** Returns whether `JSON.stringify` writes this character after a backslash. It writes most `\\u` escapes in another way. */
const isUsualEscape = (char: number): boolean =>
  char === 0x6e ||
  char === QUOTE ||
  char === BACKSLASH ||
  char === 0x74 ||
  char === 0x72 ||
  char === 0x62 ||
  char === 0x66

const isNumeric = (char: number): boolean =>
  (char >= 0x30 && char <= 0x39) || char === 0x2d || char === 0x2e || char === 0x2b || char === 0x65 || char === 0x45

/** Yields one character per byte. Sufficient here: only ASCII is searched. */
const latin1 = new TextDecoder('latin1')

/**
 * Creates a template from the only event in `block`. Returns undefined if the event is not suitable.
 *
 * @param blockText the block as text
 * @param data the event's decoded data
 */
export function createEventTemplate(
  block: Uint8Array,
  blockText: string,
  data: string,
  options: EventTemplateOptions,
): EventTemplate | undefined {
  const { length } = block
  const { varyingMembers, mark, erase } = options
  if (length > maxLength || data === '' || (mark !== undefined && !data.includes(mark))) return undefined
  const from = blockText.indexOf(data)
  if (from < 0) return undefined
  const to = length - (blockText.length - from - data.length)
  const chars = blockText.length === length ? blockText : latin1.decode(block)
  const pieces = findPieces(chars, from, to, varyingMembers)
  if (pieces === undefined) return undefined
  // The mark must be within a fixed piece, so that every matching event contains it.
  if (mark !== undefined && pieceContaining(pieces, chars.indexOf(mark, from), mark.length) < 0) return undefined
  const erasedLength = erase?.length ?? 0
  const erasedFrom = erase === undefined ? -1 : chars.indexOf(erase)
  const erasedPiece = pieceContaining(pieces, erasedFrom, erasedLength)
  if (erasedFrom >= 0 && (erasedPiece < 0 || chars.includes(erase as string, erasedFrom + erasedLength)))
    return undefined
  const fixed = new Uint8Array(length)
  fixed.set(block)
  return {
    bytes: new DataView(fixed.buffer),
    pieces,
    frameBytes: length - (to - from),
    erasedPiece,
    erasedAt: erasedPiece < 0 ? 0 : erasedFrom - (pieces[erasedPiece] as number),
    erasedLength,
    reportedPiece: -1,
  }
}

/**
 * Creates a template that reports the places of a text.
 *
 * @param pieces the fixed pieces of an event, its line ends and blank line included
 * @param gaps what stands after each piece; exactly one is a `text`
 * @param frameBytes bytes of an event outside its data
 * @returns undefined if a piece holds characters that cannot be compared
 */
export function createTextTemplate(
  pieces: readonly string[],
  gaps: readonly EventGap[],
  frameBytes: number,
): EventTemplate | undefined {
  const chars = pieces.join('')
  const places: number[] = []
  let at = 0
  for (let i = 0; i < pieces.length; i++) {
    const end = at + (pieces[i] as string).length
    places.push(at, end, kindOf[gaps[i] as EventGap])
    at = end
  }
  if (!isComparable(chars, places)) return undefined
  const bytes = new Uint8Array(chars.length)
  for (let i = 0; i < chars.length; i++) bytes[i] = chars.charCodeAt(i)
  return {
    bytes: new DataView(bytes.buffer),
    pieces: places,
    frameBytes,
    erasedPiece: -1,
    erasedAt: 0,
    erasedLength: 0,
    reportedPiece: gaps.indexOf('text') * 3,
  }
}

/** Returns the index of the fixed piece that contains a whole text, or -1. */
function pieceContaining(pieces: readonly number[], at: number, length: number): number {
  if (at >= 0)
    for (let i = 0; i < pieces.length; i += 3)
      if (at >= (pieces[i] as number) && at + length <= (pieces[i + 1] as number)) return i
  return -1
}

function findPieces(
  chars: string,
  from: number,
  to: number,
  varyingMembers: ReadonlySet<string>,
): number[] | undefined {
  const pieces: number[] = []
  let piece = 0
  let varies = false
  for (let at = from; at < to; at++) {
    const char = chars.charCodeAt(at)
    if (char === QUOTE) {
      const close = closingQuote(chars, at + 1, to)
      if (close < 0) return undefined
      if (varies) {
        pieces.push(piece, at + 1, ignoredText)
        piece = close
      }
      varies = !varies && chars.charCodeAt(close + 1) === COLON && varyingMembers.has(chars.slice(at + 1, close))
      at = close
    } else if (varies && isNumeric(char)) {
      pieces.push(piece, at, ignoredNumber)
      while (isNumeric(chars.charCodeAt(at + 1))) at++
      piece = at + 1
      varies = false
    } else if (char !== COLON && char !== SPACE) varies = false
  }
  if (pieces.length === 0) return undefined
  // Some upstreams pad events with blanks, so that the length of an event reveals nothing.
  let close = to - 1
  while (close > piece && chars.charCodeAt(close) === SPACE) close--
  let filled = close
  while (filled > piece && chars.charCodeAt(filled - 1) === SPACE) filled--
  if (filled < close) {
    pieces.push(piece, filled, padding)
    piece = close
  }
  pieces.push(piece, chars.length, eventEnd)
  return isComparable(chars, pieces) ? pieces : undefined
}

/** Bytes are compared as doubles, eight at a time. Other bytes could form NaN, which never equals itself. */
function isComparable(chars: string, pieces: readonly number[]): boolean {
  for (let i = 0; i < pieces.length; i += 3)
    for (let at = pieces[i] as number; at < (pieces[i + 1] as number); at++)
      if (chars.charCodeAt(at) > 0x7e || chars.charCodeAt(at) < LF) return false
  return true
}

/** Returns whether bytes are an integer of JSON without a sign. */
function isInteger(bytes: DataView, from: number, to: number): boolean {
  for (let at = from; at < to; at++) if (!isDigit(bytes.getUint8(at))) return false
  return to === from + 1 || (to > from && bytes.getUint8(from) !== 0x30)
}

const isDigit = (char: number): boolean => char >= 0x30 && char <= 0x39

function closingQuote(chars: string, from: number, to: number): number {
  for (let at = from; at < to; at++) {
    const char = chars.charCodeAt(at)
    if (char === QUOTE) return at
    if (char === BACKSLASH) at++
  }
  return -1
}

/** Compares four doubles per step, in half the time of one per step. */
function isSame(fixed: DataView, piece: number, bytes: DataView, at: number, length: number): boolean {
  if (length < 8) {
    for (let k = 0; k < length; k++) if (fixed.getUint8(piece + k) !== bytes.getUint8(at + k)) return false
    return true
  }
  const last = length - 8
  let k = 0
  for (; k + 32 <= last; k += 32) {
    const ours = piece + k
    const theirs = at + k
    if (
      fixed.getFloat64(ours, true) !== bytes.getFloat64(theirs, true) ||
      fixed.getFloat64(ours + 8, true) !== bytes.getFloat64(theirs + 8, true) ||
      fixed.getFloat64(ours + 16, true) !== bytes.getFloat64(theirs + 16, true) ||
      fixed.getFloat64(ours + 24, true) !== bytes.getFloat64(theirs + 24, true)
    )
      return false
  }
  for (; k < last; k += 8) if (fixed.getFloat64(piece + k, true) !== bytes.getFloat64(at + k, true)) return false
  // The last double may overlap the one before.
  return fixed.getFloat64(piece + last, true) === bytes.getFloat64(at + last, true)
}

const run: EventRun = { end: 0, count: 0, chars: 0, isWide: false, starts: new Int32Array(sampleSize) }

/**
 * Matches the events from `at` to `end`, up to the first one that differs from the template. The start and end of each text to erase,
 * or of each reported text, are appended to `places`. A reported text is never empty, and its escapes are those of `JSON.stringify`.
 *
 * @returns an object that is reused: valid until the next call
 */
export function matchEvents(
  template: EventTemplate,
  bytes: DataView,
  end: number,
  at: number,
  places: number[],
): EventRun {
  const { bytes: fixed, pieces, erasedPiece, erasedAt, reportedPiece } = template
  const size = pieces.length
  let from = at
  let count = 0
  let extraBytes = 0
  let isWide = false
  events: for (;;) {
    const limit = Math.min(end, from + maxLength)
    let to = from
    let erasedFrom = -1
    let textStart = 0
    let textEnd = 0
    let wide = 0
    let hasWide = false
    for (let i = 0; i < size; i += 3) {
      const piece = pieces[i] as number
      const length = (pieces[i + 1] as number) - piece
      if (to + length > limit) break events
      if (i === erasedPiece) erasedFrom = to + erasedAt
      if (!isSame(fixed, piece, bytes, to, length)) break events
      to += length
      switch (pieces[i + 2]) {
        case reportedText:
        case ignoredText: {
          const textFrom = to
          for (; ; to++) {
            if (to >= limit) break events
            const byte = bytes.getUint8(to)
            if (byte === QUOTE) break
            // A text contains no line end.
            if (byte < SPACE) break events
            if (byte === BACKSLASH) {
              to++
              if (to >= limit) break events
              const escaped = bytes.getUint8(to)
              if (escaped < SPACE || (reportedPiece >= 0 && !isUsualEscape(escaped))) break events
            } else if (byte > 0x7f) {
              hasWide = true
              wide += byte < 0xc0 ? 1 : byte < 0xf0 ? 0 : -1
            }
          }
          if (i === reportedPiece) {
            if (to === textFrom) break events
            textEnd = to
            textStart = textFrom
          }
          break
        }
        case ignoredNumber: {
          const numberFrom = to
          while (to < limit && isNumeric(bytes.getUint8(to))) to++
          // Pass-through forwards the number as it is. A translation leaves it out, so invalid JSON would go unnoticed.
          if (reportedPiece >= 0 && !isInteger(bytes, numberFrom, to)) break events
          break
        }
        case padding:
          while (to < limit && bytes.getUint8(to) === SPACE) to++
          break
        default:
      }
    }
    run.starts[count & (sampleSize - 1)] = from
    count++
    extraBytes += wide
    isWide ||= hasWide
    if (erasedFrom >= 0) places.push(erasedFrom, erasedFrom + template.erasedLength)
    else if (reportedPiece >= 0) places.push(textStart, textEnd)
    from = to
  }
  run.end = from
  run.count = count
  run.chars = from - at - count * template.frameBytes - extraBytes
  run.isWide = isWide
  return run
}

/** Bytes that are copied there need no DataView of their own. */
const scratch = new Uint8Array(16_384)
const scratchView = new DataView(scratch.buffer)

/** Returns a view of bytes, valid until the next call. */
export function viewOf(bytes: Uint8Array): DataView {
  if (bytes.length > scratch.length) return new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  scratch.set(bytes)
  return scratchView
}
