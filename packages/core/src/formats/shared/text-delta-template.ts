import type { JsonObject } from '../../base/json/types.ts'
import type { SseEvent } from '../../http/sse/event.ts'
import type { ModelEvent, TextDelta } from '../ir.ts'
import { parseJson, parseObject } from './json-text.ts'

const QUOTE = 0x22
const COLON = 0x3a
const BACKSLASH = 0x5c
const SPACE = 0x20
const ZERO = 0x30
const DOT = 0x2e
const LETTER_E = 0x65
const OPEN = 0x7b
const CLOSE = 0x7d

/** What stands between two pieces: the text said, a text or a number that says nothing, a count, or nothing more. */
type Hole = 'text' | 'silent' | 'number' | 'count' | 'end'

/** Where each event tells the usage so far: a member of its own, and the counts in it that grow. */
export interface RunningUsage {
  readonly key: string
  readonly counts: ReadonlySet<string>
}

/** Learning costs as much as is saved with two events: a stream that paid for it too often in vain is not learned from any more. */
const priceOfLearning = 2
const maxVain = 16
/** Longer events are neither learned from nor compared: of a long text, the parser finds the end faster. */
const maxLength = 8192
/** V8 copies shorter substrings; a longer one would keep the whole chunk that it was cut from. */
const maxCopied = 12

/**
 * Most of a stream are events that differ from the one before only in the text they add, and perhaps in a number. Of an event
 * that came to one delta, all that directly follow in the same mould come to the same delta with other text: they need not be
 * parsed. (`http/sse/alike.ts` does the like with the bytes of events that tell nothing.)
 */
export class TextDeltaTemplate {
  /** The usage that the event last read tells; undefined if it tells none. */
  usage: JsonObject | undefined
  /** Members of the event itself whose texts and numbers say nothing. */
  readonly #silent: ReadonlySet<string>
  readonly #running: RunningUsage | undefined
  #plan: Plan | undefined
  #name: string | undefined
  #choice = 0
  #part = 0
  #type: TextDelta['type'] = 'text'
  #vain = 0

  constructor(silent: ReadonlySet<string>, running?: RunningUsage) {
    this.#silent = silent
    this.#running = running
  }

  /** What kind of text the mould is of. */
  get type(): TextDelta['type'] {
    return this.#type
  }

  get choice(): number {
    return this.#choice
  }

  /** The text of an event in the mould, never empty; undefined for any other event. */
  read({ event, data }: SseEvent): string | undefined {
    const plan = this.#plan
    if (plan === undefined || event !== this.#name || data.length > maxLength) return undefined
    const { pieces, holes, counts } = plan
    const usage = plan.usage === undefined ? undefined : { ...plan.usage }
    let counted = 0
    let at = 0
    let text: string | undefined
    for (let i = 0; i < pieces.length; i++) {
      const piece = pieces[i] as string
      const from = at + piece.length
      // Five times as fast as `startsWith`, which compares one character at a time.
      if (data.slice(at, from) !== piece) return undefined
      at = from
      switch (holes[i]) {
        case 'text':
          at = closingQuote(data, at)
          if (at <= from) return undefined
          text = textOf(data, from, at)
          if (text === undefined) return undefined
          break
        case 'silent':
          at = closingQuote(data, at)
          if (at < 0 || data.slice(from, at).includes('\\')) return undefined
          break
        case 'count':
        case 'number':
          at = endOfNumber(data, at)
          if (at < 0) return undefined
          if (holes[i] === 'count' && usage !== undefined) usage[counts[counted++] as string] = integer(data, from, at)
          break
        default:
      }
    }
    if (at !== data.length) return undefined
    this.usage = usage
    if (this.#vain > 0) this.#vain--
    return text
  }

  /** The delta that the event last read comes to. */
  delta(text: string): ModelEvent {
    return { type: 'part-delta', choice: this.#choice, part: this.#part, delta: { type: this.#type, text } }
  }

  /**
   * Takes note of an event that had to be parsed.
   *
   * @param key the member that a text was read from; undefined where it came from no single one
   * @param came what it came to: nothing but a delta, and the usage where it tells that
   */
  learn({ event, data }: SseEvent, key: string | undefined, came: readonly ModelEvent[]): void {
    this.#plan = undefined
    const [first, second] = came
    if (key === undefined || first?.type !== 'part-delta' || data.length > maxLength) return
    const { choice, part, delta } = first
    if (!('text' in delta) || delta.logprobs !== undefined || this.#vain >= maxVain) return
    this.#vain += priceOfLearning
    const plan = planOf(data, key, delta.text, this.#silent, this.#running)
    const usages = plan?.usage === undefined ? 0 : 1
    if (came.length !== 1 + usages || (usages === 1 && second?.type !== 'usage')) return
    this.#plan = plan
    this.#name = event
    this.#choice = choice
    this.#part = part
    this.#type = delta.type
  }
}

interface Plan {
  /** What is the same in all events, in pieces, and what follows each. */
  readonly pieces: string[]
  readonly holes: Hole[]
  /** The usage of the event that was learned from, and the names of the counts in it, in order. */
  usage: JsonObject | undefined
  readonly counts: string[]
}

/** Undefined where it is not certain which member the text was read from. */
function planOf(
  data: string,
  key: string,
  text: string,
  silent: ReadonlySet<string>,
  running: RunningUsage | undefined,
): Plan | undefined {
  const plan: Plan = { pieces: [], holes: [], usage: undefined, counts: [] }
  let piece = 0
  const cut = (from: number, to: number, hole: Hole): void => {
    plan.pieces.push(data.slice(piece, from))
    plan.holes.push(hole)
    piece = to
  }
  let texts = 0
  let depth = 0
  /** Where the usage ends, once it has begun. */
  let usageEnd = -1
  let at = 0
  while (at < data.length) {
    const begin = data.charCodeAt(at)
    if (begin !== QUOTE) {
      if (begin === OPEN) depth++
      else if (begin === CLOSE) depth--
      at++
      continue
    }
    const close = closingQuote(data, at + 1)
    if (close < 0) return undefined
    const colon = behindBlanks(data, close + 1)
    if (data.charCodeAt(colon) !== COLON) {
      at = close + 1
      continue
    }
    const name = data.slice(at + 1, close)
    // Written otherwise it might be the same.
    if (name.includes('\\')) return undefined
    at = behindBlanks(data, colon + 1)
    const char = data.charCodeAt(at)
    if (char === QUOTE) {
      const end = closingQuote(data, at + 1)
      if (end < 0) return undefined
      if (depth === 1 && silent.has(name)) cut(at + 1, end, 'silent')
      else if (name === key && parseJson(data.slice(at, end + 1)) === text) {
        texts++
        cut(at + 1, end, 'text')
      }
      at = end + 1
    } else if (char === OPEN && depth === 1 && name === running?.key) {
      if (usageEnd >= 0) return undefined
      usageEnd = endOfObject(data, at)
      plan.usage = parseObject(data.slice(at, usageEnd))
    } else if (depth === 1 ? silent.has(name) : depth === 2 && at < usageEnd && running?.counts.has(name)) {
      const end = endOfNumber(data, at)
      if (end < 0) continue
      cut(at, end, depth === 1 ? 'number' : 'count')
      if (depth === 2) plan.counts.push(name)
      at = end
    }
  }
  if (texts !== 1) return undefined
  cut(data.length, data.length, 'end')
  return plan
}

function behindBlanks(data: string, from: number): number {
  let at = from
  while (data.charCodeAt(at) <= SPACE) at++
  return at
}

/** Where a string ends that begins before `from`; -1 if it does not, or is none. */
function closingQuote(data: string, from: number): number {
  for (let at = from; ; at++) {
    const char = data.charCodeAt(at)
    if (char === QUOTE) return at
    // Also behind the end, where there is no number.
    if (!(char >= SPACE)) return -1
    if (char === BACKSLASH) at++
  }
}

function endOfNumber(data: string, from: number): number {
  let at = from
  while (isDigit(data.charCodeAt(at))) at++
  // What goes on in a fraction or an exponent would be read as the count without it.
  if (goesOn(data.charCodeAt(at))) return -1
  return at === from || (at > from + 1 && data.charCodeAt(from) === ZERO) ? -1 : at
}

const goesOn = (char: number): boolean => char === DOT || (char | 0x20) === LETTER_E

/** Five times as fast as Number of a slice. */
function integer(data: string, from: number, to: number): number {
  if (to - from > 15) return Number(data.slice(from, to))
  let value = 0
  for (let at = from; at < to; at++) value = value * 10 + data.charCodeAt(at) - ZERO
  return value
}

const isDigit = (char: number): boolean => char >= ZERO && char <= 0x39

function endOfObject(data: string, from: number): number {
  let depth = 0
  for (let at = from; at >= 0 && at < data.length; at++) {
    const char = data.charCodeAt(at)
    if (char === QUOTE) {
      at = closingQuote(data, at + 1)
      if (at < 0) return -1
    } else if (char === OPEN) depth++
    else if (char === CLOSE && --depth === 0) return at + 1
  }
  return -1
}

function textOf(data: string, from: number, to: number): string | undefined {
  if (to - from > maxCopied) return parseJson(data.slice(from - 1, to + 1)) as string | undefined
  const text = data.slice(from, to)
  return text.includes('\\') ? (parseJson(data.slice(from - 1, to + 1)) as string | undefined) : text
}
