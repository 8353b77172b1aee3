import type { Json, JsonObject } from '../../base/json.ts'
import { toText } from '../../base/json.ts'
import type { WireError } from '../../wire/errors.ts'

/** Limits of a number. */
export interface NumberLimits {
  readonly kind: 'integer' | 'decimal'
  readonly min?: number
  readonly max?: number
}

/** Reasoning efforts. */
export const efforts = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max']

/** Returns an error in OpenAI's shape. */
export const fieldError = (message: string, param: string | undefined, code?: string): WireError => ({
  status: 400,
  message,
  type: 'invalid_request_error',
  ...(param === undefined ? {} : { param }),
  ...(code === undefined ? {} : { code }),
})

export const missingField = (param: string): WireError =>
  fieldError(`Missing required parameter: '${param}'.`, param, 'missing_required_parameter')

/** Formats a list of values as OpenAI does. */
export const quoted = (words: readonly string[]): string =>
  words.map((word, index) => (index > 0 && index === words.length - 1 ? `and '${word}'` : `'${word}'`)).join(', ')

export const badValue = (value: Json | undefined, supported: readonly string[], param: string): WireError =>
  fieldError(`Invalid value: '${toText(value)}'. Supported values are: ${quoted(supported)}.`, param, 'invalid_value')

function nameOf(value: Json | undefined): string {
  if (value === null || value === undefined) return 'null'
  if (Array.isArray(value)) return 'array'
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'decimal'
  return typeof value === 'object' ? 'object' : typeof value
}

export const badType = (param: string, wanted: string, value: Json | undefined): WireError => {
  const article = (word: string): string => (/^[aeiou]/.test(word) ? 'an' : 'a')
  const got = nameOf(value)
  return fieldError(
    `Invalid type for '${param}': expected ${article(wanted)} ${wanted}, but got ${article(got)} ${got} instead.`,
    param,
    'invalid_type',
  )
}

/** Checks the numbers of a request. */
export function checkNumbers(body: JsonObject, bounds: Readonly<Record<string, NumberLimits>>): WireError | undefined {
  for (const [param, bound] of Object.entries(bounds)) {
    const value = body[param]
    if (value === undefined || value === null) continue
    if (typeof value !== 'number' || (bound.kind === 'integer' && !Number.isInteger(value))) {
      return badType(param, bound.kind, value)
    }
    const words = (side: string, sign: string, limit: number): string =>
      `Invalid '${param}': ${bound.kind} ${side} value. Expected a value ${sign} ${limit}, but got ${value} instead.`
    if (bound.min !== undefined && value < bound.min) {
      return fieldError(words('below minimum', '>=', bound.min), param, `${bound.kind}_below_min_value`)
    }
    if (bound.max !== undefined && value > bound.max) {
      return fieldError(words('above maximum', '<=', bound.max), param, `${bound.kind}_above_max_value`)
    }
  }
  return undefined
}
