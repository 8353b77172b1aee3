import { ExactNumber, isObject, isSpace, type Json, type JsonObject, nestsDeeper, stringEnd } from './json.ts'

// Parsing of JSON texts. Most values become the doubles of `JSON.parse`. Values that are written again may keep numbers that no double
// can hold (`ExactNumber`), so that no digit is lost.

/** Parses JSON as `JSON.parse` does, except that numbers which no double can hold become `ExactNumber`s. Throws SyntaxError. */
export function parseExact(text: string): unknown {
  const value: unknown = JSON.parse(text)
  return hasExactNumbers(text) ? new Parser(text).value() : value
}

/** Parses a text; returns undefined if it is not JSON. */
export function parseJson(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json
  } catch {
    return undefined
  }
}

/** Parses a text with exact numbers, for values that are written again. Returns undefined if it is not JSON. */
function parseJsonExact(text: string): Json | undefined {
  try {
    return parseExact(text) as Json
  } catch {
    return undefined
  }
}

/** Nesting depth that every recursive function can handle. */
const mostLevels = 1000

/**
 * Parses a text within a document whose value becomes part of a document. Returns undefined if it is not JSON, or if it nests too deep:
 * the document's depth was checked before, but not the depth of the texts in it.
 */
export const parseInnerJson = (text: string): Json | undefined =>
  nestsDeeper(text, mostLevels) ? undefined : parseJsonExact(text)

/** Parses such a text; returns undefined unless it is an object. */
export function parseInnerObject(text: string): JsonObject | undefined {
  const value = parseInnerJson(text)
  return isObject(value) ? value : undefined
}

/** Parses a text; returns undefined unless it is an object. */
export function parseObject(text: string): JsonObject | undefined {
  const value = parseJson(text)
  return isObject(value) ? value : undefined
}

/** The same with exact numbers, for values that are written again. */
export function parseObjectExact(text: string): JsonObject | undefined {
  const value = parseJsonExact(text)
  return isObject(value) ? value : undefined
}

/** Parses a text if it begins as an object; see `parseInnerObject`. */
export const objectIn = (text: string): JsonObject | undefined =>
  text.trimStart().startsWith('{') ? parseInnerObject(text) : undefined

/** Parses a whole number of a query string; returns undefined for any other text. */
export function parseWholeNumber(text: string): number | undefined {
  const number = Number(text)
  return text.trim() !== '' && Number.isSafeInteger(number) ? number : undefined
}

/** Returns whether a JSON value is a number. */
export const isNumber = (value: unknown): boolean => typeof value === 'number' || value instanceof ExactNumber

/** Returns the exact number of a text, which must be a JSON number. */
export const exactNumber = (text: string): number | ExactNumber =>
  isExactDouble(text) ? Number(text) : new ExactNumber(text)

/**
 * Returns a value as a double, for a field that its format defines as a number. Returns undefined if the value is no number, or an
 * integer that no double can hold. A fraction with more digits is rounded: servers read such fields into doubles.
 */
export function doubleOf(value: unknown): number | undefined {
  if (typeof value === 'number') return value
  if (!(value instanceof ExactNumber) || !/[.eE]/.test(value.text)) return undefined
  const double = Number(value.text)
  return Number.isFinite(double) ? double : undefined
}

/** Replaces `ExactNumber`s by doubles, for plugins and hosts. Returns the same value if it contains none. */
export function plainNumbers<T>(value: T): T {
  if (value instanceof ExactNumber) return Number(value.text) as T
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) {
    const items = value.map(plainNumbers)
    return items.some((item, n) => item !== value[n]) ? (items as T) : value
  }
  let plain: T = value
  // Not `Object.entries`, whose arrays took most of the time: nearly all values contain no ExactNumber.
  for (const key in value) {
    const item: unknown = value[key]
    const member = plainNumbers(item)
    if (member === item) continue
    if (plain === value) plain = { ...value }
    Object.defineProperty(plain, key, { value: member, writable: true, enumerable: true, configurable: true })
  }
  return plain
}

/** Doubles hold decimals of fewer digits exactly. */
const minDigits = 16
/** An exponent of three digits may exceed the range of a double. In strings, most matches of the first part are longer words. */
const longExponent = /\d[eE][+-]?\d{3,}(?:[\s,}\]]|$)/
/** Longer documents consist mostly of long strings (images, files), which a search for quotes skips faster. */
const longText = 32_768

/**
 * Returns whether a document has a number that no double can hold. Nearly all documents have none. A short document is searched for a run of
 * characters as long as such a number, by looking at one character in 16, and for a long exponent. This takes about a tenth of the
 * time of `JSON.parse`. Strings are distinguished from numbers only after a match.
 */
export const hasExactNumbers = (text: string): boolean =>
  (text.length >= longText || mayHaveLongNumber(text) || longExponent.test(text)) && findExactNumber(text)

function mayHaveLongNumber(text: string): boolean {
  for (let at = minDigits - 1; at < text.length; at += minDigits) {
    if (!isNumberCode(text.charCodeAt(at))) continue
    // A run of 16 characters extends at least 8 characters to one side.
    if (!isNumberCode(text.charCodeAt(at + 8)) && !isNumberCode(text.charCodeAt(at - 8))) continue
    let start = at
    while (isNumberCode(text.charCodeAt(start - 1))) start--
    const end = numberEnd(text, at)
    if (end - start >= minDigits && !isExactDouble(text.slice(start, end))) return true
    // Skips the rest of the run: each run is read once.
    while (at + minDigits < end) at += minDigits
  }
  return false
}

function findExactNumber(text: string): boolean {
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === quote) at = stringEnd(text, at) - 1
    else if (isDigit(code)) {
      const end = numberEnd(text, at)
      if (!isExactDouble(text.slice(at, end))) return true
      at = end - 1
    }
  }
  return false
}

const quote = 34
const isDigit = (code: number): boolean => code >= 48 && code <= 57
/** Returns whether a number can contain the character: a digit, a sign, a point or the letter of an exponent. */
const isNumberCode = (code: number): boolean =>
  code < 58 ? code > 42 && code !== 44 && code !== 47 : code === 101 || code === 69

function numberEnd(text: string, at: number): number {
  let end = at + 1
  while (isNumberCode(text.charCodeAt(end))) end++
  return end
}

/**
 * Returns whether a double is written with the same decimal value, or the text is no number. An integer must also stay an integer in its
 * spelling: parsers of many languages distinguish 1e+21 from 1000000000000000000000.
 */
function isExactDouble(text: string): boolean {
  if (text.length < minDigits && !longExponent.test(text)) return true
  const written = String(Number(text))
  if (written === text) return true
  const given = decimal(text)
  return given === undefined || (!given.isInteger && given.value === decimal(written)?.value)
}

const spelling = /^-?(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/

/** Returns a number as its digits and a power of ten: equal magnitudes have equal texts. Returns undefined for no number. */
function decimal(text: string): { value: string; isInteger: boolean } | undefined {
  const found = spelling.exec(text)
  if (found === null) return undefined
  const [, whole = '', fraction = '', exponent] = found
  const isInteger = fraction === '' && exponent === undefined
  const all = whole + fraction
  let start = 0
  while (start < all.length && all.charCodeAt(start) === zero) start++
  let end = all.length
  while (end > start && all.charCodeAt(end - 1) === zero) end--
  if (start === end) return { value: '0', isInteger }
  const power = Number(exponent ?? 0) - fraction.length + (all.length - end)
  return { value: `${all.slice(start, end)}e${power}`, isInteger }
}

const zero = 48

/** Parses a document that `JSON.parse` has accepted, and whose nesting the stack allows. */
class Parser {
  readonly #text: string
  #at = 0

  constructor(text: string) {
    this.#text = text
  }

  value(): unknown {
    const code = this.#next()
    if (code === 123) return this.#object()
    if (code === 91) return this.#array()
    if (code === quote) return this.#string()
    const start = this.#at
    if (isDigit(code) || code === 45) {
      this.#at = numberEnd(this.#text, start)
      return exactNumber(this.#text.slice(start, this.#at))
    }
    this.#at += code === 102 ? 5 : 4
    return code === 116 ? true : code === 102 ? false : null
  }

  #object(): unknown {
    const object: { [key: string]: unknown } = {}
    this.#at++
    while (this.#next() !== 125) {
      const key = this.#string()
      this.#next()
      this.#at++
      const value = this.value()
      if (key === '__proto__')
        Object.defineProperty(object, key, { value, writable: true, enumerable: true, configurable: true })
      else object[key] = value
      if (this.#next() === 44) this.#at++
    }
    this.#at++
    return object
  }

  #array(): unknown[] {
    const list: unknown[] = []
    this.#at++
    while (this.#next() !== 93) {
      list.push(this.value())
      if (this.#next() === 44) this.#at++
    }
    this.#at++
    return list
  }

  #string(): string {
    const start = this.#at
    this.#at = stringEnd(this.#text, start)
    const quoted = this.#text.slice(start, this.#at)
    return quoted.includes('\\') ? (JSON.parse(quoted) as string) : quoted.slice(1, -1)
  }

  /** Skips white space and returns the next character. */
  #next(): number {
    while (isSpace(this.#text.charCodeAt(this.#at))) this.#at++
    return this.#text.charCodeAt(this.#at)
  }
}
