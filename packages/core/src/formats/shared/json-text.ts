import type { Json, JsonObject } from '../ir.ts'
import { isObject } from './reader.ts'

/** The value a text holds; undefined for a text that is no JSON. */
export function parseJson(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json
  } catch {
    return undefined
  }
}

/** The object a text holds; undefined for anything else. */
export function parseObject(text: string): JsonObject | undefined {
  const value = parseJson(text)
  return isObject(value) ? value : undefined
}

/** Integers beyond 2^53 would come out of JSON.parse as others. */
const longNumber = /\d{16,}/g

/** The JSON object a text holds; undefined if it holds none, or one that would not come out as it went in. */
export function objectIn(text: string): JsonObject | undefined {
  if (!text.trimStart().startsWith('{')) return undefined
  const value = parseJson(text)
  return isObject(value) && keepsNumbers(text, value) ? value : undefined
}

/** Whether every long number of the text is still there once it has been parsed. */
export function keepsNumbers(text: string, value: Json): boolean {
  const numbers = text.match(longNumber)
  if (numbers === null) return true
  const again = JSON.stringify(value)
  return numbers.every((number) => again.includes(number))
}
