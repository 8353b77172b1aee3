/** What is looked for in a text. */
export interface Secrets {
  /** Credentials of twelve characters or more in all spellings: found in whole and in part. */
  readonly parts: PartIndex
  /** Shorter credentials and other values of an upstream's headers: found as a whole. */
  readonly whole: readonly string[]
  /** Credentials of fewer than eight characters. */
  readonly words: readonly string[]
}

/** Whether JSON text has an escape for a character that needs none: such escapes may stand within a secret. */
export const hasNeedlessEscape = (text: string): boolean => text.includes('\\') && /\\(?:\/|u00[2-7])/.test(text)

/** JSON text without the escapes that it does not need. It means the same. */
export const dropNeedlessEscapes = (text: string): string =>
  hasNeedlessEscape(text)
    ? text.replace(/\\(?:u00([2-7][0-9a-f])|.)/gi, (written, code: string | undefined) => {
        if (written === '\\/') return '/'
        const char = code === undefined ? '' : String.fromCharCode(Number.parseInt(code, 16))
        return char === '' || char === '"' || char === '\\' || char === '\x7f' ? written : char
      })
    : text

/** The text with `***` in place of each secret. */
export function maskSecrets(text: string, { whole = [], words = [], parts }: Partial<Secrets>): string {
  // Long ones first: they may hold a short one.
  let clean = parts === undefined ? text : withoutParts(text, parts)
  for (const value of whole) if (clean.includes(value)) clean = clean.replaceAll(value, '***')
  for (const word of words) if (clean.includes(word)) clean = withoutWord(clean, word)
  return clean
}

function withoutParts(text: string, parts: Secrets['parts']): string {
  let clean = ''
  let from = 0
  for (let part = parts.find(text); part !== undefined; part = parts.find(text, from)) {
    clean += `${text.slice(from, behindEscape(text, part.begin))}***`
    from = part.end
  }
  return from === 0 ? text : clean + text.slice(from)
}

/** The text without a value where that stands by itself: neither letters, digits nor hyphens beside it. */
function withoutWord(text: string, word: string): string {
  let clean = ''
  let from = 0
  for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + word.length)) {
    const end = at + word.length
    const begins = at === 0 || !inWord.test(text[at - 1] as string) || behindEscape(text, at - 1) === at
    if (!begins || (end < text.length && inWord.test(text[end] as string))) continue
    clean += `${text.slice(from, at)}***`
    from = end
  }
  return from === 0 ? text : clean + text.slice(from)
}
const inWord = /[\w-]/

/** The text may be JSON, and must stay it: half an escape is none. */
function behindEscape(text: string, begin: number): number {
  // No further back than an escape is long: what is looked for in all of a long text, time and again, takes its time squared.
  let slash = begin - 1
  while (slash > begin - 6 && text[slash] !== '\\') slash--
  if (text[slash] !== '\\') return begin
  let first = slash
  while (text[first - 1] === '\\') first--
  // Of two in a row the second begins nothing.
  if ((slash - first) % 2 === 1) return begin
  return Math.max(begin, slash + (text[slash + 1] === 'u' ? 6 : 2))
}

/** Parts of a secret are recognized from this length on, because upstreams cut keys and mask their middle. */
export const shortestPart = 12
/** Characters that are hashed together. */
const gram = 4
/** Every run of `shortestPart` characters holds a gram that begins at a multiple of this. */
const step = shortestPart - gram + 1

/** A part of a secret in a text. */
export interface Part {
  readonly begin: number
  readonly end: number
}

/**
 * Finds parts of secrets in texts: a hash table of every four characters of the secrets, searched at every ninth character of a text.
 * A text without secrets costs about 0.5 ns per byte, and 1 ns per character of a string (a search with `includes` for each of the
 * 15 spellings of a key: ten times as much).
 */
export class PartIndex {
  /** All secrets, separated by a character that no header holds. */
  readonly #secrets: string
  /** By hash: 1 + the place of the last gram with that hash; 0: none. */
  readonly #slots: Int32Array
  /** By place: 1 + the place of the ones before with the same hash; 0: none. */
  readonly #earlier: Int32Array
  readonly #shift: number
  /** All secrets as bytes; undefined where they are not all ASCII. */
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

  /** The first part at or after `from`. */
  find(text: string, from = 0): Part | undefined {
    for (let at = from; at + gram <= text.length; at += step) {
      const last = this.#slots[hash(text, at) >>> this.#shift] as number
      if (last === 0) continue
      const part = this.#longestAt(text, at, from, last)
      if (part !== undefined) return part
    }
    return undefined
  }

  /** Whether there may be a part in UTF-8 text. Never false where there is one. */
  mayMatch(bytes: Uint8Array): boolean {
    const own = this.#bytes
    if (own === undefined) return true
    const slots = this.#slots
    const shift = this.#shift
    for (let at = 0; at + gram <= bytes.length; at += step) {
      const four = fourOf(
        bytes[at] as number,
        bytes[at + 1] as number,
        bytes[at + 2] as number,
        bytes[at + 3] as number,
      )
      let place = (slots[Math.imul(four, factor) >>> shift] as number) - 1
      for (; place >= 0; place = (this.#earlier[place] as number) - 1)
        if (
          own[place] === bytes[at] &&
          own[place + 1] === bytes[at + 1] &&
          own[place + 2] === bytes[at + 2] &&
          own[place + 3] === bytes[at + 3]
        )
          return true
    }
    return false
  }

  #longestAt(text: string, at: number, from: number, last: number): Part | undefined {
    let begin = at
    let end = at
    for (let place = last - 1; place >= 0; place = (this.#earlier[place] as number) - 1) {
      if (!this.#secrets.startsWith(text.slice(at, at + gram), place)) continue
      const part = this.#extended(text, at, from, place)
      if (part.end - part.begin > end - begin) ({ begin, end } = part)
    }
    return end - begin < shortestPart ? undefined : { begin, end }
  }

  /** How far text and secret agree before and behind a place that they share. */
  #extended(text: string, at: number, from: number, place: number): Part {
    const secrets = this.#secrets
    let before = 0
    while (at - before > from && place > before && text[at - before - 1] === secrets[place - before - 1]) before++
    let behind = gram
    while (at + behind < text.length && text[at + behind] === secrets[place + behind]) behind++
    return { begin: at - before, end: at + behind }
  }
}

const factor = 0x9e3779b1

const fourOf = (first: number, second: number, third: number, fourth: number): number =>
  first | (second << 8) | (third << 16) | (fourth << 24)

const hash = (text: string, at: number): number =>
  Math.imul(
    fourOf(text.charCodeAt(at), text.charCodeAt(at + 1), text.charCodeAt(at + 2), text.charCodeAt(at + 3)),
    factor,
  )
