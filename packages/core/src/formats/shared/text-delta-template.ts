import type { JsonObject } from '../../base/json/json.ts'
import { parseJson, parseObject } from '../../base/json/parse.ts'
import type { EventGap } from '../../http/sse/event-template.ts'
import type { SseEvent } from '../../http/sse/sse.ts'
import type { ModelEvent, TextDelta } from '../ir.ts'
import type { TextForm } from '../stream-codec.ts'

const QUOTE = 0x22
const COLON = 0x3a
const BACKSLASH = 0x5c
const SPACE = 0x20
const ZERO = 0x30
const DOT = 0x2e
const LETTER_E = 0x65
const OPEN = 0x7b
const CLOSE = 0x7d

/** What stands between fixed pieces; `count`: a usage count. */
type Gap = EventGap | 'count'

/** The member in which each event repeats the usage so far, and the counts in it that grow. */
export interface RunningUsage {
  readonly key: string
  readonly counts: ReadonlySet<string>
}

/** Building a template costs as much as two matches save. After too many unused templates a stream builds no more. */
const templateCost = 2
const maxUnusedCost = 16
/** Longer events get no template: the JSON parser finds the end of a long text faster. */
const maxLength = 8192
/** V8 copies substrings up to this length. A longer one would keep the whole chunk in memory that it was cut from. */
const maxCopied = 12

/**
 * Decodes text deltas without parsing JSON.
 *
 * Most events of a stream differ from the previous event only in the added text, and perhaps in a count. The decoder parses one
 * event and learns a template from it: fixed pieces, and gaps between them.
 *
 *     parsed event    {"index":0,"delta":{"text":"Hello"},"usage":{"output":7}}
 *     fixed pieces    {"index":0,"delta":{"text":"     "},"usage":{"output": }}
 *     gaps                                       ^ text                     ^ count
 *     next event      {"index":0,"delta":{"text":" world"},"usage":{"output":8}}   same pieces: the delta is " world"
 *     other event     {"index":0,"delta":{"text":"!","x":1}}                       other pieces: parsed, new template
 *
 * This class works on one decoded event. `lanes/text-runs.ts` makes its `form` a template of bytes (`http/sse/event-template.ts`), which
 * matches many events of a chunk at once. What remains are events that repeat usage, single events and short chunks.
 */
export class TextDeltaTemplate {
  /** The usage in the last matched event; undefined if it has none. */
  usage: JsonObject | undefined
  /** Top-level members whose texts and numbers are ignored. */
  readonly #ignored: ReadonlySet<string>
  readonly #running: RunningUsage | undefined
  #plan: Plan | undefined
  #name: string | undefined
  #choice = 0
  #part = 0
  #type: TextDelta['type'] = 'text'
  /** Cost of templates that no event has used yet. */
  #unusedCost = 0

  constructor(ignored: ReadonlySet<string>, running?: RunningUsage) {
    this.#ignored = ignored
    this.#running = running
  }

  /** The kind of text that the template adds. */
  get type(): TextDelta['type'] {
    return this.#type
  }

  get choice(): number {
    return this.#choice
  }

  /** The form of the last event, without which no event may repeat usage. */
  get form(): TextForm | undefined {
    return this.#plan?.form
  }

  /** Returns the added text of an event that matches, never empty; undefined for any other event. */
  read({ event, data }: SseEvent): string | undefined {
    const plan = this.#plan
    if (plan === undefined || event !== this.#name || data.length > maxLength) return undefined
    const { pieces, gaps, counts } = plan
    const usage = plan.usage === undefined ? undefined : { ...plan.usage }
    let counted = 0
    let at = 0
    let text: string | undefined
    for (let i = 0; i < pieces.length; i++) {
      const piece = pieces[i] as string
      const from = at + piece.length
      // `startsWith` compares one character at a time, and takes five times as long.
      if (data.slice(at, from) !== piece) return undefined
      at = from
      switch (gaps[i]) {
        case 'text':
          at = endOfString(data, at)
          if (at <= from) return undefined
          text = decodeText(data, from, at)
          if (text === undefined) return undefined
          break
        case 'ignored-text':
          at = endOfString(data, at)
          if (at < 0 || data.slice(from, at).includes('\\')) return undefined
          break
        case 'count':
        case 'ignored-number':
          at = endOfNumber(data, at)
          if (at < 0) return undefined
          if (gaps[i] === 'count' && usage !== undefined) usage[counts[counted++] as string] = integer(data, from, at)
          break
        default:
      }
    }
    if (at !== data.length) return undefined
    this.usage = usage
    return text
  }

  /** Returns the IR event of the last matched event. */
  delta(text: string): ModelEvent {
    if (this.#unusedCost > 0) this.#unusedCost--
    return { type: 'part-delta', choice: this.#choice, part: this.#part, delta: { type: this.#type, text } }
  }

  /**
   * Builds the template from an event that was parsed, or drops it if the event is no plain text delta.
   *
   * @param key the member that holds the text; undefined if no single member does
   * @param decoded the IR events of this event. Only one delta, with the usage if there is one, makes a template
   */
  learn({ event, data }: SseEvent, key: string | undefined, decoded: readonly ModelEvent[]): void {
    this.#plan = undefined
    const [first, second] = decoded
    if (key === undefined || first?.type !== 'part-delta' || data.length > maxLength) return
    const { choice, part, delta } = first
    if (!('text' in delta) || delta.logprobs !== undefined || this.#unusedCost >= maxUnusedCost) return
    this.#unusedCost += templateCost
    const plan = planOf(data, key, delta.text, this.#ignored, this.#running)
    const usages = plan?.usage === undefined ? 0 : 1
    if (decoded.length !== 1 + usages || (usages === 1 && second?.type !== 'usage')) return
    this.#plan = plan
    this.#name = event
    this.#choice = choice
    this.#part = part
    this.#type = delta.type
  }
}

interface Plan {
  /** The fixed pieces, and the kind of gap after each. */
  readonly pieces: string[]
  readonly gaps: Gap[]
  /** The usage of the parsed event, and the names of its counts, in order. */
  usage: JsonObject | undefined
  readonly counts: string[]
  /** The same without usage: undefined if the event repeats it. */
  form?: TextForm
}

/** Returns undefined if more than one member could hold the text. */
function planOf(
  data: string,
  key: string,
  text: string,
  ignored: ReadonlySet<string>,
  running: RunningUsage | undefined,
): Plan | undefined {
  const plan: Plan = { pieces: [], gaps: [], usage: undefined, counts: [] }
  let piece = 0
  const cut = (from: number, to: number, gap: Gap): void => {
    plan.pieces.push(data.slice(piece, from))
    plan.gaps.push(gap)
    piece = to
  }
  let texts = 0
  let depth = 0
  /** End of the usage object, once it was found. */
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
    const close = endOfString(data, at + 1)
    if (close < 0) return undefined
    const colon = skipSpaces(data, close + 1)
    if (data.charCodeAt(colon) !== COLON) {
      at = close + 1
      continue
    }
    const name = data.slice(at + 1, close)
    // The same name could also be written without the escape.
    if (name.includes('\\')) return undefined
    at = skipSpaces(data, colon + 1)
    const char = data.charCodeAt(at)
    if (char === QUOTE) {
      const end = endOfString(data, at + 1)
      if (end < 0) return undefined
      if (depth === 1 && ignored.has(name)) cut(at + 1, end, 'ignored-text')
      else if (name === key && parseJson(data.slice(at, end + 1)) === text) {
        texts++
        cut(at + 1, end, 'text')
      }
      at = end + 1
    } else if (char === OPEN && depth === 1 && name === running?.key) {
      if (usageEnd >= 0) return undefined
      usageEnd = endOfObject(data, at)
      plan.usage = parseObject(data.slice(at, usageEnd))
    } else if (depth === 1 ? ignored.has(name) : depth === 2 && at < usageEnd && running?.counts.has(name)) {
      const end = endOfNumber(data, at)
      if (end < 0) continue
      cut(at, end, depth === 1 ? 'ignored-number' : 'count')
      if (depth === 2) plan.counts.push(name)
      at = end
    }
  }
  if (texts !== 1) return undefined
  cut(data.length, data.length, 'end')
  const { pieces, gaps } = plan
  if (plan.usage === undefined && gaps.every((gap) => gap !== 'count')) plan.form = { pieces, gaps }
  return plan
}

function skipSpaces(data: string, from: number): number {
  let at = from
  while (data.charCodeAt(at) <= SPACE) at++
  return at
}

/** Returns the place of the quote that ends the string around `from`; -1 if there is none. */
function endOfString(data: string, from: number): number {
  for (let at = from; ; at++) {
    const char = data.charCodeAt(at)
    if (char === QUOTE) return at
    // A control character, or NaN after the end of the text.
    if (!(char >= SPACE)) return -1
    if (char === BACKSLASH) at++
  }
}

function endOfNumber(data: string, from: number): number {
  let at = from
  while (isDigit(data.charCodeAt(at))) at++
  // A fraction or an exponent would be cut off.
  if (continuesNumber(data.charCodeAt(at))) return -1
  return at === from || (at > from + 1 && data.charCodeAt(from) === ZERO) ? -1 : at
}

const continuesNumber = (char: number): boolean => char === DOT || (char | 0x20) === LETTER_E

/** Takes a fifth of the time of `Number` on a slice. */
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
      at = endOfString(data, at + 1)
      if (at < 0) return -1
    } else if (char === OPEN) depth++
    else if (char === CLOSE && --depth === 0) return at + 1
  }
  return -1
}

function decodeText(data: string, from: number, to: number): string | undefined {
  if (to - from > maxCopied) return parseJson(data.slice(from - 1, to + 1)) as string | undefined
  const text = data.slice(from, to)
  return text.includes('\\') ? (parseJson(data.slice(from - 1, to + 1)) as string | undefined) : text
}
