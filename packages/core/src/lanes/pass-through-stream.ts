import { createOutputEstimator, type OutputEstimator } from '../accounting/estimate-output.ts'
import { concatBytes } from '../base/bytes.ts'
import type { ErrorInfo } from '../base/errors.ts'
import type { StreamTap, TextFields } from '../formats/codec.ts'
import { blockEnd, createBlockCutter, splitBlocks } from '../http/sse/blocks.ts'
import { createSseDecoder, decodeBlock, eventTooLarge, type SseDecoder } from '../http/sse/decode.ts'
import { encodeAllSse, type SseEvent } from '../http/sse/event.ts'
import {
  createEventTemplate,
  type EventTemplate,
  type EventTemplateOptions,
  matchEvents,
} from '../http/sse/event-template.ts'
import { mayHaveErrorMember, type Redactor } from '../upstreams/redaction/redactor.ts'
import type { ResponseStream } from './lane.ts'

export interface PassThroughStreamOptions {
  readonly tap: StreamTap
  readonly maxEventChars: number
  readonly redactor: Redactor
  readonly textFields?: TextFields | undefined
  /** See WireEdit. */
  readonly erase?: string | undefined
}

const encoder = new TextEncoder()
/** One line of data, and the event's name if it has one. */
const simpleEvent = /^(?:event: ?([a-z_.]*)\r?\n)?data:[^\r\n]*\r?\n\r?\n$/

/**
 * Whether a block can hold nothing but an answer's words and what is known of them: in comments, other fields, further lines of data,
 * under a name that is not what the data says of itself, and where an error is told of, anything may stand.
 */
function isPlain(text: string): boolean {
  const simple = simpleEvent.exec(text)
  const name = simple?.[1]
  return (
    simple !== null &&
    (name === undefined || text.includes(`"type":"${name}"`) || text.includes(`"type": "${name}"`)) &&
    !mayHaveErrorMember(text)
  )
}
/** Of whole blocks: no character straddles two of them. */
const decoder = new TextDecoder('utf-8', { ignoreBOM: true })

/**
 * What becomes of an event: the client's as it is, or with the upstream's secrets taken out; or not the client's, who did not
 * ask for it; or not the client's, with all that stands in front of it; or an error to be told in words that the client knows.
 */
type EventAction = 'pass' | 'redact' | 'withhold' | 'drop' | 'retell'

/**
 * Bytes pass untouched but for what the gateway's own wishes left in them, whole events at a time, so that an error event can
 * follow if the rest never comes. Events in the mould of one that told nothing pass without being looked at.
 */
export const passThroughStream = (options: PassThroughStreamOptions): ResponseStream => new PassThroughStream(options)

class PassThroughStream implements ResponseStream {
  readonly state: StreamTap
  readonly #options: PassThroughStreamOptions
  readonly #said: OutputEstimator
  readonly estimatedTokens: () => number
  readonly #cutter = createBlockCutter()
  readonly #moulds: EventTemplates | undefined
  /** Whether events may pass unseen: none do behind an error. */
  #calm = true
  /** Only for streams that are not all plain blocks. */
  #sse: SseDecoder | undefined
  #begun = false
  readonly #ready: Uint8Array[] = []
  // How far the bytes at hand have been looked at, and given out.
  #at = 0
  #from = 0

  constructor(options: PassThroughStreamOptions) {
    const { tap, textFields } = options
    this.state = tap
    this.#options = options
    this.#said = createOutputEstimator(textFields)
    this.estimatedTokens = this.#said.tokens
    if (tap.varying !== undefined) this.#moulds = new EventTemplates(options, tap.varying, this.#said)
  }

  push(chunk: Uint8Array): void {
    const whole = this.#cutter.push(chunk)
    if (whole !== undefined) this.#pass(whole)
    if (this.#cutter.heldBytes > this.#options.maxEventChars) throw eventTooLarge()
  }

  end(complete?: boolean): void {
    const tap = this.state
    // An event that lacks only its blank line is the client's; half an event is nobody's.
    if (tap.error !== undefined) return
    const rest = this.#cutter.flush()
    const text = rest === undefined ? '' : decoder.decode(rest)
    const events = text === '' && this.#sse === undefined ? [] : this.#last(text)
    const fates = events.map((event) => this.#fateOf(event))
    tap.end?.(complete)
    if (this.#sse?.hasBareObject === true && fates.some((fate) => fate !== 'pass')) {
      // Clients look for events: an error that is none they would read past.
      const told = events.filter((_, place) => fates[place] === 'pass' || fates[place] === 'redact')
      this.#ready.push(this.#redacted(tap.error === undefined ? told : tap.fail(tap.error)))
    } else if (rest !== undefined && events.length > 0) {
      const passed = this.#formed(`${text}\n\n`, fates[0] as EventAction)
      if (passed !== '') this.#ready.push(encoder.encode(passed))
    }
  }

  take(): Uint8Array | undefined {
    if (this.#ready.length < 2) return this.#ready.pop()
    return concatBytes(this.#ready.splice(0))
  }

  heartbeat(): Uint8Array {
    return encoder.encode(encodeAllSse(this.state.heartbeat()))
  }

  fail(error: ErrorInfo): Uint8Array {
    // It may repeat what the upstream said.
    return this.#redacted(this.state.fail(error))
  }

  #redacted(events: readonly SseEvent[]): Uint8Array {
    return encoder.encode(this.#options.redactor.redactEvents(encodeAllSse(events), 'error'))
  }

  #pass(whole: Uint8Array): void {
    const tap = this.state
    this.#at = this.#from = 0
    try {
      while (this.#at < whole.length) {
        if (this.#moulds !== undefined && this.#calm) this.#at = this.#moulds.run(whole, this.#at)
        if (this.#at === whole.length) break
        this.#look(whole)
        this.#calm = tap.error === undefined && tap.failing !== true && this.#sse?.hasBareObject !== true
      }
    } finally {
      viewed = undefined
      this.#hand(whole, this.#at)
    }
  }

  /** Looks at the next event, and at what is no event in front of it. */
  #look(whole: Uint8Array): void {
    const begin = this.#at
    this.#at = blockEnd(whole, begin)
    const block = whole.subarray(begin, this.#at)
    let text = decoder.decode(block)
    // Nothing follows an error.
    if (this.state.error !== undefined) {
      this.#settle(whole, begin, text, '')
      return
    }
    let events = this.#decode(text)
    const [event] = events
    if (event !== undefined && events.length === 1) {
      let own = ''
      let plain = false
      try {
        const fate = this.#fateOf(event)
        plain = this.#isPlain(text, fate, block)
        own = plain ? text : this.#clean(text, fate)
      } finally {
        this.#settle(whole, begin, text, this.#erased(own))
      }
      if (plain) this.#moulds?.learn(block, text, event.data)
      return
    }
    while (events.length === 0 && this.#at < whole.length) {
      const next = blockEnd(whole, this.#at)
      const more = decoder.decode(whole.subarray(this.#at, next))
      this.#at = next
      text += more
      events = this.#decode(more)
    }
    const fates: EventAction[] = []
    try {
      for (const event of events) fates.push(this.#fateOf(event))
    } finally {
      if (fates.length < events.length) fates.push('drop')
      this.#settle(whole, begin, text, this.#sortOut(text, fates))
    }
  }

  #decode(text: string): SseEvent[] {
    const plain = this.#sse === undefined ? decodeBlock(text) : undefined
    const events = plain ?? this.#decoder().pushText(text)
    this.#begun = true
    return events
  }

  #last(text: string): SseEvent[] {
    const sse = this.#decoder()
    return [...sse.pushText(text), ...sse.end()]
  }

  #decoder(): SseDecoder {
    if (this.#sse !== undefined) return this.#sse
    this.#sse = createSseDecoder(this.#options.maxEventChars)
    // What stands in the middle of a stream is no mark at its beginning.
    if (this.#begun) this.#sse.pushText('\n')
    return this.#sse
  }

  #fateOf(event: SseEvent): EventAction {
    const tap = this.state
    if (tap.error !== undefined) return 'drop'
    let keep: boolean
    try {
      keep = tap.push(event)
    } catch (cause) {
      // The answer is whole: nothing that is broken behind its end takes that back.
      if (!tap.ended) throw cause
      return 'drop'
    }
    this.#said.add(event.data)
    if (tap.error === undefined && tap.failing !== true) return keep ? 'pass' : 'withhold'
    if (keep) return 'redact'
    return tap.error === undefined ? 'drop' : 'retell'
  }

  /** What is left of a text of this fate. */
  #formed(text: string, fate: EventAction): string {
    return this.#erased(this.#isPlain(text, fate) ? text : this.#clean(text, fate))
  }

  /** Without the upstream's secrets, where they may stand: what is beside an answer's events is none of its words. */
  #clean(text: string, fate: EventAction): string {
    if (fate === 'drop' || fate === 'withhold') return ''
    if (fate === 'retell') return this.#retold()
    return this.#options.redactor.redactEvents(text, fate === 'redact' ? 'error' : 'plain')
  }

  /** @param block the same text as bytes */
  #isPlain(text: string, fate: EventAction, block?: Uint8Array): boolean {
    if (fate !== 'pass' || this.#sse?.hasBareObject === true || !isPlain(text)) return false
    const { redactor } = this.#options
    return !redactor.hasCredential(text, block === undefined || redactor.mayBeIn(block))
  }

  #retold(): string {
    const { state } = this
    return state.error === undefined
      ? ''
      : this.#options.redactor.redactEvents(encodeAllSse(state.fail(state.error)), 'error')
  }

  #erased(text: string): string {
    const { erase } = this.#options
    return erase === undefined ? text : text.replaceAll(erase, '')
  }

  /** What stands behind an error, or a broken event, is no part of the answer, also if it came in the same chunk. */
  #sortOut(text: string, fates: readonly EventAction[]): string {
    // Nothing that is no event, either, stands between an error and the ending that is to follow it.
    if (fates.length === 0 && this.state.failing === true) return ''
    if (fates.every((fate) => fate === 'pass')) return this.#formed(text, 'pass')
    const own = createSseDecoder(Number.POSITIVE_INFINITY)
    let passed = ''
    let seen = 0
    for (const block of splitBlocks(text)) {
      // A comment shares the fate of the event behind it, but for one in front of all that is dropped.
      let fate = fates[Math.min(seen, fates.length - 1)] as EventAction
      const { length } = own.pushText(block)
      if (length === 0 && fate === 'withhold') fate = 'pass'
      if (length === 0 && fate === 'drop' && seen === 0 && this.state.failing !== true) fate = 'redact'
      if (length === 0 && fate === 'retell') fate = 'redact'
      seen += length
      passed += this.#formed(block, fate)
    }
    return passed
  }

  #settle(whole: Uint8Array, begin: number, text: string, passed: string): void {
    if (passed === '') gaps.push(begin, this.#at)
    else if (passed !== text) {
      this.#hand(whole, begin)
      this.#ready.push(encoder.encode(passed))
      this.#from = this.#at
    }
  }

  /** Gives out what has been looked at. */
  #hand(whole: Uint8Array, to: number): void {
    const bytes = without(whole, this.#from, to, gaps)
    if (bytes !== undefined) this.#ready.push(bytes)
    if (gaps.length > 0) gaps.length = 0
  }
}

/** Of the bytes at hand, what is to be left out: beginnings and ends. Empty between two calls of a stream. */
const gaps: number[] = []

/** What stands between `from` and `to` without the gaps, in one piece; undefined if that is nothing. */
function without(bytes: Uint8Array, from: number, to: number, gaps: readonly number[]): Uint8Array | undefined {
  if (from >= to) return undefined
  const part = from === 0 && to === bytes.length ? bytes : bytes.subarray(from, to)
  if (gaps.length === 0) return part
  const copy = new Uint8Array(part)
  let end = (gaps[0] as number) - from
  for (let i = 1; i < gaps.length; i += 2) {
    const next = i + 1 < gaps.length ? (gaps[i + 1] as number) : to
    const begin = (gaps[i] as number) - from
    copy.copyWithin(end, begin, next - from)
    end += next - from - begin
  }
  return end === 0 ? undefined : copy.subarray(0, end)
}

/** Copied there, bytes need no view of their own. */
const scratch = new Uint8Array(16_384)
const scratchView = new DataView(scratch.buffer)

/** A stream whose events come in ever new moulds is not worth learning from. */
const patience = 16

/** The last two moulds of a stream: reasoning and words, one choice and another. */
class EventTemplates {
  readonly #tap: StreamTap
  readonly #said: OutputEstimator
  readonly #moulding: EventTemplateOptions
  readonly #last: () => string
  #newest: EventTemplate | undefined
  #other: EventTemplate | undefined
  #unused = 0

  constructor(
    { tap, textFields, erase }: PassThroughStreamOptions,
    varying: ReadonlySet<string>,
    said: OutputEstimator,
  ) {
    this.#tap = tap
    this.#said = said
    this.#last = said.last
    this.#moulding = { varyingMembers: varying, mark: textFields?.mark, erase }
  }

  /** Passes what is in the mould of an event seen before. @returns where the first event that is not begins */
  run(whole: Uint8Array, begin: number): number {
    if (this.#newest === undefined) return begin
    const view = viewOf(whole)
    let at = begin
    // As long as one of the two goes on where the other had to stop.
    for (let stuck = 0; stuck < 2 && at < whole.length; stuck++) {
      const run = matchEvents(this.#newest, view, whole.length, at, gaps)
      if (run.count > 0) {
        this.#said.addRun(whole, run)
        at = run.end
        this.#unused = 0
        stuck = 0
        this.#tap.passed?.(this.#last)
      }
      if (at === whole.length || this.#other === undefined) break
      const next: EventTemplate = this.#other
      this.#other = this.#newest
      this.#newest = next
    }
    return at
  }

  learn(block: Uint8Array, text: string, data: string): void {
    if (this.#tap.plain !== true || this.#unused >= patience) return
    const mould = createEventTemplate(block, text, data, this.#moulding)
    if (mould === undefined) return
    this.#unused++
    this.#other = this.#newest
    this.#newest = mould
  }
}

/** A chunk with many events that are unlike each other is looked through again and again. */
let viewed: { readonly bytes: Uint8Array; readonly view: DataView } | undefined

function viewOf(bytes: Uint8Array): DataView {
  if (viewed?.bytes === bytes) return viewed.view
  const small = bytes.length <= scratch.length
  if (small) scratch.set(bytes)
  const view = small ? scratchView : new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  viewed = { bytes, view }
  return view
}
