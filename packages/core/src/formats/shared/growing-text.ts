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
