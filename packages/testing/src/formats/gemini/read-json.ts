import type { Json, JsonObject } from '../../base/json.ts'
import { isObject } from '../../base/json.ts'
import type { WireError } from '../../wire/errors.ts'
import { fieldsOf } from './fields.ts'

interface Violation {
  /** Path in the interface description's spelling; empty at the top. */
  readonly field: string
  readonly description: string
}

const base64 = /^[A-Za-z0-9+/_-]*={0,2}$/

/**
 * Reads a request as Google's JSON gateway does: both spellings of a field are equal, numbers may be strings, null is absent,
 * enum values may be in lower case. Unknown fields and wrong types are rejected, all at once.
 */
export function readGeminiJson(body: JsonObject, type: string): { value: JsonObject; error: WireError | undefined } {
  const violations: Violation[] = []
  const value = readMessage(body, type, '', violations)
  return { value, error: violations.length === 0 ? undefined : refusalOf(violations) }
}

function refusalOf(violations: readonly Violation[]): WireError {
  return {
    status: 400,
    type: 'INVALID_ARGUMENT',
    message: violations.map(({ description }) => description).join('\n'),
    details: [
      {
        '@type': 'type.googleapis.com/google.rpc.BadRequest',
        fieldViolations: violations.map(({ field, description }) => ({
          ...(field === '' ? {} : { field }),
          description,
        })),
      },
    ],
  }
}

function readMessage(value: JsonObject, type: string, at: string, violations: Violation[]): JsonObject {
  const fields = fieldsOf(type)
  const read: JsonObject = {}
  for (const [name, inner] of Object.entries(value)) {
    const field = fields?.get(name)
    if (!field) {
      const place = at === '' ? '' : ` at '${at}'`
      const description = `Invalid JSON payload received. Unknown name "${name}"${place}: Cannot find field.`
      violations.push({ field: at, description })
    } else if (inner !== null) {
      read[field.name] = readValue(inner, field.type, at === '' ? field.snake : `${at}.${field.snake}`, violations)
    }
  }
  return read
}

function readValue(value: Json, type: string, at: string, violations: Violation[]): Json {
  if (type.startsWith('[')) {
    // A single value is accepted for a list of one.
    const list = Array.isArray(value) ? value : [value]
    return list.map((item, index) => readValue(item, type.slice(1, -1), `${at}[${index}]`, violations))
  }
  if (type === 'any') return value
  if (type === 'struct' || type.startsWith('{') || fieldsOf(type)) {
    if (!isObject(value)) return refuse(value, type === 'struct' ? 'google.protobuf.Struct' : type, at, violations)
    if (type === 'struct') return value
    if (!type.startsWith('{')) return readMessage(value, type, at, violations)
    return Object.fromEntries(
      Object.entries(value).map(([key, inner], index) => [
        key,
        readValue(inner, type.slice(1, -1), `${at}[${index}].value`, violations),
      ]),
    )
  }
  return readScalar(value, type, at, violations)
}

function readScalar(value: Json, type: string, at: string, violations: Violation[]): Json {
  switch (type) {
    case 'word':
    case 'string':
      return typeof value === 'string' ? value : refuse(value, 'TYPE_STRING', at, violations)
    case 'bool':
      return typeof value === 'boolean' ? value : refuse(value, 'TYPE_BOOL', at, violations)
    case 'bytes':
      if (typeof value !== 'string') return refuse(value, 'TYPE_BYTES', at, violations)
      if (!base64.test(value)) {
        const description = `Invalid value at '${at}' (TYPE_BYTES), Base64 decoding failed for "${value}"`
        violations.push({ field: at, description })
      }
      return value
    case 'number':
    case 'int':
    case 'long': {
      const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value
      const good = typeof number === 'number' && Number.isFinite(number) && (type === 'number' || number % 1 === 0)
      const name = { number: 'TYPE_FLOAT', int: 'TYPE_INT32', long: 'TYPE_INT64' }[type]
      return good ? number : refuse(value, name, at, violations)
    }
    default: {
      const word = typeof value === 'string' ? value.toUpperCase() : ''
      return type.split('|').includes(word) ? word : refuse(value, 'TYPE_ENUM', at, violations)
    }
  }
}

function refuse(value: Json, type: string, at: string, violations: Violation[]): Json {
  violations.push({ field: at, description: `Invalid value at '${at}' (${type}), ${JSON.stringify(value)}` })
  return value
}
