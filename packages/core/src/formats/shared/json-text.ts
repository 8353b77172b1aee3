import { GatewayError } from '../../base/errors.ts'
import { parseExact } from '../../base/json/exact-number.ts'
import { isObject } from '../../base/json/object.ts'
import { nestsDeeper } from '../../base/json/scan.ts'
import type { Json, JsonObject } from '../../base/json/types.ts'

/** The value a text holds; undefined for a text that is no JSON. */
export function parseJson(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json
  } catch {
    return undefined
  }
}

/** The value a text holds, its numbers exact: for what is written again. Undefined for a text that is no JSON. */
function parseJsonExact(text: string): Json | undefined {
  try {
    return parseExact(text) as Json
  } catch {
    return undefined
  }
}

/** Levels that whatever walks a document can take, whoever wrote it. */
const mostLevels = 1000

/**
 * The value that a text within a document holds, for a place where it becomes part of a document itself; undefined for no JSON,
 * and for one that nests too deep for that: the document's own depth was limited before, that of the texts in it was not.
 */
export const parseInnerJson = (text: string): Json | undefined =>
  nestsDeeper(text, mostLevels) ? undefined : parseJsonExact(text)

/** The object that such a text holds; undefined for anything else. */
export function parseInnerObject(text: string): JsonObject | undefined {
  const value = parseInnerJson(text)
  return isObject(value) ? value : undefined
}

/** From here on a look at each character takes less time than writing them out. */
const longText = 8192
/** What may stand in JSON otherwise than in a text: quotes, backslashes, what is below a blank, and halves of surrogate pairs. */
const written = /[^ !#-[\]-\ud7ff\ue000-\uffff]/

/**
 * A text as JSON. As `JSON.stringify`, which builds a long one from pieces of some kilobytes: megabytes of them are copied by one
 * minor collection after the other.
 */
export const quoteText = (text: string): string =>
  text.length < longText || written.test(text) ? JSON.stringify(text) : `"${text}"`

/** The object a text holds; undefined for anything else. */
export function parseObject(text: string): JsonObject | undefined {
  const value = parseJson(text)
  return isObject(value) ? value : undefined
}

/** The same with its numbers exact: for what is written again. */
export function parseObjectExact(text: string): JsonObject | undefined {
  const value = parseJsonExact(text)
  return isObject(value) ? value : undefined
}

/** The JSON object a text holds; undefined if it holds none. */
export const objectIn = (text: string): JsonObject | undefined =>
  text.trimStart().startsWith('{') ? parseInnerObject(text) : undefined

const opens = (char: number): boolean => char === 0x7b || char === 0x5b // { [
const closes = (char: number): boolean => char === 0x7d || char === 0x5d // } ]
const isBlank = (char: number): boolean => char === 0x20 || (char >= 0x09 && char <= 0x0d)

/**
 * Throws GatewayError `upstream_bad_response` for an event that cannot be JSON, by its two ends: half an event in the middle
 * of a stream would leave a hole in an answer that then ends well. Parsing each event to be sure would cost more than all
 * else that a tap does.
 */
export function checkJsonEnds(data: string): void {
  let from = 0
  let to = data.length - 1
  while (from < to && isBlank(data.charCodeAt(from))) from++
  while (to > from && isBlank(data.charCodeAt(to))) to--
  if (opens(data.charCodeAt(from)) && closes(data.charCodeAt(to)) && to > from) return
  throw invalidEventError()
}

/** The object that an event holds which is to be read anyway. Throws as `checkWhole` does. */
export function parseEventObject(data: string): JsonObject {
  const value = parseObject(data)
  if (value === undefined) throw invalidEventError()
  return value
}

/** For an event that was read, and is none. */
export const invalidEventError = (): GatewayError =>
  new GatewayError('upstream_bad_response', 'The upstream sent an event in its stream that is not JSON.')

/** A whole number as a query writes it; undefined for anything else. */
export function parseWholeNumber(text: string): number | undefined {
  const number = Number(text)
  return text.trim() !== '' && Number.isSafeInteger(number) ? number : undefined
}
