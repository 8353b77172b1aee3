import { concatBytes } from '../bytes.ts'

const LF = 10
const CR = 13

/**
 * Cuts a byte stream behind the last blank line seen so far: what is complete can go to the client untouched, half an
 * event is held, so that an error event can follow if the rest never comes. Linear, whatever the chunks.
 */
export interface BlockCutter {
  /** The bytes complete with this chunk, or undefined if no event was completed. */
  push(chunk: Uint8Array): Uint8Array | undefined
  /** Bytes held. */
  readonly held: number
  /** Gives out what is held. */
  rest(): Uint8Array | undefined
}

export function createBlockCutter(): BlockCutter {
  let parts: Uint8Array[] = []
  let held = 0
  // The last three bytes held: a blank line may straddle chunks.
  let before: readonly number[] = []
  // A carriage return ended what was given out: a line feed behind it is the other half of that line end.
  let halfOut = false

  const hold = (tail: Uint8Array): void => {
    if (tail.length === 0) return
    parts.push(tail)
    held += tail.length
    before = [...before, ...tail.subarray(-3)].slice(-3)
  }

  return {
    push(chunk) {
      if (chunk.length === 0) return undefined
      const cut = lastBlankLine(chunk, before) || (halfOut && chunk[0] === LF ? 1 : 0)
      halfOut = cut === chunk.length && chunk[cut - 1] === CR
      if (cut === 0) {
        hold(chunk)
        return undefined
      }
      parts.push(cut === chunk.length ? chunk : chunk.subarray(0, cut))
      const whole = concatBytes(parts)
      parts = []
      held = 0
      before = []
      hold(chunk.subarray(cut))
      return whole
    },
    get held() {
      return held
    },
    rest() {
      if (held === 0) return undefined
      const whole = concatBytes(parts)
      parts = []
      held = 0
      return whole
    },
  }
}

/** Index after the last blank line that ends within `chunk`, 0 if none does. `before` is what preceded it. */
function lastBlankLine(chunk: Uint8Array, before: readonly number[]): number {
  const at = (index: number): number | undefined => (index >= 0 ? chunk[index] : before[before.length + index])
  for (let i = chunk.length - 1; i >= 0; i--) {
    const byte = chunk[i]
    if (byte !== LF && byte !== CR) continue
    const previous = at(i - 1)
    if (byte === LF) {
      if (previous === LF) return i + 1
      if (previous === CR && (at(i - 2) === LF || at(i - 2) === CR)) return i + 1
    } else if (previous === CR || previous === LF) return i + 1
  }
  return 0
}
