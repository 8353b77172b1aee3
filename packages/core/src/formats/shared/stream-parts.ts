import { GatewayError } from '../../base/errors.ts'
import type { Delta, Part } from '../ir.ts'

/** A part that waits for those before it: some formats tell one part after the other, without overlap. */
export interface WaitingPart {
  readonly part: number
  readonly value: Part
  readonly deltas: Delta[]
  ended: boolean
}

/** Waiting parts in the order of their start, also found by their number; each operation takes constant time. */
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

/** Characters from which on pieces are written out as one. */
const most = 1024

/**
 * A text that grows by many small pieces and is seldom asked for. To the engine, a string to which pieces are added is a chain of
 * all of them, and each link takes ten times the room of a word: a long answer would hold megabytes until its end.
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
    if (this.#tail.length < most) {
      this.#tail += piece
      return
    }
    // Unlike a sum, a joined text is made at once.
    const written = [this.#tail, piece].join('')
    this.#length += written.length
    this.#written.push(written)
    this.#tail = ''
  }

  toString(): string {
    return this.#written.join('') + this.#tail
  }
}

/**
 * Text that is written again and again. What is put together with `+` stays a tree of its parts in V8, and each text that it
 * becomes a part of has to walk it all when it is written out.
 */
export const joinText = (...parts: readonly string[]): string => parts.join('')

/**
 * Choices that an upstream's response may have where it is translated. A choice costs a decoder and an encoder, which is a thousand
 * times its three bytes (`{},`); no provider offers more than 128.
 */
const mostChoices = 1024

/** Throws GatewayError `upstream_bad_response` for a response with more choices. */
export function checkChoiceCount(count: number): void {
  if (count > mostChoices)
    throw new GatewayError(
      'upstream_bad_response',
      `The upstream sent more than ${mostChoices} choices in one response.`,
    )
}
