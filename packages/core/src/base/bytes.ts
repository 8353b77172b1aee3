/** The parts as one array; a single part is returned as it is. */
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

const digits = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'
/** Two digits at a time, for twelve bits; made when first needed, in the machine's own order of bytes. */
let pairs: Uint16Array | undefined
const decoder = new TextDecoder()

function makePairs(): Uint16Array {
  const text = [...digits].map((first) => [...digits].map((second) => first + second).join('')).join('')
  return new Uint16Array(new TextEncoder().encode(text).slice().buffer)
}

/** By hand: through `btoa` media of 20 MB take a second, in which nobody else has a turn. */
export function toBase64(bytes: Uint8Array): string {
  pairs ??= makePairs()
  const { length } = bytes
  const text = new Uint16Array(Math.ceil(length / 3) * 2)
  const whole = length - (length % 3)
  let to = 0
  for (let at = 0; at < whole; at += 3) {
    const three = ((bytes[at] as number) << 16) | ((bytes[at + 1] as number) << 8) | (bytes[at + 2] as number)
    text[to++] = pairs[three >> 12] as number
    text[to++] = pairs[three & 4095] as number
  }
  const rest = bytes.subarray(whole)
  return decoder.decode(text.subarray(0, to)) + (rest.length === 0 ? '' : btoa(String.fromCharCode(...rest)))
}

/** The text without the padding at its end. The pattern `/=+$/` takes quadratic time on padding that stands elsewhere. */
export function withoutPadding(text: string): string {
  let end = text.length
  while (text.charCodeAt(end - 1) === 61) end--
  return text.slice(0, end)
}

/** Either alphabet, with or without padding; undefined for what is no base64. */
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

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const pool = new Uint8Array(4096)
let used = pool.length

const codes = Uint8Array.from(alphabet, (char) => char.charCodeAt(0))
const drawn = new Array<number>(22).fill(0)

/** A unique id: the prefix and 22 letters and digits (131 bits). Random bytes are drawn in bulk, which is what costs. */
export function newId(prefix: string): string {
  for (let left = drawn.length; left > 0; ) {
    if (used === pool.length) {
      crypto.getRandomValues(pool)
      used = 0
    }
    const code = codes[(pool[used++] as number) & 63]
    // 64 values, 62 signs: the two too many are drawn again.
    if (code !== undefined) drawn[--left] = code
  }
  return prefix + String.fromCharCode(...drawn)
}
