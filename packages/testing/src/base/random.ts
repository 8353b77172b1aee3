const base62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const base58 = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz'
const base36 = '0123456789abcdefghijklmnopqrstuvwxyz'
const hex = '0123456789abcdef'

/** Generates ids in the providers' styles: prefix, alphabet and length as in recorded traffic. */
export interface Ids {
  completion(): string
  message(): string
  call(): string
  toolUse(): string
  /** A prefix and 50 hex digits, as in the Responses API. */
  item(prefix: string): string
  /** Base64url letters, as in Google's response ids. */
  letters(length: number): string
  /** Lower-case letters and digits, as in Google's call ids. */
  lower(length: number): string
  /** `req_` and 32 hex digits, as in OpenAI's request ids. */
  requestHex(): string
  /** `req_011…`, as in Anthropic's request ids. */
  request58(): string
  /** An integer from 0 up to but not including `below`. */
  integer(below: number): number
}

/** Creates an id generator: repeatable, with a new id at each call. */
export function createIds(seed: number): Ids {
  let state = seed >>> 0
  const next = (): number => {
    // mulberry32: small, seedable, and even enough for ids.
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 0x1_0000_0000
  }
  const integer = (below: number): number => Math.floor(next() * below)
  const word = (alphabet: string, length: number): string => {
    let text = ''
    for (let index = 0; index < length; index++) text += alphabet.charAt(integer(alphabet.length))
    return text
  }
  return {
    completion: () => `chatcmpl-${word(base62, 29)}`,
    message: () => `msg_01${word(base58, 22)}`,
    call: () => `call_${word(base62, 24)}`,
    toolUse: () => `toolu_01${word(base58, 22)}`,
    item: (prefix) => `${prefix}_${word(hex, 50)}`,
    letters: (length) => word(`${base62}-_`, length),
    lower: (length) => word(base36, length),
    requestHex: () => `req_${word(hex, 32)}`,
    request58: () => `req_011${word(base58, 21)}`,
    integer,
  }
}

/** Returns a 53-bit hash of a text (cyrb53) as 14 hex digits. For caches and fake signatures; not cryptographic. */
export function hashText(text: string, seed = 0): string {
  let high = 0xdeadbeef ^ seed
  let low = 0x41c6ce57 ^ seed
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index)
    high = Math.imul(high ^ code, 2654435761)
    low = Math.imul(low ^ code, 1597334677)
  }
  high = Math.imul(high ^ (high >>> 16), 2246822507) ^ Math.imul(low ^ (low >>> 13), 3266489909)
  low = Math.imul(low ^ (low >>> 16), 2246822507) ^ Math.imul(high ^ (high >>> 13), 3266489909)
  return (4294967296 * (2097151 & low) + (high >>> 0)).toString(16).padStart(14, '0')
}
