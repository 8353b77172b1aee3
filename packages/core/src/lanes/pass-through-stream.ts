import { createOutputEstimator, type OutputEstimator } from '../accounting/estimate-output.ts'
import { concatBytes } from '../base/bytes.ts'
import type { ErrorInfo } from '../base/errors.ts'
import type { StreamTap, TextFields } from '../formats/codec.ts'
import { blockEnd, createBlockCutter, splitBlocks } from '../http/sse/blocks.ts'
import { encodeAllSse } from '../http/sse/encode.ts'
import {
  createEventTemplate,
  type EventTemplate,
  type EventTemplateOptions,
  matchEvents,
  viewOf,
} from '../http/sse/event-template.ts'
import { createSseDecoder, decodeBlock, eventTooLarge, type SseDecoder, type SseEvent } from '../http/sse/sse.ts'
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
 * Returns whether a block holds content of the response only. Comments, other fields, further lines of data, names that differ from the
 * data's type, and errors may hold a secret of the upstream.
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
/** Decodes whole blocks: no character is split between two of them. */
const decoder = new TextDecoder('utf-8', { ignoreBOM: true })

/**
 * Handling of an event: `pass` it unchanged, `redact` the upstream's secrets, `withhold` what only the gateway asked for, `drop` it with
 * everything before it, or `rewrite` an error in the client's format.
 */
type EventAction = 'pass' | 'redact' | 'withhold' | 'drop' | 'rewrite'

/**
 * Creates the stream of a pass-through lane. Whole events pass unchanged, except for the traces of the gateway's own edits, so that an error
 * event can follow a truncated stream. Events that match the template of a plain event pass without being decoded:
 *
 *     bytes ─▶ whole blocks ─▶ matches a template? ─ yes ─▶ client
 *                                    └ no ─▶ decode ─▶ tap ─▶ action ─▶ client (a plain event becomes a template)
 */
export const passThroughStream = (options: PassThroughStreamOptions): ResponseStream => new PassThroughStream(options)

class PassThroughStream implements ResponseStream {
  readonly state: StreamTap
  readonly #options: PassThroughStreamOptions
  readonly #estimator: OutputEstimator
  readonly estimatedTokens: () => number
  readonly #cutter = createBlockCutter()
  readonly #templates: EventTemplates | undefined
  /** True if events may match templates. After an error, every event is decoded. */
  #mayMatchTemplates = true
  /** Only for streams that are not all plain blocks. */
  #sse: SseDecoder | undefined
  #hasDecoded = false
  readonly #ready: Uint8Array[] = []
  // Positions in the current bytes: processed, and delivered.
  #at = 0
  #from = 0

  constructor(options: PassThroughStreamOptions) {
    const { tap, textFields } = options
    this.state = tap
    this.#options = options
    this.#estimator = createOutputEstimator(textFields)
    this.estimatedTokens = this.#estimator.tokens
    if (tap.varyingMembers !== undefined)
      this.#templates = new EventTemplates(options, tap.varyingMembers, this.#estimator)
  }

  push(chunk: Uint8Array): void {
    const whole = this.#cutter.push(chunk)
    if (whole !== undefined) this.#pass(whole)
    if (this.#cutter.heldBytes > this.#options.maxEventChars) throw eventTooLarge()
  }

  end(complete?: boolean): void {
    const tap = this.state
    // An event that lacks only its blank line is passed; half an event is not.
    if (tap.error !== undefined) return
    const rest = this.#cutter.flush()
    const text = rest === undefined ? '' : decoder.decode(rest)
    const events = text === '' && this.#sse === undefined ? [] : this.#decodeRest(text)
    const actions = events.map((event) => this.#actionFor(event))
    tap.end?.(complete)
    if (this.#sse?.hasBareObject() === true && actions.some((action) => action !== 'pass')) {
      // A bare JSON error is no event, and clients would ignore it.
      const passed = events.filter((_, place) => actions[place] === 'pass' || actions[place] === 'redact')
      this.#ready.push(this.#encodeRedacted(tap.error === undefined ? passed : tap.fail(tap.error)))
    } else if (rest !== undefined && events.length > 0) {
      const passed = this.#output(`${text}\n\n`, actions[0] as EventAction)
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
    // The message may quote the upstream.
    return this.#encodeRedacted(this.state.fail(error))
  }

  #encodeRedacted(events: readonly SseEvent[]): Uint8Array {
    return encoder.encode(this.#options.redactor.redactEvents(encodeAllSse(events), 'error'))
  }

  #pass(whole: Uint8Array): void {
    const tap = this.state
    this.#at = this.#from = 0
    const view = this.#templates === undefined ? undefined : viewOf(whole)
    try {
      while (this.#at < whole.length) {
        if (this.#templates !== undefined && view !== undefined && this.#mayMatchTemplates)
          this.#at = this.#templates.run(whole, view, this.#at)
        if (this.#at === whole.length) break
        this.#processEvent(whole)
        this.#mayMatchTemplates =
          tap.error === undefined && tap.isFailing !== true && this.#sse?.hasBareObject() !== true
      }
    } finally {
      this.#deliver(whole, this.#at)
    }
  }

  /** Processes the next event, and what precedes it that is no event. */
  #processEvent(whole: Uint8Array): void {
    const begin = this.#at
    this.#at = blockEnd(whole, begin)
    const block = whole.subarray(begin, this.#at)
    let text = decoder.decode(block)
    // Nothing follows an error.
    if (this.state.error !== undefined) {
      this.#deliverText(whole, begin, text, '')
      return
    }
    let events = this.#decode(text)
    const [event] = events
    if (event !== undefined && events.length === 1) {
      let own = ''
      let plain = false
      try {
        const action = this.#actionFor(event)
        plain = this.#isPlain(text, action, block)
        own = plain ? text : this.#redact(text, action)
      } finally {
        this.#deliverText(whole, begin, text, this.#erase(own))
      }
      if (plain) this.#templates?.learn(block, text, event.data)
      return
    }
    while (events.length === 0 && this.#at < whole.length) {
      const next = blockEnd(whole, this.#at)
      const more = decoder.decode(whole.subarray(this.#at, next))
      this.#at = next
      text += more
      events = this.#decode(more)
    }
    const actions: EventAction[] = []
    try {
      for (const event of events) actions.push(this.#actionFor(event))
    } finally {
      if (actions.length < events.length) actions.push('drop')
      this.#deliverText(whole, begin, text, this.#applyActions(text, actions))
    }
  }

  #decode(text: string): SseEvent[] {
    const plain = this.#sse === undefined ? decodeBlock(text) : undefined
    const events = plain ?? this.#decoder().pushText(text)
    this.#hasDecoded = true
    return events
  }

  #decodeRest(text: string): SseEvent[] {
    const sse = this.#decoder()
    return [...sse.pushText(text), ...sse.end()]
  }

  #decoder(): SseDecoder {
    if (this.#sse !== undefined) return this.#sse
    this.#sse = createSseDecoder(this.#options.maxEventChars)
    // In the middle of a stream there is no byte order mark.
    if (this.#hasDecoded) this.#sse.pushText('\n')
    return this.#sse
  }

  #actionFor(event: SseEvent): EventAction {
    const tap = this.state
    if (tap.error !== undefined) return 'drop'
    let keep: boolean
    try {
      keep = tap.push(event)
    } catch (cause) {
      // The response is whole: a broken event after its end does not change that.
      if (!tap.ended) throw cause
      return 'drop'
    }
    this.#estimator.add(event.data)
    if (tap.error === undefined && tap.isFailing !== true) return keep ? 'pass' : 'withhold'
    if (keep) return 'redact'
    return tap.error === undefined ? 'drop' : 'rewrite'
  }

  /** Returns what the client gets of a text with this action. */
  #output(text: string, action: EventAction): string {
    return this.#erase(this.#isPlain(text, action) ? text : this.#redact(text, action))
  }

  /** Removes the upstream's secrets from a text that is not plain. */
  #redact(text: string, action: EventAction): string {
    if (action === 'drop' || action === 'withhold') return ''
    if (action === 'rewrite') return this.#rewritten()
    return this.#options.redactor.redactEvents(text, action === 'redact' ? 'error' : 'plain')
  }

  /** @param block the same text as bytes */
  #isPlain(text: string, action: EventAction, block?: Uint8Array): boolean {
    if (action !== 'pass' || this.#sse?.hasBareObject() === true || !isPlain(text)) return false
    const { redactor } = this.#options
    return !redactor.hasCredential(text, block === undefined || redactor.mayHaveCredential(block))
  }

  #rewritten(): string {
    const { state } = this
    return state.error === undefined
      ? ''
      : this.#options.redactor.redactEvents(encodeAllSse(state.fail(state.error)), 'error')
  }

  #erase(text: string): string {
    const { erase } = this.#options
    return erase === undefined ? text : text.replaceAll(erase, '')
  }

  /** Applies the actions of several events. Nothing after an error or a broken event is part of the response, even in the same chunk. */
  #applyActions(text: string, actions: readonly EventAction[]): string {
    // Nothing passes between an error and the terminal event that follows it.
    if (actions.length === 0 && this.state.isFailing === true) return ''
    if (actions.every((action) => action === 'pass')) return this.#output(text, 'pass')
    const own = createSseDecoder(Number.POSITIVE_INFINITY)
    let passed = ''
    let seen = 0
    for (const block of splitBlocks(text)) {
      // A comment shares the action of the event after it, unless it precedes everything that is dropped.
      let action = actions[Math.min(seen, actions.length - 1)] as EventAction
      const { length } = own.pushText(block)
      if (length === 0 && action === 'withhold') action = 'pass'
      if (length === 0 && action === 'drop' && seen === 0 && this.state.isFailing !== true) action = 'redact'
      if (length === 0 && action === 'rewrite') action = 'redact'
      seen += length
      passed += this.#output(block, action)
    }
    return passed
  }

  #deliverText(whole: Uint8Array, begin: number, text: string, passed: string): void {
    if (passed === '') gaps.push(begin, this.#at)
    else if (passed !== text) {
      this.#deliver(whole, begin)
      this.#ready.push(encoder.encode(passed))
      this.#from = this.#at
    }
  }

  /** Delivers the processed bytes. */
  #deliver(whole: Uint8Array, to: number): void {
    const bytes = without(whole, this.#from, to, gaps)
    if (bytes !== undefined) this.#ready.push(bytes)
    if (gaps.length > 0) gaps.length = 0
  }
}

/** Starts and ends of the ranges of the current bytes that are left out. Empty between two calls of a stream. */
const gaps: number[] = []

/** Returns the bytes between `from` and `to` without the gaps, in one piece; undefined if there are none. */
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

/** Unused templates in a row after which a stream gets no further ones: its events differ too much. */
const maxUnusedTemplates = 16

/** The last two templates of a stream, for example of reasoning and text, or of two choices. */
class EventTemplates {
  readonly #tap: StreamTap
  readonly #estimator: OutputEstimator
  readonly #templateOptions: EventTemplateOptions
  readonly #last: () => string
  #newest: EventTemplate | undefined
  #other: EventTemplate | undefined
  #unused = 0

  constructor(
    { tap, textFields, erase }: PassThroughStreamOptions,
    varying: ReadonlySet<string>,
    estimator: OutputEstimator,
  ) {
    this.#tap = tap
    this.#estimator = estimator
    this.#last = estimator.last
    this.#templateOptions = { varyingMembers: varying, mark: textFields?.mark, erase }
  }

  /** Passes the events that match a template. Returns the position of the first one that does not. */
  run(whole: Uint8Array, view: DataView, begin: number): number {
    if (this.#newest === undefined) return begin
    let at = begin
    // As long as one template continues where the other one stops.
    for (let stuck = 0; stuck < 2 && at < whole.length; stuck++) {
      const run = matchEvents(this.#newest, view, whole.length, at, gaps)
      if (run.count > 0) {
        this.#estimator.addRun(whole, run)
        at = run.end
        this.#unused = 0
        stuck = 0
        this.#tap.onSkipped?.(this.#last)
      }
      if (at === whole.length || this.#other === undefined) break
      const next: EventTemplate = this.#other
      this.#other = this.#newest
      this.#newest = next
    }
    return at
  }

  learn(block: Uint8Array, text: string, data: string): void {
    if (this.#tap.canSkipSimilar !== true || this.#unused >= maxUnusedTemplates) return
    const template = createEventTemplate(block, text, data, this.#templateOptions)
    if (template === undefined) return
    this.#unused++
    this.#other = this.#newest
    this.#newest = template
  }
}
