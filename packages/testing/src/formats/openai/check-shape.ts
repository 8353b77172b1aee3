import type { JsonObject } from '../../base/json.ts'
import type { WireError } from '../../wire/errors.ts'
import { badType, badValue, checkNumbers, fieldError, type NumberLimits } from './check-fields.ts'

/** Fields that OpenAI accepts for an operation. A field in no list is unknown. */
export interface RequestShape {
  readonly numbers?: Readonly<Record<string, NumberLimits>>
  readonly booleans?: readonly string[]
  readonly strings?: readonly string[]
  /** Fields with a fixed list of values. */
  readonly words?: Readonly<Record<string, readonly string[]>>
  /** Fields with a check of their own. */
  readonly others?: readonly string[]
}

/** Returns the first error in a body's fields; null counts as absent. */
export function checkShape(body: JsonObject, shape: RequestShape): WireError | undefined {
  const { numbers = {}, booleans = [], strings = [], words = {}, others = [] } = shape
  if (typeof body.model !== 'string' || body.model === '')
    return fieldError('you must provide a model parameter', undefined)
  const known = new Set(['model', ...Object.keys(numbers), ...booleans, ...strings, ...Object.keys(words), ...others])
  const stranger = Object.keys(body).find((key) => !known.has(key))
  if (stranger !== undefined) return fieldError(`Unknown parameter: '${stranger}'.`, stranger, 'unknown_parameter')
  const given = (key: string): boolean => body[key] !== undefined && body[key] !== null
  for (const key of strings) if (given(key) && typeof body[key] !== 'string') return badType(key, 'string', body[key])
  for (const key of booleans)
    if (given(key) && typeof body[key] !== 'boolean') return badType(key, 'boolean', body[key])
  for (const [key, supported] of Object.entries(words)) {
    const value = body[key]
    if (given(key) && !(typeof value === 'string' && supported.includes(value))) return badValue(value, supported, key)
  }
  return checkNumbers(body, numbers)
}

export const tooLong = (param: string, most: number, length: number): WireError =>
  fieldError(
    `Invalid '${param}': string too long. Expected a string with maximum length ${most}, but got a string with length ${length} instead.`,
    param,
    'string_above_max_length',
  )
