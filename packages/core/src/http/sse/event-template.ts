/**
 * The events of a stream are cast in one mould: one differs from the next by the few words it adds, and perhaps by a number.
 * Of an event that told its reader nothing, all that follow in the same mould tell nothing either. Finding that out by
 * comparing bytes costs a hundredth of what decoding and looking at each event does.
 */
export interface EventTemplate {
  /** The event's own bytes, blank line included. */
  readonly bytes: DataView
  /** In threes: where a piece that is the same in all events begins and ends within `own`, and what stands behind it. */
  readonly pieces: readonly number[]
  /** Bytes of an event beside its data. */
  readonly frameBytes: number
  /** The piece within which something is to be taken out of each event, by its index in `plan`; -1 if nothing is. */
  readonly gapPiece: number
  /** Where in that piece, and how many bytes. */
  readonly gapAt: number
  readonly gapLength: number
}

/** What is learned of events, and for whom. */
export interface EventTemplateOptions {
  /** The members whose texts or numbers may differ from event to event. */
  readonly varyingMembers: ReadonlySet<string>
  /** A text without which no event may pass. */
  readonly mark?: string | undefined
  /** A text to take out of each event. */
  readonly erase?: string | undefined
}

/** Events that passed in one mould, on end. */
export interface EventRun {
  /** Where the last of them ends. */
  end: number
  count: number
  /** Characters of their data. */
  chars: number
  /** Where the last few of them begin; the place of the `n`th, from 0, is `n & (sampled - 1)`. */
  readonly starts: Int32Array
}

/** How many events of a run are known one by one. A power of two. */
export const sampleSize = 8

/** Longer events are few, and are looked at one by one. */
const maxLength = 8192

const text = 0
const number = 1
const blanks = 2
const nothing = 3

const LF = 10
const SPACE = 0x20
const QUOTE = 0x22
const COLON = 0x3a
const BACKSLASH = 0x5c

const isNumeric = (char: number): boolean =>
  (char >= 0x30 && char <= 0x39) || char === 0x2d || char === 0x2e || char === 0x2b || char === 0x65 || char === 0x45

/** As many characters as bytes, whatever they are: only ASCII is looked for. */
const byteByByte = new TextDecoder('latin1')

/**
 * The mould of the one event that `block` holds, or undefined if it is none that others could be cast in.
 *
 * @param written the block as text
 * @param data the event's data, as decoded
 */
export function createEventTemplate(
  block: Uint8Array,
  written: string,
  data: string,
  moulding: EventTemplateOptions,
): EventTemplate | undefined {
  const { length } = block
  const { varyingMembers: varying, mark, erase } = moulding
  if (length > maxLength || data === '' || (mark !== undefined && !data.includes(mark))) return undefined
  const from = written.indexOf(data)
  if (from < 0) return undefined
  const to = length - (written.length - from - data.length)
  const shown = written.length === length ? written : byteByByte.decode(block)
  const plan = planOf(shown, from, to, varying)
  if (plan === undefined) return undefined
  // What must be there in each event must be in what they have in common.
  if (mark !== undefined && pieceOf(plan, shown.indexOf(mark, from), mark.length) < 0) return undefined
  const gapLength = erase?.length ?? 0
  const gap = erase === undefined ? -1 : shown.indexOf(erase)
  const gapPiece = pieceOf(plan, gap, gapLength)
  if (gap >= 0 && (gapPiece < 0 || shown.includes(erase as string, gap + gapLength))) return undefined
  const own = new Uint8Array(length)
  own.set(block)
  return {
    bytes: new DataView(own.buffer),
    pieces: plan,
    frameBytes: length - (to - from),
    gapPiece,
    gapAt: gapPiece < 0 ? 0 : gap - (plan[gapPiece] as number),
    gapLength,
  }
}

/** The index in the plan of the piece that holds all of a text, or -1. */
function pieceOf(plan: readonly number[], at: number, length: number): number {
  if (at >= 0)
    for (let i = 0; i < plan.length; i += 3)
      if (at >= (plan[i] as number) && at + length <= (plan[i + 1] as number)) return i
  return -1
}

function planOf(shown: string, from: number, to: number, varying: ReadonlySet<string>): number[] | undefined {
  const plan: number[] = []
  let piece = 0
  let varies = false
  for (let at = from; at < to; at++) {
    const char = shown.charCodeAt(at)
    if (char === QUOTE) {
      const close = closingQuote(shown, at + 1, to)
      if (close < 0) return undefined
      if (varies) {
        plan.push(piece, at + 1, text)
        piece = close
      }
      varies = !varies && shown.charCodeAt(close + 1) === COLON && varying.has(shown.slice(at + 1, close))
      at = close
    } else if (varies && isNumeric(char)) {
      plan.push(piece, at, number)
      while (isNumeric(shown.charCodeAt(at + 1))) at++
      piece = at + 1
      varies = false
    } else if (char !== COLON && char !== SPACE) varies = false
  }
  if (plan.length === 0) return undefined
  // Some upstreams fill their events up with blanks, so that nobody learns from their lengths.
  let close = to - 1
  while (close > piece && shown.charCodeAt(close) === SPACE) close--
  let filled = close
  while (filled > piece && shown.charCodeAt(filled - 1) === SPACE) filled--
  if (filled < close) {
    plan.push(piece, filled, blanks)
    piece = close
  }
  plan.push(piece, shown.length, nothing)
  // Bytes are compared as numbers, eight at a time: those that make no number would never be equal to themselves.
  for (let i = 0; i < plan.length; i += 3)
    for (let at = plan[i] as number; at < (plan[i + 1] as number); at++)
      if (shown.charCodeAt(at) > 0x7e || shown.charCodeAt(at) < LF) return undefined
  return plan
}

function closingQuote(shown: string, from: number, to: number): number {
  for (let at = from; at < to; at++) {
    const char = shown.charCodeAt(at)
    if (char === QUOTE) return at
    if (char === BACKSLASH) at++
  }
  return -1
}

/** Four numbers of eight bytes to a step: half the time of one to a step. */
function isSame(own: DataView, piece: number, bytes: DataView, at: number, length: number): boolean {
  if (length < 8) {
    for (let k = 0; k < length; k++) if (own.getUint8(piece + k) !== bytes.getUint8(at + k)) return false
    return true
  }
  const last = length - 8
  let k = 0
  for (; k + 32 <= last; k += 32) {
    const ours = piece + k
    const theirs = at + k
    if (
      own.getFloat64(ours, true) !== bytes.getFloat64(theirs, true) ||
      own.getFloat64(ours + 8, true) !== bytes.getFloat64(theirs + 8, true) ||
      own.getFloat64(ours + 16, true) !== bytes.getFloat64(theirs + 16, true) ||
      own.getFloat64(ours + 24, true) !== bytes.getFloat64(theirs + 24, true)
    )
      return false
  }
  for (; k < last; k += 8) if (own.getFloat64(piece + k, true) !== bytes.getFloat64(at + k, true)) return false
  // The last number may reach back into the one before.
  return own.getFloat64(piece + last, true) === bytes.getFloat64(at + last, true)
}

const run: EventRun = { end: 0, count: 0, chars: 0, starts: new Int32Array(sampleSize) }

/**
 * Goes over the events from `at` to `end`, for as long as they are of this mould. What is to be taken out of them is added to
 * `gaps`, as beginnings and ends.
 *
 * @returns one object for all calls, good until the next
 */
export function matchEvents(mould: EventTemplate, bytes: DataView, end: number, at: number, gaps: number[]): EventRun {
  const { bytes: own, pieces: plan, gapPiece, gapAt } = mould
  const size = plan.length
  let from = at
  let count = 0
  let beyond = 0
  events: for (;;) {
    const limit = Math.min(end, from + maxLength)
    let to = from
    let gap = -1
    let wide = 0
    for (let i = 0; i < size; i += 3) {
      const piece = plan[i] as number
      const length = (plan[i + 1] as number) - piece
      if (to + length > limit) break events
      if (i === gapPiece) gap = to + gapAt
      if (!isSame(own, piece, bytes, to, length)) break events
      to += length
      switch (plan[i + 2]) {
        case text:
          for (; ; to++) {
            if (to >= limit) break events
            const byte = bytes.getUint8(to)
            if (byte === QUOTE) break
            // No line ends within a text.
            if (byte < SPACE) break events
            if (byte === BACKSLASH) {
              to++
              if (to >= limit || bytes.getUint8(to) < SPACE) break events
            } else if (byte > 0x7f) wide += byte < 0xc0 ? 1 : byte < 0xf0 ? 0 : -1
          }
          break
        case number:
          while (to < limit && isNumeric(bytes.getUint8(to))) to++
          break
        case blanks:
          while (to < limit && bytes.getUint8(to) === SPACE) to++
          break
        default:
      }
    }
    run.starts[count & (sampleSize - 1)] = from
    count++
    beyond += wide
    if (gap >= 0) gaps.push(gap, gap + mould.gapLength)
    from = to
  }
  run.end = from
  run.count = count
  run.chars = from - at - count * mould.frameBytes - beyond
  return run
}
