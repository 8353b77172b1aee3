// Bytes: concatenation, base64 and random ids.

/** Concatenates arrays of bytes. A single part is returned as it is, without a copy. */
export function concatBytes(parts: readonly Uint8Array[]): Uint8Array {
  const [first] = parts
  if (first !== undefined && parts.length === 1) return first
  let size = 0
  for (const part of parts) size += part.length
  const all = new Uint8Array(size)
  let at = 0
  for (const part of parts) {
    all.set(part, at)
    at += part.length
  }
  return all
}

const base64Digits = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'
/** Two base64 digits for each value of twelve bits, in the machine's byte order. Created on first use. */
let digitPairs: Uint16Array | undefined
const decoder = new TextDecoder()

function createDigitPairs(): Uint16Array {
  const text = [...base64Digits].map((first) => [...base64Digits].map((second) => first + second).join('')).join('')
  return new Uint16Array(new TextEncoder().encode(text).slice().buffer)
}

/** Encodes bytes as base64 with padding. `btoa` would block the event loop for a second on media of 20 MB. */
export function toBase64(bytes: Uint8Array): string {
  digitPairs ??= createDigitPairs()
  const { length } = bytes
  const text = new Uint16Array(Math.ceil(length / 3) * 2)
  const whole = length - (length % 3)
  let to = 0
  for (let at = 0; at < whole; at += 3) {
    const three = ((bytes[at] as number) << 16) | ((bytes[at + 1] as number) << 8) | (bytes[at + 2] as number)
    text[to++] = digitPairs[three >> 12] as number
    text[to++] = digitPairs[three & 4095] as number
  }
  const remainder = bytes.subarray(whole)
  return decoder.decode(text.subarray(0, to)) + (remainder.length === 0 ? '' : btoa(String.fromCharCode(...remainder)))
}

/** Decodes base64 of either alphabet, with or without padding. Returns undefined for a text that is no base64. */
export function fromBase64(text: string): Uint8Array | undefined {
  let binary: string
  try {
    binary = atob(withoutPadding(text).replaceAll('-', '+').replaceAll('_', '/'))
  } catch {
    return undefined
  }
  const bytes = new Uint8Array(binary.length)
  for (let at = 0; at < binary.length; at++) bytes[at] = binary.charCodeAt(at)
  return bytes
}

/** Removes the padding at the end of base64. The pattern `/=+$/` takes quadratic time if `=` is repeated elsewhere. */
function withoutPadding(text: string): string {
  let end = text.length
  while (text.charCodeAt(end - 1) === 61) end--
  return text.slice(0, end)
}

const idDigits = Uint8Array.from('0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz', (char) =>
  char.charCodeAt(0),
)
const pool = new Uint8Array(4096)
let poolUsed = pool.length
/** The digits of the id that is being created. */
const idCodes = new Array<number>(22).fill(0)

/** Creates a unique id: the prefix and 22 random letters and digits (131 bits). Random bytes are drawn in bulk: each draw is slow. */
export function newId(prefix: string): string {
  for (let left = idCodes.length; left > 0; ) {
    if (poolUsed === pool.length) {
      crypto.getRandomValues(pool)
      poolUsed = 0
    }
    const code = idDigits[(pool[poolUsed++] as number) & 63]
    // Six bits have 64 values, and there are 62 digits: the other two values are drawn again.
    if (code !== undefined) idCodes[--left] = code
  }
  return prefix + String.fromCharCode(...idCodes)
}
