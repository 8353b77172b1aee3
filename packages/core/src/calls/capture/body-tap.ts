import type { CaptureMemory } from '../../accounting/call-capture.ts'

/** Bytes that are kept beyond the limit until the text is masked: a credential at the cut is then masked as a whole. */
export const marginBytes = 256

/** A longer run of characters of base64 is data. */
const minRun = 512
/** Characters that are kept of such a run. */
const keptRun = 64
/** Every long run covers a position of this distance: only the runs at these positions are measured. */
const probeStep = minRun / 2

/** 1 for the characters of base64 in both alphabets. */
const base64 = new Uint8Array(256)
for (const char of 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_=') base64[char.charCodeAt(0)] = 1

const encoder = new TextEncoder()

/**
 * Copies the beginning of a body that arrives in pieces, without the middle of long base64:
 *
 *     {"image":"iVBORw0KGgo…5 kB…","prompt":"What is this?"}
 *     {"image":"iVBORw0KGgo…[5120 more characters]","prompt":"What is this?"}
 *
 * The time is linear in the size of the body, and nothing but the copy is held.
 */
export class BodyTap {
  isCut = false
  /** The middle of long base64 is left out. */
  isShortened = false
  /** Running calls hold too much: nothing is kept of the body. */
  hasNoMemory = false
  readonly #limit: number
  readonly #memory: CaptureMemory
  #bytes = new Uint8Array(0)
  #length = 0
  /** Length of the run of base64 that the last byte belongs to. */
  #run = 0
  #isOver = false

  /** @param limit bytes that are kept, in addition to the margin. 0: none */
  constructor(limit: number, memory: CaptureMemory) {
    this.#limit = limit === 0 ? 0 : limit + marginBytes
    this.#memory = memory
  }

  /** The copy. It may have `marginBytes` more than the limit if the body is cut. */
  get bytes(): Uint8Array {
    return this.#bytes.subarray(0, this.#length)
  }

  get heldBytes(): number {
    return this.#bytes.length
  }

  append(chunk: Uint8Array): void {
    if (this.#isOver || this.isCut || this.#limit === 0) return
    let from = 0
    const run = this.#run
    if (run > 0) {
      const end = runEnd(chunk, 0)
      const isWhole = end === chunk.length
      if (run + end > minRun) {
        if (run < minRun) this.#copy(chunk, 0, minRun - run)
        this.#run += end
        if (isWhole) return
        this.#shortenRun()
        from = end
      } else if (isWhole) {
        this.#copy(chunk, 0, end)
        this.#run += end
        return
      }
    }
    for (let at = from + probeStep; at < chunk.length; at += probeStep) {
      if (base64[chunk[at] as number] === 0) continue
      const start = runStart(chunk, at, from)
      at = runEnd(chunk, at)
      if (at - start <= minRun) continue
      this.#copy(chunk, from, start + minRun)
      this.#run = at - start
      if (at === chunk.length) return
      this.#shortenRun()
      from = at
    }
    this.#copy(chunk, from, chunk.length)
    this.#run = chunk.length - runStart(chunk, chunk.length, from)
  }

  /** Ends the copy: later bytes are ignored. Frees memory that it does not need. */
  end(): void {
    if (this.#isOver) return
    if (this.#run > minRun) this.#shortenRun()
    this.#isOver = true
    if (this.#length > this.#bytes.length * 0.75) return
    const fitting = this.#bytes.slice(0, this.#length)
    this.#memory.left += this.#bytes.length - fitting.length
    this.#bytes = fitting
  }

  /** Frees the copy. Later bytes are ignored. */
  drop(): void {
    this.#isOver = true
    this.#memory.left += this.#bytes.length
    this.#bytes = new Uint8Array(0)
    this.#length = 0
    this.#run = 0
  }

  /** Replaces all but the beginning of the run, whose first `minRun` characters are the end of the copy. */
  #shortenRun(): void {
    const run = this.#run
    this.#run = 0
    if (this.isCut || this.#isOver) return
    this.isShortened = true
    this.#length -= minRun - keptRun
    const mark = encoder.encode(`…[${run - keptRun} more characters]`)
    this.#bytes.set(mark, this.#length)
    this.#length += mark.length
  }

  #copy(chunk: Uint8Array, from: number, to: number): void {
    if (this.#isOver || this.isCut || from === to) return
    const end = this.#length + to - from
    if (end > this.#bytes.length && !this.#grow(end)) return
    const fitting = Math.min(to, from + this.#bytes.length - this.#length)
    this.#bytes.set(from === 0 && fitting === chunk.length ? chunk : chunk.subarray(from, fitting), this.#length)
    this.#length += fitting - from
    this.isCut = fitting < to
  }

  /** Makes room for `wanted` bytes, or as many as the limits allow. Returns false if the memory is exhausted. */
  #grow(wanted: number): boolean {
    const capacity = this.#bytes.length
    const larger = Math.min(this.#limit, Math.max(capacity * 2, wanted))
    if (larger - capacity > this.#memory.left) {
      this.drop()
      this.hasNoMemory = true
      return false
    }
    this.#memory.left -= larger - capacity
    const bytes = new Uint8Array(larger)
    bytes.set(this.#bytes.subarray(0, this.#length))
    this.#bytes = bytes
    return true
  }
}

/** Returns the end of the run that continues at `at`. */
function runEnd(bytes: Uint8Array, at: number): number {
  let end = at
  while (end < bytes.length && base64[bytes[end] as number] === 1) end++
  return end
}

/** Returns the start of the run that ends before `at`, not before `least`. */
function runStart(bytes: Uint8Array, at: number, least: number): number {
  let start = at
  while (start > least && base64[bytes[start - 1] as number] === 1) start--
  return start
}
