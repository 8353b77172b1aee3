import type { Json, JsonObject } from '../ir.ts'
import { isObject } from '../shared/reader.ts'

/** Keywords that strict mode takes, whose values are not schemas. */
const plain: ReadonlySet<string> = new Set([
  'type',
  'enum',
  'const',
  'title',
  'description',
  'required',
  'additionalProperties',
  'format',
  'pattern',
  'minimum',
  'maximum',
  'exclusiveMinimum',
  'exclusiveMaximum',
  'multipleOf',
  'minItems',
  'maxItems',
  '$ref',
  '$schema',
])

/**
 * True if the schema can be enforced to the letter: every object closed, every property required, no keyword that strict
 * mode refuses. A function that says nothing about `strict` is enforced by this format if, and only if, that is so.
 */
export function isStrictSchema(schema: Json | undefined): boolean {
  if (!isObject(schema)) return false
  for (const key of Object.keys(schema)) {
    if (plain.has(key)) continue
    const value = schema[key]
    if (key === 'items' && isStrictSchema(value)) continue
    if (key === 'anyOf' && Array.isArray(value) && value.every(isStrictSchema)) continue
    if (['properties', '$defs', 'definitions'].includes(key) && isObject(value))
      if (Object.values(value).every(isStrictSchema)) continue
    return false
  }
  return !describesObject(schema) || isClosed(schema)
}

const describesObject = ({ type, properties }: JsonObject): boolean =>
  type === 'object' || (Array.isArray(type) && type.includes('object')) || properties !== undefined

function isClosed({ properties, required, additionalProperties }: JsonObject): boolean {
  const names = isObject(properties) ? Object.keys(properties) : []
  const list = Array.isArray(required) ? required : []
  return additionalProperties === false && names.every((name) => list.includes(name))
}
