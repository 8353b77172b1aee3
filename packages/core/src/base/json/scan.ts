/** One member of a document's top-level object: its key and where its value stands in the source. */
export interface Member {
  readonly key: string
  readonly start: number
  readonly end: number
}

export interface Scan {
  /** Nesting exceeds the limit; `members` is then incomplete. */
  readonly tooDeep: boolean
  /** There are more values and names than may be; `members` is then incomplete. */
  readonly tooMany: boolean
  /** The top-level object's members in order, duplicates included; empty for anything but an object. */
  readonly members: readonly Member[]
}

const quote = 34
const backslash = 92

/**
 * One linear pass over JSON text, before anything parses it: how deep it nests, and where its top-level values stand.
 * `JSON.parse` accepts millions of levels that `JSON.stringify` and any recursive walk then die of. The text need not be
 * valid: on broken text the members mean nothing, and the parser that follows says so.
 *
 * @param maxValues how many values and names there may be: a body of millions takes its reader seconds, however small they are
 */
export function scanJson(text: string, maxDepth: number, maxValues?: number): Scan {
  const scanner = new Scanner(text, maxDepth, maxValues)
  for (let i = 0; i < text.length && !scanner.stopped; i++) {
    const code = text.charCodeAt(i)
    if (code === quote) {
      const end = stringEnd(text, i)
      scanner.addString(i, end)
      i = end - 1
    } else scanner.addCharacter(code, i)
  }
  return scanner
}

/** Is shown a document, string by string and between them character by character, and says what a `Scan` does. */
export class Scanner implements Scan {
  readonly members: Member[] = []
  tooDeep = false
  tooMany = false
  /** It is too deep or too much: the rest need not be shown. */
  stopped = false
  /** The key of the member that is being shown. */
  key: string | undefined
  readonly #source: JsonSource
  readonly #maxDepth: number
  /** Values and names that there may still be. */
  #left: number
  #depth = 0
  #inObject = false
  /** The last string at the top level that may be a key: where it stands. */
  #keyStart = -1
  #keyEnd = -1
  #start = -1

  constructor(source: JsonSource, maxDepth: number, maxValues = Number.POSITIVE_INFINITY) {
    this.#source = source
    this.#maxDepth = maxDepth
    this.#left = maxValues
  }

  /** A string, with its quotes. */
  addString(start: number, end: number): void {
    if (this.#depth !== 1 || !this.#inObject || this.key !== undefined) return
    this.#keyStart = start
    this.#keyEnd = end
  }

  /** A character outside strings. */
  addCharacter(code: number, at: number): void {
    switch (code) {
      case 123: // {
      case 91: // [
        if (++this.#depth > this.#maxDepth) this.tooDeep = this.stopped = true
        this.#count()
        if (this.#depth === 1) this.#inObject = code === 123
        break
      case 125: // }
      case 93: // ]
        if (--this.#depth === 0) this.#endMember(at)
        break
      case 58: // :
        this.#count()
        if (this.#depth === 1 && this.#keyStart >= 0) {
          this.key = readKey(sourceText(this.#source, this.#keyStart, this.#keyEnd))
          this.#keyStart = -1
          this.#start = trimmedStart(this.#source, at + 1)
        }
        break
      case 44: // ,
        this.#count()
        if (this.#depth === 1) this.#endMember(at)
        break
    }
  }

  #count(): void {
    if (--this.#left < 0) this.tooMany = this.stopped = true
  }

  #endMember(at: number): void {
    if (this.key === undefined) return
    this.members.push({ key: this.key, start: this.#start, end: trimmedEnd(this.#source, at) })
    this.key = undefined
  }
}

/** Whether JSON text nests deeper than that: each level takes two characters, and most texts have fewer brackets than they may have levels. */
export const nestsDeeper = (text: string, maxDepth: number): boolean =>
  text.length > 2 * maxDepth &&
  count(text, '{', maxDepth) + count(text, '[', maxDepth) > maxDepth &&
  scanJson(text, maxDepth).tooDeep

/** How often the text holds a character; one more than `most` for anything above. */
function count(text: string, char: string, most: number): number {
  let found = 0
  for (let at = text.indexOf(char); at >= 0 && found <= most; at = text.indexOf(char, at + 1)) found++
  return found
}

/** Index after the closing quote of the string that opens at `open`; the text's end if it never closes. */
export function stringEnd(text: string, open: number): number {
  for (let at = open + 1; ; ) {
    const close = text.indexOf('"', at)
    if (close < 0) return text.length
    let slashes = 0
    while (text.charCodeAt(close - 1 - slashes) === backslash) slashes++
    if (slashes % 2 === 0) return close + 1
    at = close + 1
    // Where one escape follows another, a search for each quote would take longer than going through them.
    while (text.charCodeAt(at) === backslash) at += 2
  }
}

function readKey(quoted: string): string {
  if (!quoted.includes('\\')) return quoted.slice(1, -1)
  try {
    return JSON.parse(quoted) as string
  } catch {
    return quoted
  }
}

/** JSON's white space. */
export const isSpace = (code: number | undefined): boolean => code === 32 || code === 10 || code === 13 || code === 9

function trimmedStart(source: JsonSource, from: number): number {
  let at = from
  while (isSpace(codeAt(source, at))) at++
  return at
}

function trimmedEnd(source: JsonSource, to: number): number {
  let at = to
  while (isSpace(codeAt(source, at - 1))) at--
  return at
}

/** A JSON document: its text, or the same in UTF-8. */
export type JsonSource = string | Uint8Array

const decoder = new TextDecoder()
const encoder = new TextEncoder()

/** The character or byte there; none (NaN, undefined) outside the document. */
export const codeAt = (source: JsonSource, at: number): number | undefined =>
  typeof source === 'string' ? source.charCodeAt(at) : source[at]

/** What stands between two places, as text. */
export const sourceText = (source: JsonSource, start: number, end: number): string =>
  typeof source === 'string' ? source.slice(start, end) : decoder.decode(source.subarray(start, end))

/** The same without a copy, for `joined`. */
export const sourcePart = (source: JsonSource, start: number, end?: number): JsonSource =>
  typeof source === 'string' ? source.slice(start, end) : source.subarray(start, end)

/** The pieces of a new document, of the kind of the one that they are made of. */
export function joinSource(source: JsonSource, pieces: readonly JsonSource[]): JsonSource {
  if (typeof source === 'string') return pieces.join('')
  const chunks = pieces.map((piece) => (typeof piece === 'string' ? encoder.encode(piece) : piece))
  const out = new Uint8Array(chunks.reduce((size, { length }) => size + length, 0))
  let at = 0
  for (const chunk of chunks) {
    out.set(chunk, at)
    at += chunk.length
  }
  return out
}
