const quote = 34
const backslash = 92

/**
 * Follows a JSON object through its pieces, to know when its last brace has come. Each character is looked at once: parsing
 * the text anew for each piece would take quadratic time.
 */
export class ObjectScan {
  #depth = 0
  #inString = false
  #isEscaped = false
  #isClosed = false
  #isBroken = false

  /** Whether the object's brackets are all closed, and nothing but white space stands around it. */
  get isClosed(): boolean {
    return this.#isClosed && !this.#isBroken
  }

  push(text: string): void {
    for (let at = 0; at < text.length && !this.#isBroken; at++) {
      const code = text.charCodeAt(at)
      if (this.#inString) this.#inText(code)
      else if (code > 32) this.#outsideText(code)
    }
  }

  #inText(code: number): void {
    if (this.#isEscaped) this.#isEscaped = false
    else if (code === backslash) this.#isEscaped = true
    else if (code === quote) this.#inString = false
  }

  #outsideText(code: number): void {
    if (this.#isClosed) this.#isBroken = true
    else if (code === 123 || code === 91) this.#depth++
    else if (this.#depth === 0) this.#isBroken = true
    else if (code === quote) this.#inString = true
    else if (code === 125 || code === 93) this.#isClosed = --this.#depth === 0
  }
}
