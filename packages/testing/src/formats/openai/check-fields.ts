import { asList, isObject, type Json, type JsonObject, toText } from '../../base/json.ts'
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

/** A schema in strict mode, with the position for the error message. */
export interface StrictSchema {
  readonly schema: Json | undefined
  /** `function 'f'` or `response_format 'answer'`. */
  readonly owner: string
  readonly param: string
  readonly code: string | undefined
}

/** Returns OpenAI's error about a strict schema, or undefined. */
export function checkStrict({ schema, owner, param, code }: StrictSchema): WireError | undefined {
  const words = isObject(schema) ? strictError(schema, []) : undefined
  return words === undefined ? undefined : fieldError(`Invalid schema for ${owner}: ${words}`, param, code)
}

function strictError(schema: JsonObject, context: readonly string[]): string | undefined {
  const place = `In context=(${context.map((word) => `'${word}'`).join(', ')}${context.length === 1 ? ',' : ''})`
  const properties = isObject(schema.properties) ? schema.properties : undefined
  if (schema.type === 'object' || properties) {
    if (schema.additionalProperties !== false) {
      return `${place}, 'additionalProperties' is required to be supplied and to be false.`
    }
    const required = asList(schema.required)
    const left = Object.keys(properties ?? {}).find((name) => !required.includes(name))
    if (left !== undefined) {
      return `${place}, 'required' is required to be supplied and to be an array including every key in properties. Missing '${left}'.`
    }
  }
  for (const word of ['properties', '$defs', 'definitions']) {
    for (const [name, inner] of Object.entries(isObject(schema[word]) ? schema[word] : {})) {
      const found = isObject(inner) ? strictError(inner, [...context, word, name]) : undefined
      if (found !== undefined) return found
    }
  }
  for (const word of ['items', 'anyOf']) {
    for (const [index, inner] of [schema[word]].flat().entries()) {
      const step = word === 'items' ? [word] : [word, String(index)]
      const found = isObject(inner) ? strictError(inner, [...context, ...step]) : undefined
      if (found !== undefined) return found
    }
  }
  return undefined
}
