/** A JSON value. During translation a number may be an `ExactNumber`; the type omits it. */
export type Json = null | boolean | number | string | Json[] | JsonObject

/** A JSON object. */
export type JsonObject = { [key: string]: Json }

/** Returns whether a value is a JSON object: no list, no null, no `ExactNumber`. */
export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof ExactNumber)

/** Sets a member unless the value is undefined: objects on the wire contain no `undefined`. */
export function put<T extends object, K extends keyof T>(target: T, key: K, value: T[K] | undefined): void {
  if (value !== undefined) target[key] = value
}

/**
 * A number of a JSON document whose decimal value no double holds: an integer above 2^53, more digits than a double has, or a
 * magnitude beyond its range. It keeps its source text. `stringifyExact` writes that text; `JSON.stringify` writes the
 * nearest double, as if the document had been read with `JSON.parse`.
 *
 * The type `Json` omits it: codecs copy numbers, and read the few numbers that they calculate with through `doubleOf`.
 */
export class ExactNumber {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }

  toJSON(): number {
    wasWritten = true
    return Number(this.text)
  }
}

/** True if `JSON.stringify` has written an ExactNumber since the last reset. */
let wasWritten = false

/** Returns JSON as `JSON.stringify` does, with the source text of each `ExactNumber`. */
export function stringifyExact(value: unknown): string {
  wasWritten = false
  const text = JSON.stringify(value)
  return wasWritten ? (write(value) ?? text) : text
}

/** Returns the JSON of plain values. Returns undefined for values that JSON omits. */
function write(value: unknown): string | undefined {
  if (value instanceof ExactNumber) return value.text
  if (Array.isArray(value)) return `[${value.map((item) => write(item) ?? 'null').join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const members: string[] = []
  for (const [key, item] of Object.entries(value)) {
    const text = write(item)
    if (text !== undefined) members.push(`${JSON.stringify(key)}:${text}`)
  }
  return `{${members.join(',')}}`
}

/** From this length on, checking each character is faster than escaping. */
const longText = 8192
/** Characters that JSON escapes: quotes, backslashes, control characters, and halves of surrogate pairs. */
const escaped = /[^ !#-[\]-\ud7ff\ue000-\uffff]/

/** Returns a text as JSON. `JSON.stringify` builds long texts from pieces of some kilobytes, which each minor collection copies again. */
export const quoteText = (text: string): string =>
  text.length < longText || escaped.test(text) ? JSON.stringify(text) : `"${text}"`

/** Escapes one step of a JSON Pointer (RFC 6901). */
export const escapeStep = (step: string): string =>
  step.includes('~') || step.includes('/') ? step.replaceAll('~', '~0').replaceAll('/', '~1') : step

/** Returns the JSON Pointer to `key` below `base`. */
export const pointer = (base: string, key: string | number): string =>
  `${base}/${typeof key === 'number' ? key : escapeStep(key)}`

/**
 * Folds a member's name as the most tolerant parser does. Go's JSON decoder ignores case with Unicode's simple folding ('ſ' is an 's');
 * decoders of protocol buffers accept snake case.
 */
export const foldName = (name: string): string => name.toUpperCase().toLowerCase().replaceAll('_', '')

/** Combines length and first letter of a name in one number, which equivalent ASCII spellings share. */
export const hintOf = (name: string): number => name.length * 32 + (name.charCodeAt(0) & 31)

/** A JSON document as text, or as bytes in UTF-8. */
export type JsonSource = string | Uint8Array

/** One member of a document's top-level object: its key, and the start and end of its value in the source. */
export interface Member {
  readonly key: string
  readonly start: number
  readonly end: number
}

/** The result of a scan. */
export interface Scan {
  /** The nesting exceeds the limit; `members` is incomplete. */
  readonly tooDeep: boolean
  /** The document has more values and names than the limit; `members` is incomplete. */
  readonly tooMany: boolean
  /** The top-level object's members in order, duplicates included. Empty if the document is no object. */
  readonly members: readonly Member[]
}

const quote = 34
const backslash = 92

/**
 * Scans JSON text in one linear pass before it is parsed: finds the positions of top-level values and checks the nesting. `JSON.parse`
 * accepts millions of levels, on which `JSON.stringify` and recursive functions overflow the stack. The text may be invalid JSON: the
 * members are then meaningless, and the parser that follows reports the error.
 *
 * @param maxValues largest number of values and names: to read millions of them takes seconds, however small they are
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

/** Builds a `Scan` from a document's strings, and from the characters between strings, in order. */
export class Scanner implements Scan {
  readonly members: Member[] = []
  tooDeep = false
  tooMany = false
  /** A limit is exceeded: the rest of the document can be skipped. */
  stopped = false
  /** The key of the member whose value is being scanned. */
  key: string | undefined
  readonly #source: JsonSource
  readonly #maxDepth: number
  /** Values and names until the limit is reached. */
  #left: number
  #depth = 0
  #inObject = false
  /** Position of the last top-level string that may be a key; -1: none. */
  #keyStart = -1
  #keyEnd = -1
  #start = -1

  constructor(source: JsonSource, maxDepth: number, maxValues = Number.POSITIVE_INFINITY) {
    this.#source = source
    this.#maxDepth = maxDepth
    this.#left = maxValues
  }

  /** Adds a string; `start` and `end` include its quotes. */
  addString(start: number, end: number): void {
    if (this.#depth !== 1 || !this.#inObject || this.key !== undefined) return
    this.#keyStart = start
    this.#keyEnd = end
  }

  /** Adds a character outside strings. */
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

/**
 * Returns whether JSON text nests deeper than `maxDepth`. Most texts need no scan: they are shorter than two characters per level, or
 * have fewer brackets than levels are allowed.
 */
export const nestsDeeper = (text: string, maxDepth: number): boolean =>
  text.length > 2 * maxDepth &&
  count(text, '{', maxDepth) + count(text, '[', maxDepth) > maxDepth &&
  scanJson(text, maxDepth).tooDeep

/** Counts the occurrences of a character, up to `most + 1`. */
function count(text: string, char: string, most: number): number {
  let found = 0
  for (let at = text.indexOf(char); at >= 0 && found <= most; at = text.indexOf(char, at + 1)) found++
  return found
}

/** Returns the index after the closing quote of the string that opens at `open`, or the text's length if there is none. */
export function stringEnd(text: string, open: number): number {
  for (let at = open + 1; ; ) {
    const close = text.indexOf('"', at)
    if (close < 0) return text.length
    let slashes = 0
    while (text.charCodeAt(close - 1 - slashes) === backslash) slashes++
    if (slashes % 2 === 0) return close + 1
    at = close + 1
    // Consecutive escapes are skipped here: to search for each escaped quote would take longer.
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

/** Returns whether a character is white space in JSON. */
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

const decoder = new TextDecoder()
const encoder = new TextEncoder()

/** Returns the character or byte at a position. Outside the document: NaN or undefined. */
export const codeAt = (source: JsonSource, at: number): number | undefined =>
  typeof source === 'string' ? source.charCodeAt(at) : source[at]

/** Returns a part of a document as text. */
export const sourceText = (source: JsonSource, start: number, end: number): string =>
  typeof source === 'string' ? source.slice(start, end) : decoder.decode(source.subarray(start, end))

/** Returns a part of a document without a copy, for `joinSource`. */
export const sourcePart = (source: JsonSource, start: number, end?: number): JsonSource =>
  typeof source === 'string' ? source.slice(start, end) : source.subarray(start, end)

/** Joins the pieces of a new document. The result is text or bytes, as `source` is. */
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
