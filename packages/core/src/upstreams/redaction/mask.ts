/** The secrets of an upstream, prepared for searches. */
export interface Secrets {
  /** Credentials of twelve characters or more in all spellings. They are masked in whole and in part. */
  readonly parts: PartIndex
  /** Shorter credentials, and other header values of the upstream. They are masked anywhere in a text, but only in whole. */
  readonly whole: readonly string[]
  /** Credentials of fewer than eight characters. They are masked as whole words only. */
  readonly words: readonly string[]
}

/** Returns the text with `***` in position of each secret. */
export function maskSecrets(text: string, { whole = [], words = [], parts }: Partial<Secrets>): string {
  // Parts come first because they are the longest and may contain shorter secrets.
  let masked = parts === undefined ? text : maskParts(text, parts)
  for (const value of whole) if (masked.includes(value)) masked = masked.replaceAll(value, '***')
  for (const word of words) if (masked.includes(word)) masked = maskWord(masked, word)
  return masked
}

function maskParts(text: string, parts: PartIndex): string {
  let masked = ''
  let from = 0
  for (let part = parts.find(text); part !== undefined; part = parts.find(text, from)) {
    masked += `${text.slice(from, afterEscape(text, part.begin))}***`
    from = part.end
  }
  return from === 0 ? text : masked + text.slice(from)
}

/** Masks a value only between characters that are not letters, digits or hyphens. */
function maskWord(text: string, word: string): string {
  let masked = ''
  let from = 0
  for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + word.length)) {
    const end = at + word.length
    const begins = at === 0 || !wordCharacter.test(text[at - 1] as string) || afterEscape(text, at - 1) === at
    if (!begins || (end < text.length && wordCharacter.test(text[end] as string))) continue
    masked += `${text.slice(from, at)}***`
    from = end
  }
  return from === 0 ? text : masked + text.slice(from)
}
const wordCharacter = /[\w-]/

/** Returns `begin`, or the end of the JSON escape that contains `begin`. The text may be JSON, and half an escape would make it invalid. */
function afterEscape(text: string, begin: number): number {
  // Looks back no further than the longest escape (6 characters). An unbounded search would take quadratic time in long texts.
  let slash = begin - 1
  while (slash > begin - 6 && text[slash] !== '\\') slash--
  if (text[slash] !== '\\') return begin
  let first = slash
  while (text[first - 1] === '\\') first--
  // The second backslash of an escaped pair begins no escape.
  if ((slash - first) % 2 === 1) return begin
  return Math.max(begin, slash + (text[slash + 1] === 'u' ? 6 : 2))
}

/** Returns whether JSON text escapes a character that needs no escape. Such escapes can hide a secret from a search. */
export const hasNeedlessEscape = (text: string): boolean => text.includes('\\') && /\\(?:\/|u00[2-7])/.test(text)

/** Returns JSON text of the same meaning without needless escapes. */
export const dropNeedlessEscapes = (text: string): string =>
  hasNeedlessEscape(text)
    ? text.replace(/\\(?:u00([2-7][0-9a-f])|.)/gi, (written, code: string | undefined) => {
        if (written === '\\/') return '/'
        const char = code === undefined ? '' : String.fromCharCode(Number.parseInt(code, 16))
        return char === '' || char === '"' || char === '\\' || char === '\x7f' ? written : char
      })
    : text

/** Shortest part of a secret that is recognized. Upstreams cut keys and mask their middle in error messages. */
export const shortestPart = 12
/** Number of characters that are hashed together (a gram). */
const gram = 4
/** Every run of `shortestPart` characters contains a whole gram that begins at a multiple of this. */
const step = shortestPart - gram + 1

/** Position of a part of a secret in a text. */
interface Part {
  readonly begin: number
  readonly end: number
}

/**
 * Finds parts of secrets in texts, with a hash table of all grams of the secrets. A search hashes the text at every ninth character only,
 * because a part of twelve characters contains at least one of these grams:
 *
 *   secret  sk-qF7w2Xr9Tz5bLk0        each run of 4 characters is in the table
 *   text    bad key qF7w2Xr9Tz5bL…    looked up: "bad " and "F7w2", 9 characters apart
 *           ^^^^     ^^^^
 *                   <----------->     "F7w2" is in the table: extended to both sides, it is a part of 13 characters
 *
 * A text without secrets costs about 0.5 ns per byte, and 1 ns per character of a string. Searching with `includes` for each of the
 * 15 spellings of a key costs ten times as much.
 */
export class PartIndex {
  /** All secrets, separated by a character that no header contains. */
  readonly #secrets: string
  /** For each hash: 1 + the position of the last gram with this hash, or 0. */
  readonly #slots: Int32Array
  /** For each position: 1 + the position of the previous gram with the same hash, or 0. */
  readonly #earlier: Int32Array
  readonly #shift: number
  /** All secrets as bytes, or undefined if they are not all ASCII. */
  readonly #bytes: Uint8Array | undefined

  constructor(secrets: Iterable<string>) {
    this.#secrets = [...new Set(secrets)].filter(({ length }) => length >= shortestPart).join('\n')
    const { length } = this.#secrets
    const bytes = new TextEncoder().encode(this.#secrets)
    if (bytes.length === length) this.#bytes = bytes
    const bits = Math.max(8, 35 - Math.clz32(length))
    this.#shift = 32 - bits
    this.#slots = new Int32Array(2 ** bits)
    this.#earlier = new Int32Array(length)
    for (let at = 0; at + gram <= length; at++) {
      const slot = hash(this.#secrets, at) >>> this.#shift
      this.#earlier[at] = this.#slots[slot] as number
      this.#slots[slot] = at + 1
    }
  }

  /** Returns the first part at or after `from`. */
  find(text: string, from = 0): Part | undefined {
    for (let at = from; at + gram <= text.length; at += step) {
      const last = this.#slots[hash(text, at) >>> this.#shift] as number
      if (last === 0) continue
      const part = this.#longestAt(text, at, from, last)
      if (part !== undefined) return part
    }
    return undefined
  }

  /** Returns whether UTF-8 bytes may contain a part. It is never false if they do. */
  mayMatch(bytes: Uint8Array): boolean {
    const secrets = this.#bytes
    if (secrets === undefined) return true
    const slots = this.#slots
    const shift = this.#shift
    for (let at = 0; at + gram <= bytes.length; at += step) {
      const packed = packGram(
        bytes[at] as number,
        bytes[at + 1] as number,
        bytes[at + 2] as number,
        bytes[at + 3] as number,
      )
      let position = (slots[Math.imul(packed, hashFactor) >>> shift] as number) - 1
      for (; position >= 0; position = (this.#earlier[position] as number) - 1)
        if (
          secrets[position] === bytes[at] &&
          secrets[position + 1] === bytes[at + 1] &&
          secrets[position + 2] === bytes[at + 2] &&
          secrets[position + 3] === bytes[at + 3]
        )
          return true
    }
    return false
  }

  /** Returns the longest part around the gram at `at`, which begins at or after `from`. */
  #longestAt(text: string, at: number, from: number, last: number): Part | undefined {
    let begin = at
    let end = at
    for (let position = last - 1; position >= 0; position = (this.#earlier[position] as number) - 1) {
      if (!this.#secrets.startsWith(text.slice(at, at + gram), position)) continue
      const part = this.#extended(text, at, from, position)
      if (part.end - part.begin > end - begin) ({ begin, end } = part)
    }
    return end - begin < shortestPart ? undefined : { begin, end }
  }

  /** Extends a common gram to both sides, as far as text and secret agree. */
  #extended(text: string, at: number, from: number, position: number): Part {
    const secrets = this.#secrets
    let before = 0
    while (at - before > from && position > before && text[at - before - 1] === secrets[position - before - 1]) before++
    let after = gram
    while (at + after < text.length && text[at + after] === secrets[position + after]) after++
    return { begin: at - before, end: at + after }
  }
}

const hashFactor = 0x9e3779b1

const packGram = (first: number, second: number, third: number, fourth: number): number =>
  first | (second << 8) | (third << 16) | (fourth << 24)

const hash = (text: string, at: number): number =>
  Math.imul(
    packGram(text.charCodeAt(at), text.charCodeAt(at + 1), text.charCodeAt(at + 2), text.charCodeAt(at + 3)),
    hashFactor,
  )
