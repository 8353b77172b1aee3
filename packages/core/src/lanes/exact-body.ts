import { hasExactNumbers, parseExact } from '../base/json/exact-number.ts'
import type { JsonObject } from '../base/json/types.ts'
import type { RequestBody } from '../formats/request-body.ts'

/**
 * Returns the body's value with exact numbers, for what is written again. Validation and routing read the plain value, where
 * numbers are doubles. What the path says of a request, and the text lacks, is in both.
 */
export function exactValue({ text, value }: Pick<RequestBody, 'text' | 'value'>): JsonObject {
  if (!hasExactNumbers(text)) return value
  const exact = parseExact(text) as JsonObject
  const body: JsonObject = { ...value }
  for (const key of Object.keys(value)) {
    const member = Object.hasOwn(exact, key) ? exact[key] : undefined
    // Texts and booleans may be the path's: they hold no numbers.
    if (member !== undefined && typeof member !== 'string' && typeof member !== 'boolean') body[key] = member
  }
  return body
}
