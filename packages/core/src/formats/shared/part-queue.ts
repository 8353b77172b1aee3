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
