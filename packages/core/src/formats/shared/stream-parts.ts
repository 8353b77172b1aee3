import { GatewayError } from '../../base/errors.ts'
import type { Delta, ModelEvent, Part } from '../ir.ts'

/** A part that waits for earlier parts: some formats send one part after the other, without overlap. */
export interface WaitingPart {
  readonly part: number
  readonly value: Part
  readonly deltas: Delta[]
  ended: boolean
}

/** Queue of waiting parts in the order of their start. Every operation takes constant time. */
export class PartQueue {
  readonly #byNumber = new Map<number, WaitingPart>()
  #list: WaitingPart[] = []
  #first = 0

  get isEmpty(): boolean {
    return this.#first === this.#list.length
  }

  get first(): WaitingPart | undefined {
    return this.#list[this.#first]
  }

  find(part: number): WaitingPart | undefined {
    return this.#byNumber.get(part)
  }

  add(part: number, value: Part, ended = false): void {
    const waiting: WaitingPart = { part, value, deltas: [], ended }
    this.#list.push(waiting)
    this.#byNumber.set(part, waiting)
  }

  /** Removes the first part and returns it. */
  shift(): WaitingPart | undefined {
    const { first } = this
    if (first === undefined) return undefined
    this.#byNumber.delete(first.part)
    // `Array.prototype.shift` moves all the others each time.
    if (++this.#first === this.#list.length) {
      this.#list = []
      this.#first = 0
    }
    return first
  }

  endAll(): void {
    for (let at = this.#first; at < this.#list.length; at++) (this.#list[at] as WaitingPart).ended = true
  }
}

/** Characters from which on collected pieces are joined. */
const pieceChars = 1024

/**
 * A text that grows by many small pieces and is rarely read. V8 keeps a string that grows by `+` as a chain of its pieces, and each link
 * takes ten times the memory of a word: a long response would hold megabytes until its end.
 */
export class GrowingText {
  readonly #written: string[] = []
  #length = 0
  #tail = ''

  constructor(text = '') {
    this.#tail = text
  }

  get length(): number {
    return this.#length + this.#tail.length
  }

  add(piece: string): void {
    if (this.#tail.length < pieceChars) {
      this.#tail += piece
      return
    }
    // Unlike `+`, `join` creates a flat string.
    const written = [this.#tail, piece].join('')
    this.#length += written.length
    this.#written.push(written)
    this.#tail = ''
  }

  toString(): string {
    return this.#written.join('') + this.#tail
  }
}

/** Joins texts to a flat string, for text that is written many times. V8 keeps the result of `+` as a tree, which every write walks again. */
export const joinText = (...parts: readonly string[]): string => parts.join('')

/**
 * Choices that a translated response may have. Each choice costs a decoder and an encoder, a thousand times the size of its three bytes
 * (`{},`). No provider offers more than 128.
 */
const maxChoices = 1024

/** Throws GatewayError `upstream_bad_response` for a response with more choices. */
export function checkChoiceCount(count: number): void {
  if (count > maxChoices)
    throw new GatewayError(
      'upstream_bad_response',
      `The upstream sent more than ${maxChoices} choices in one response.`,
    )
}

/** Emits the events of parts, numbered in the order of their starts. */
export interface PartWriter {
  start(value: Part): number
  delta(part: number, delta: Delta): void
  end(part: number): void
}

/** Creates a writer that appends to the list that `out` returns. */
export function createPartWriter(out: () => ModelEvent[]): PartWriter {
  let next = 0
  return {
    start(value) {
      out().push({ type: 'part-start', choice: 0, part: next, value })
      return next++
    },
    delta: (part, delta) => out().push({ type: 'part-delta', choice: 0, part, delta }),
    end: (part) => out().push({ type: 'part-end', choice: 0, part }),
  }
}
