import { GatewayError } from '../../base/errors.ts'
import { parseExact } from '../../base/json/exact-number.ts'
import { isObject } from '../../base/json/object.ts'
import { nestsDeeper } from '../../base/json/scan.ts'
import type { Json, JsonObject } from '../../base/json/types.ts'

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

/** From this length on, checking each character is faster than escaping. */
const longText = 8192
/** Characters that JSON escapes: quotes, backslashes, control characters, and halves of surrogate pairs. */
const escaped = /[^ !#-[\]-\ud7ff\ue000-\uffff]/

/** Returns a text as JSON. `JSON.stringify` builds long texts from pieces of some kilobytes, which each minor collection copies again. */
export const quoteText = (text: string): string =>
  text.length < longText || escaped.test(text) ? JSON.stringify(text) : `"${text}"`

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

const opens = (char: number): boolean => char === 0x7b || char === 0x5b // { [
const closes = (char: number): boolean => char === 0x7d || char === 0x5d // } ]
const isBlank = (char: number): boolean => char === 0x20 || (char >= 0x09 && char <= 0x0d)

/**
 * Checks the first and last character of an event. Half an event within a stream would leave a gap in a response that then ends
 * normally. Parsing each event would cost more than the rest of a tap.
 *
 * @throws GatewayError `upstream_bad_response` if the event cannot be JSON
 */
export function checkJsonEnds(data: string): void {
  let from = 0
  let to = data.length - 1
  while (from < to && isBlank(data.charCodeAt(from))) from++
  while (to > from && isBlank(data.charCodeAt(to))) to--
  if (opens(data.charCodeAt(from)) && closes(data.charCodeAt(to)) && to > from) return
  throw invalidEventError()
}

/** Parses an event. Throws as `checkJsonEnds` does. */
export function parseEventObject(data: string): JsonObject {
  const value = parseObject(data)
  if (value === undefined) throw invalidEventError()
  return value
}

/** Creates the error for an event that is not JSON. */
export const invalidEventError = (): GatewayError =>
  new GatewayError('upstream_bad_response', 'The upstream sent an event in its stream that is not JSON.')

/** Parses a whole number of a query string; returns undefined for any other text. */
export function parseWholeNumber(text: string): number | undefined {
  const number = Number(text)
  return text.trim() !== '' && Number.isSafeInteger(number) ? number : undefined
}
