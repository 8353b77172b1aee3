import type { OutputEstimator } from '../accounting/estimate-output.ts'
import { quoteText } from '../base/json/json.ts'
import { parseJson } from '../base/json/parse.ts'
import type { ModelEvent } from '../formats/ir.ts'
import type { StreamDecoder, StreamEncoder, TextForm } from '../formats/stream-codec.ts'
import { encodeText } from '../http/sse/encode.ts'
import { createTextTemplate, type EventTemplate, matchEvents } from '../http/sse/event-template.ts'
import type { SseEvent } from '../http/sse/sse.ts'
import type { Redactor } from '../upstreams/redaction/redactor.ts'

export interface TextRunsOptions {
  readonly decode: StreamDecoder
  readonly encode: StreamEncoder
  readonly estimator: OutputEstimator
  readonly redactor: Redactor
  /** A text that an event must contain to be estimated. */
  readonly mark: string | undefined
}

/** What the client's encoder writes for a text delta: one event, up to its text and after it. */
interface ClientForm {
  readonly event: string | undefined
  /** The data up to the text. In a format with numbered events, only up to the number. */
  readonly before: string
  /** The data between the number and the text; undefined if events have no number. */
  readonly afterNumber: string | undefined
  readonly after: string
  /** The same as whole server-sent events. */
  readonly bytes: { readonly before: Uint8Array; readonly afterNumber: Uint8Array; readonly after: Uint8Array }
}

/** Forms that no event has used, after which a stream gets no further ones: its events differ too much. */
const maxUnusedForms = 16
/** Events in a chunk, and bytes in a chunk without a known form, from which on a run is faster. */
const minEvents = 3
const minLearned = 1024
/** Events of one chunk that are decoded one by one in the hope that the next ones have the same form. */
const maxAttempts = 8

/**
 * Translates consecutive text deltas at once. Most events of a stream differ only in their text, and so do the client's events:
 *
 *     upstream   {"delta":{"text":"Hel"}}        {"delta":{"text":"lo"}}
 *     places                      ^^^                            ^^
 *     codecs     decode one delta "Hello", and encode it: {"content":"Hello"}
 *     client     {"content":"Hel"}               {"content":"lo"}
 *
 * The codecs see one delta with all texts, so they count, collect and report what they always do, and the client still gets one event for
 * each event of the upstream. The texts are copied as bytes, with their escapes. docs/internals/optimizations.md states the effect.
 */
export class TextRuns {
  readonly #options: TextRunsOptions
  #upstreamForm: TextForm | undefined
  #template: EventTemplate | undefined
  #clientForm: ClientForm | undefined
  #unusedForms = 0
  /** Attempts left in the current chunk. */
  #attempts = 0

  constructor(options: TextRunsOptions) {
    this.#options = options
  }

  /** Begins a chunk of whole events. Returns false if it is too short for a run: its events are decoded faster one by one. */
  beginChunk(length: number): boolean {
    this.#attempts = this.#unusedForms < maxUnusedForms ? maxAttempts : 0
    const eventLength = this.#isCurrent ? this.#template?.bytes.byteLength : undefined
    return eventLength === undefined ? this.#attempts > 0 && length >= minLearned : length >= minEvents * eventLength
  }

  get #isCurrent(): boolean {
    return this.#upstreamForm !== undefined && this.#options.decode.textForm?.() === this.#upstreamForm
  }

  /** True if the next event should be decoded alone, to learn its form. */
  get canLearn(): boolean {
    return this.#attempts > 0
  }

  /**
   * Notes the form of an event that was decoded and encoded as usual.
   *
   * @param block the event's bytes with its blank line
   * @param delta the only IR event that was decoded
   * @param written the events that the encoder wrote for it
   */
  learn(block: Uint8Array, { data }: SseEvent, delta: ModelEvent | undefined, written: readonly SseEvent[]): void {
    this.#attempts--
    const { decode, mark } = this.#options
    const textForm = decode.textForm?.()
    if (textForm === this.#upstreamForm) return
    this.#upstreamForm = undefined
    if (textForm === undefined || delta?.type !== 'part-delta' || !('text' in delta.delta) || delta.delta.text === '')
      return
    if (mark !== undefined && !textForm.pieces.some((piece) => piece.includes(mark))) return
    // An encoder that writes nothing may keep each delta for later, to write one event for each.
    const client = this.#createClientForm(written, delta.delta.text)
    if (client === undefined) return
    const template = templateOf(block, data, textForm)
    if (template === undefined) return
    this.#unusedForms++
    this.#upstreamForm = textForm
    this.#template = template
    this.#clientForm = client
  }

  /**
   * Translates the events from `at` on that have the learned form.
   *
   * @param view of the same bytes
   * @param write receives the client's events
   * @returns the position of the first event of another form
   */
  run(bytes: Uint8Array, view: DataView, at: number, write: (bytes: Uint8Array) => void): number {
    const template = this.#template
    const client = this.#clientForm
    if (template === undefined || client === undefined || !this.#isCurrent) return at
    const { decode, encode, estimator, redactor } = this.#options
    places.length = 0
    const run = matchEvents(template, view, bytes.length, at, places)
    if (run.count === 0) return at
    const raw = joinTexts(bytes, places, run.isWide)
    // Bytes that are not UTF-8 become replacement characters, and secrets are removed, where events are decoded one by one.
    if (raw === undefined) return at
    const text = unquote(raw)
    if (redactor.hasCredential(text)) return at
    this.#unusedForms = 0
    this.#attempts = maxAttempts
    const { end, count } = run
    estimator.addRun(bytes, run)
    const { sequence } = encode
    const first = sequence?.next ?? 0
    const written = (decode.repeat?.(text) ?? []).flatMap((event) => encode.push(event))
    if (written.length === 1 && isOfForm(written[0] as SseEvent, client, raw, first)) {
      if (sequence !== undefined && client.afterNumber !== undefined) sequence.next = first + count
      write(writeEvents(bytes, places, client, first))
    } else {
      // The encoder added fields of its own to this event. The next one has another form again.
      for (const event of written) write(encodeText(sseText(event)))
      this.#upstreamForm = undefined
    }
    return end
  }

  #createClientForm(written: readonly SseEvent[], text: string): ClientForm | undefined {
    const [{ event, data } = { event: undefined, data: '' }] = written
    const quoted = quoteText(text)
    const at = data.indexOf(quoted)
    if (written.length !== 1 || at < 0 || at !== data.lastIndexOf(quoted)) return undefined
    let before = data.slice(0, at + 1)
    const after = data.slice(at + quoted.length - 1)
    let afterNumber: string | undefined
    const { sequence } = this.#options.encode
    if (sequence !== undefined) {
      const number = `${sequenceMember}${sequence.next - 1}`
      const place = before.indexOf(number)
      if (place < 0) return undefined
      afterNumber = before.slice(place + number.length)
      before = before.slice(0, place + sequenceMember.length)
    }
    const head = `${event === undefined ? '' : `event: ${event}\n`}data: ${before}`
    const bytes = {
      before: encodeText(head),
      afterNumber: encodeText(afterNumber ?? ''),
      after: encodeText(`${after}\n\n`),
    }
    return { event, before, afterNumber, after, bytes }
  }
}

const sequenceMember = '"sequence_number":'

/** Starts and ends of the texts of the current run. One list for all streams: `run` is synchronous. */
const places: number[] = []

/** Returns the template of an event's bytes, or undefined if they hold more than one line of data, or lines of other fields. */
function templateOf(block: Uint8Array, data: string, { pieces, gaps }: TextForm): EventTemplate | undefined {
  const text = decoder.decode(block)
  const from = text.indexOf(data)
  if (from < 0) return undefined
  const head = text.slice(0, from)
  const tail = text.slice(from + data.length)
  if (!usualHead.test(head) || tail !== '\n\n') return undefined
  const whole = [...pieces]
  whole[0] = head + whole[0]
  whole[whole.length - 1] += tail
  return createTextTemplate(whole, gaps, head.length + tail.length)
}

const usualHead = /^(?:event: ?[a-z_.]+\n)?data: ?$/

const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
const strictDecoder = new TextDecoder('utf-8', { ignoreBOM: true, fatal: true })

/** Returns the texts of a run, joined and with their escapes; undefined if one of them is not UTF-8. */
function joinTexts(bytes: Uint8Array, texts: readonly number[], isWide: boolean): string | undefined {
  let length = 0
  for (let i = 0; i < texts.length; i += 2) length += (texts[i + 1] as number) - (texts[i] as number)
  const joined = new Uint8Array(length)
  let at = 0
  for (let i = 0; i < texts.length; i += 2) {
    const to = texts[i + 1] as number
    // A text that begins within a character: joined to the one before it, it could be valid.
    if (isWide && isContinuation(bytes[texts[i] as number] as number)) return undefined
    // Texts are short: a call of `set` would take longer.
    for (let from = texts[i] as number; from < to; from++) joined[at++] = bytes[from] as number
  }
  if (!isWide) return decoder.decode(joined)
  try {
    return strictDecoder.decode(joined)
  } catch {
    return undefined
  }
}

const isContinuation = (byte: number): boolean => byte >= 0x80 && byte < 0xc0

const unquote = (raw: string): string => (raw.includes('\\') ? String(parseJson(`"${raw}"`)) : raw)

/**
 * Returns whether an event has the learned form. Fields that the encoder adds to one event must not be repeated.
 *
 * @param raw the text with its escapes
 */
function isOfForm({ event, data }: SseEvent, client: ClientForm, raw: string, number: number): boolean {
  const { afterNumber, after } = client
  const before = afterNumber === undefined ? client.before : client.before + number + afterNumber
  return (
    event === client.event &&
    data.length === before.length + raw.length + after.length &&
    data.slice(0, before.length) === before &&
    data.slice(data.length - after.length) === after
  )
}

const sseText = ({ event, data }: SseEvent): string =>
  `${event === undefined ? '' : `event: ${event}\n`}data: ${data}\n\n`

/** Writes one event of the client for each text. */
function writeEvents(
  source: Uint8Array,
  texts: readonly number[],
  { bytes, afterNumber }: ClientForm,
  first: number,
): Uint8Array {
  const numbered = afterNumber !== undefined
  const count = texts.length / 2
  let length = count * (bytes.before.length + bytes.afterNumber.length + bytes.after.length)
  for (let i = 0; i < texts.length; i += 2) length += (texts[i + 1] as number) - (texts[i] as number)
  if (numbered) for (let n = 0; n < count; n++) length += String(first + n).length
  const out = new Uint8Array(length)
  let at = 0
  for (let n = 0; n < count; n++) {
    out.set(bytes.before, at)
    at += bytes.before.length
    if (numbered) {
      const digits = String(first + n)
      for (let i = 0; i < digits.length; i++) out[at++] = digits.charCodeAt(i)
      out.set(bytes.afterNumber, at)
      at += bytes.afterNumber.length
    }
    const to = texts[2 * n + 1] as number
    for (let from = texts[2 * n] as number; from < to; from++) out[at++] = source[from] as number
    out.set(bytes.after, at)
    at += bytes.after.length
  }
  return out
}
