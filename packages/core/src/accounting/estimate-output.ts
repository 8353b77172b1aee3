import { type Json, nestsDeeper } from '../base/json/json.ts'
import type { TextFields } from '../formats/codec.ts'
import { type EventRun, sampleSize } from '../http/sse/event-template.ts'
import { createSseDecoder, decodeBlock } from '../http/sse/sse.ts'
import { estimateOutputTokens } from './estimate-body.ts'

/** Estimates the output tokens of a response so far, for responses that end before the upstream reports a count. */
export interface OutputEstimator {
  /** Adds the data of one event. */
  add(data: string): void
  /** Adds events that were not decoded. */
  addRun(bytes: Uint8Array, run: EventRun): void
  /** Returns the data of the last event. */
  readonly last: () => string
  /** Returns the estimated tokens of all events so far. */
  readonly tokens: () => number
}

/**
 * Creates an estimator. To decode every event would cost more than passing it on, and only a stream that breaks off needs an estimate.
 * So the last few events with text are decoded when the estimate is requested, and their mean is used for all events.
 *
 * @param textFields members of events that contain text. Undefined: nothing is estimated
 */
export const createOutputEstimator = (textFields: TextFields | undefined): OutputEstimator =>
  textFields === undefined ? emptyEstimator : new SampleEstimator(textFields)

class SampleEstimator implements OutputEstimator {
  readonly #textFields: TextFields
  /** Ring of the last events: the data of an event, or its length in the held bytes. */
  readonly #events: (string | number)[] = []
  #count = 0
  #chars = 0
  /** A copy of the last events' bytes: references to chunks would keep the memory of whole chunks alive. */
  #held: Uint8Array | undefined
  #end = 0

  constructor(textFields: TextFields) {
    this.#textFields = textFields
  }

  add(data: string): void {
    const { mark } = this.#textFields
    // Events that repeat the whole response would distort the mean.
    if (mark !== undefined && !data.includes(mark)) return
    this.#events[this.#count++ & (sampleSize - 1)] = data
    this.#chars += data.length
  }

  addRun(bytes: Uint8Array, { count, starts, end: to, chars }: EventRun): void {
    const first = Math.max(0, count - sampleSize)
    let from = starts[first & (sampleSize - 1)] as number
    // A full sample replaces all earlier events.
    this.#hold(bytes, from, to, count < sampleSize ? this.#events : noEvents)
    this.#count += first
    for (let n = first + 1; n <= count; n++) {
      const next = n === count ? to : (starts[n & (sampleSize - 1)] as number)
      this.#events[this.#count++ & (sampleSize - 1)] = next - from
      from = next
    }
    this.#chars += chars
  }

  readonly last = (): string => {
    const item = this.#events[(this.#count - 1) & (sampleSize - 1)] ?? ''
    return typeof item === 'number' ? this.#data(item, item) : item
  }

  readonly tokens = (): number => {
    if (this.#count === 0) return 0
    let tokens = 0
    let before = 0
    for (let n = this.#count - 1; n >= Math.max(0, this.#count - sampleSize); n--) {
      const item = this.#events[n & (sampleSize - 1)] as string | number
      if (typeof item === 'number') before += item
      tokens += estimateEvent(typeof item === 'string' ? item : this.#data(before, item), this.#textFields.event)
    }
    // Upper bound: a token has at least one character.
    return Math.min(this.#chars, Math.round((tokens * this.#count) / this.#events.length))
  }

  /** Copies the bytes of events to the held bytes. @param events the held events to keep */
  #hold(bytes: Uint8Array, from: number, to: number, events: readonly (string | number)[]): void {
    const size = to - from
    let held = this.#held
    if (held === undefined || this.#end + size > held.length) {
      let kept = 0
      for (let n = 0; n < events.length; n++) {
        const item = events[n]
        if (typeof item === 'number') kept += item
      }
      if (held !== undefined && kept + size <= held.length) held.copyWithin(0, this.#end - kept, this.#end)
      else {
        const before = held?.subarray(this.#end - kept, this.#end)
        // Little spare room: dropped events free some again, and thousands of streams may each hold such a buffer.
        held = new Uint8Array(Math.max(minHeldBytes, kept + size + ((kept + size) >> 2)))
        if (before !== undefined) held.set(before)
        this.#held = held
      }
      this.#end = kept
    }
    held.set(from === 0 && to === bytes.length ? bytes : bytes.subarray(from, to), this.#end)
    this.#end += size
  }

  /** Decodes the event of `length` bytes that begins `before` bytes before the end of the held bytes. */
  #data(before: number, length: number): string {
    const from = this.#end - before
    const text = decoder.decode(this.#held?.subarray(from, from + length))
    // A new decoder per event would allocate more than the whole stream has.
    const [event] = decodeBlock(text) ?? createSseDecoder(Number.POSITIVE_INFINITY).pushText(text)
    return event?.data ?? ''
  }
}

/** Decodes whole events only, so no character is split. */
const decoder = new TextDecoder()

/** Sufficient for a sample of common events. */
const minHeldBytes = 1024

const noEvents: readonly number[] = []

const emptyEstimator: OutputEstimator = { add() {}, addRun() {}, last: () => '', tokens: () => 0 }

/** Deeper events are not estimated: it would take too long, and could overflow the stack. */
const maxLevels = 1000

function estimateEvent(data: string, keys: readonly string[]): number {
  if (nestsDeeper(data, maxLevels)) return 0
  try {
    return estimateOutputTokens(JSON.parse(data) as Json, keys)
  } catch {
    return 0
  }
}
