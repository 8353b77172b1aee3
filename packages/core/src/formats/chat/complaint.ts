import { isObject } from '../../base/json/object.ts'
import type { Json } from '../../base/json/types.ts'
import { type Complaint, dotted, type Issue } from '../shared/validate.ts'
import { roles } from './schema.ts'

/** Tells an issue in OpenAI's words: message, `param` in dots, and `code`. */
export function complain(issue: Issue, body: Json): Complaint {
  const param = dotted(issue.path)
  if (param === '') return { message: `Invalid body: expected an object, but got ${kindOf(body)} instead.` }
  const value = valueAt(body, issue.path)
  if (value === undefined)
    return { message: `Missing required parameter: '${param}'.`, param, code: 'missing_required_parameter' }
  switch (issue.code) {
    case 'invalid_value':
      return wrongWord(param, issue.values, value)
    case 'too_small':
    case 'too_big':
      return outOfBounds(issue, param, value)
    case 'custom':
      if (issue.params?.integral) return wrongType(param, 'an integer', value)
      return wrongType(param, 'one of a string or array of objects', value)
    case 'invalid_union':
      if (issue.path[issue.path.length - 1] === 'role') return wrongWord(param, roles, value)
      return wrongType(param, issue.message, value)
    case 'invalid_type':
      return wrongType(param, expected(issue.expected, issue.message), value)
    default:
      return { message: `Invalid value for '${param}'.`, param, code: 'invalid_value' }
  }
}

function wrongWord(param: string, words: readonly unknown[], value: Json): Complaint {
  if (typeof value !== 'string') return wrongType(param, 'a string', value)
  const values = words.map((word) => `'${String(word)}'`)
  const last = values.pop() ?? ''
  return {
    message: `Invalid value: '${value}'. Supported values are: ${values.join(', ')}, and ${last}.`,
    param,
    code: 'invalid_value',
  }
}

const wrongType = (param: string, wanted: string, value: Json): Complaint => ({
  message: `Invalid type for '${param}': expected ${wanted}, but got ${kindOf(value)} instead.`,
  param,
  code: 'invalid_type',
})

const expectedWords: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a decimal',
  boolean: 'a boolean',
  array: 'an array',
  object: 'an object',
  record: 'an object',
}

/** The schema's own words, where it gives some. */
const expected = (type: string, message: string): string =>
  message.startsWith('Invalid input') ? (expectedWords[type] ?? type) : message

function outOfBounds(issue: Extract<Issue, { code: 'too_small' | 'too_big' }>, param: string, value: Json): Complaint {
  const low = issue.code === 'too_small'
  const bound = Number(low ? issue.minimum : issue.maximum)
  if (issue.origin === 'array' || issue.origin === 'string') {
    const what = issue.origin === 'array' ? 'empty array' : 'empty string'
    return {
      message: `Invalid '${param}': ${what}. Expected ${issue.origin === 'array' ? 'an array' : 'a string'} with minimum length ${bound}, but got an ${what} instead.`,
      param,
      code: what.replace(' ', '_'),
    }
  }
  const kind = typeof value === 'number' && Number.isInteger(value) && isCounted(param) ? 'integer' : 'decimal'
  return {
    message: `Invalid '${param}': ${kind} ${low ? 'below minimum' : 'above maximum'} value. Expected a value ${low ? '>=' : '<='} ${bound}, but got ${String(value)} instead.`,
    param,
    code: `${kind}_${low ? 'below_min' : 'above_max'}_value`,
  }
}

/** Fields that count something take integers; the others decimals, though a whole number may stand there. */
const counted: ReadonlySet<string> = new Set([
  'n',
  'max_tokens',
  'max_completion_tokens',
  'top_logprobs',
  'seed',
  // beside chat
  'best_of',
  'dimensions',
  'logprobs',
  'max_chunks_per_doc',
  'max_tokens_per_doc',
  'top_n',
])
const isCounted = (param: string): boolean => counted.has(param)

function kindOf(value: Json | undefined): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'an array'
  if (typeof value === 'number') return Number.isInteger(value) ? 'an integer' : 'a decimal number'
  return typeof value === 'object' ? 'an object' : typeof value === 'boolean' ? 'a boolean' : 'a string'
}

function valueAt(body: Json, path: readonly PropertyKey[]): Json | undefined {
  let value: Json | undefined = body
  for (const key of path) {
    if (Array.isArray(value)) value = value[Number(key)]
    else if (isObject(value) && typeof key === 'string' && Object.hasOwn(value, key)) value = value[key]
    else return undefined
  }
  return value
}
