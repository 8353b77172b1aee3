import { isObject } from '../base/json/object.ts'
import { nestsDeeper } from '../base/json/scan.ts'
import type { Json } from '../base/json/types.ts'
import type { TextFields } from '../formats/codec.ts'
import { createSseDecoder, decodeBlock } from '../http/sse/decode.ts'
import { type EventRun, sampleSize } from '../http/sse/event-template.ts'
import { tokensByCharacters } from './estimate-body.ts'

/** What an answer has said so far, for answers that end before anybody has counted them. */
export interface OutputEstimator {
  /** Sees the data of one event. */
  add(data: string): void
  /** Sees events that nobody decoded. */
  addRun(bytes: Uint8Array, run: EventRun): void
  /** The data of the last event seen. */
  readonly last: () => string
  /** About how many tokens the events seen so far say. */
  readonly tokens: () => number
}

/**
 * Reading every event of every stream would cost more than passing it on, and only a stream that breaks off is asked: of the
 * last few events that say something the mean is taken to hold for all.
 */
export const createOutputEstimator = (says: TextFields | undefined): OutputEstimator =>
  says === undefined ? silent : new Sample(says)

class Sample implements OutputEstimator {
  readonly #says: TextFields
  /** The data of an event, or how many of the bytes held it takes. */
  readonly #events: (string | number)[] = []
  #count = 0
  #chars = 0
  /** The bytes of the last events: chunks that lived on for them would burden the collector, and pin what they are cut from. */
  #held: Uint8Array | undefined
  #end = 0

  constructor(says: TextFields) {
    this.#says = says
  }

  add(data: string): void {
    const { mark } = this.#says
    // Events that repeat the whole answer would be taken for its average.
    if (mark !== undefined && !data.includes(mark)) return
    this.#events[this.#count++ & (sampleSize - 1)] = data
    this.#chars += data.length
  }

  addRun(bytes: Uint8Array, { count, starts, end: to, chars }: EventRun): void {
    const first = Math.max(0, count - sampleSize)
    let from = starts[first & (sampleSize - 1)] as number
    // Of those held before none is kept beside a whole sample.
    this.#hold(bytes, from, to, count < sampleSize ? this.#events : nothing)
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
      tokens += wordsIn(typeof item === 'string' ? item : this.#data(before, item), this.#says.event)
    }
    // Whatever the sample says: no token is shorter than a character.
    return Math.min(this.#chars, Math.round((tokens * this.#count) / this.#events.length))
  }

  /** @param events those that are to be kept beside */
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
        // A little more than is kept: what is thrown away makes room again, and thousands of streams each hold one.
        held = new Uint8Array(Math.max(leastHeld, kept + size + ((kept + size) >> 2)))
        if (before !== undefined) held.set(before)
        this.#held = held
      }
      this.#end = kept
    }
    held.set(from === 0 && to === bytes.length ? bytes : bytes.subarray(from, to), this.#end)
    this.#end += size
  }

  /** The data of the event of so many bytes that begins so many before the end. */
  #data(before: number, length: number): string {
    const from = this.#end - before
    const text = decoder.decode(this.#held?.subarray(from, from + length))
    // A decoder for each would outweigh all that the stream has allocated until then.
    const [event] = decodeBlock(text) ?? createSseDecoder(Number.POSITIVE_INFINITY).pushText(text)
    return event?.data ?? ''
  }
}

/** Of whole events: no character straddles two of them. */
const decoder = new TextDecoder()

/** Enough for a sample of common events. */
const leastHeld = 1024

const nothing: readonly number[] = []

const silent: OutputEstimator = { add() {}, addRun() {}, last: () => '', tokens: () => 0 }

/** More levels take longer to read than the estimate is worth, and in the end all there is room for. */
const mostLevels = 1000

function wordsIn(data: string, keys: readonly string[]): number {
  if (nestsDeeper(data, mostLevels)) return 0
  try {
    return estimateOutputTokens(JSON.parse(data) as Json, keys)
  } catch {
    return 0
  }
}

/** About how many tokens an answer or an event says: its texts under these keys, however deep. Without a call's frame. */
export function estimateOutputTokens(value: Json, keys: readonly string[]): number {
  // The most of any answer are values that hold nothing.
  if (typeof value !== 'object' || value === null) return 0
  if (Array.isArray(value)) return value.reduce<number>((sum, item) => sum + estimateOutputTokens(item, keys), 0)
  let sum = 0
  // Names alone: pairs of all that an event holds would be most of what its stream allocates.
  for (const key of Object.keys(value)) {
    const inner = value[key] as Json
    if (!keys.includes(key)) sum += estimateOutputTokens(inner, keys)
    else if (typeof inner === 'string') sum += tokensByCharacters(inner)
    else if (Array.isArray(inner)) sum += estimateOutputTokens(inner, keys)
    else if (isObject(inner)) sum += estimateOutputTokens(inner, keys) || tokensByCharacters(JSON.stringify(inner))
  }
  return sum
}
