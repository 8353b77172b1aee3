import { exactNumber } from '../../base/json/exact-number.ts'
import { isObject } from '../../base/json/object.ts'
import type { Json, JsonObject } from '../../base/json/types.ts'
import { setOwn } from '../shared/json-fields.ts'
import { mapInner, SchemaGraph, sameOr } from '../shared/schema-graph.ts'
import { type LoweredSchema, lowerSchema, type SchemaDialect } from '../shared/schema-lowering.ts'
import { respell } from './spelling.ts'

/**
 * Two dialects of schema: `parameters` and `responseSchema` hold Google's subset of OpenAPI 3.0, `parametersJsonSchema`
 * and `responseJsonSchema` hold JSON Schema, which is what the IR has. The subset is written only for schemas that lose
 * nothing by it; everything else goes out as the JSON Schema it is.
 */

const typeNames = ['string', 'number', 'integer', 'boolean', 'array', 'object', 'null'] as const
/** Some SDKs write the enum's numbers: 1 is a string. */
const typeName = (type: Json | undefined): string | undefined =>
  typeof type === 'string'
    ? typeNames.find((name) => name === type.toLowerCase())
    : typeof type === 'number'
      ? typeNames[type - 1]
      : undefined

/** Numbers that proto JSON writes as text. */
const counts: ReadonlySet<string> = new Set([
  'minItems',
  'maxItems',
  'minLength',
  'maxLength',
  'minProperties',
  'maxProperties',
])

/** Google's subset as JSON Schema. Names of properties, defaults and examples are the user's own and stay as they are. */
export function fromOpenApi(schema: JsonObject): JsonObject {
  const source = respell(schema)
  const out: JsonObject = {}
  const name = typeName(source.type)
  const nullable = source.nullable === true && name !== 'null'
  for (const key of Object.keys(source)) {
    const value = source[key] ?? null
    switch (key) {
      case 'type':
        if (name === undefined) {
          if (value !== 'TYPE_UNSPECIFIED' && value !== 0) out.type = value
        } else out.type = nullable ? [name, 'null'] : name
        break
      case 'nullable':
        break
      case 'properties':
        out.properties = isObject(value) ? mapValues(value, deepen) : value
        break
      case 'items':
        out.items = deepen(value)
        break
      case 'anyOf':
        out.anyOf = Array.isArray(value) ? value.map(deepen) : value
        break
      case 'enum':
        out.enum = nullable && Array.isArray(value) && !value.includes(null) ? [...value, null] : value
        break
      case 'format':
        if (value !== 'enum') out.format = value
        break
      case 'example':
        out.examples = [value]
        break
      default:
        setOwn(out, key, counts.has(key) && typeof value === 'string' && value !== '' ? countIn(value) : value)
    }
  }
  if (nullable && name === undefined) {
    const { anyOf, ...rest } = out
    return Array.isArray(anyOf) ? { ...rest, anyOf: [...anyOf, { type: 'null' }] } : out
  }
  return out
}

const countIn = (text: string): Json => (/^(?:0|[1-9]\d*)$/.test(text) ? (exactNumber(text) as number) : Number(text))

const deepen = (value: Json): Json => (isObject(value) ? fromOpenApi(value) : value)
const mapValues = (object: JsonObject, change: (value: Json) => Json): JsonObject => {
  const out: JsonObject = {}
  for (const key of Object.keys(object)) setOwn(out, key, change(object[key] ?? null))
  return out
}

/** JSON Schema in which clients wrote Google's upper-case types; the same object if there are none. */
export function lowerTypes(schema: JsonObject): JsonObject {
  let out: JsonObject | undefined
  for (const key of Object.keys(schema)) {
    const value = schema[key] ?? null
    const lowered = key === 'type' ? lowerType(value) : mapInner(key, value, lowerTypes)
    if (lowered === value) continue
    out ??= { ...schema }
    out[key] = lowered
  }
  return out ?? schema
}

const lowerType = (type: Json): Json =>
  Array.isArray(type) ? sameOr(type, (one) => typeName(one) ?? one) : (typeName(type) ?? type)

const plainKeys: ReadonlySet<string> = new Set([
  'title',
  'description',
  'minimum',
  'maximum',
  'pattern',
  'required',
  'propertyOrdering',
  ...counts,
])
const stringFormats: ReadonlySet<string> = new Set(['date-time'])
const numberFormats: ReadonlySet<string> = new Set(['float', 'double', 'int32', 'int64'])

/** JSON Schema as Google's subset; undefined if that would change what it means. */
export function toOpenApi(schema: JsonObject): JsonObject | undefined {
  const types = Array.isArray(schema.type) ? schema.type : [schema.type ?? null]
  const nullable = types.length === 2 && types.includes('null')
  const [type] = types.filter((name) => name !== 'null')
  if (typeof type !== 'string' || typeName(type) !== type || (types.length > 1 && !nullable)) return undefined
  const out: JsonObject = { type: type.toUpperCase() }
  if (nullable) out.nullable = true
  for (const key of Object.keys(schema)) {
    const value = schema[key] ?? null
    if (key === 'type') continue
    if (plainKeys.has(key)) out[key] = value
    else if (key === 'enum') {
      const words = Array.isArray(value) ? value.filter((word) => !(nullable && word === null)) : []
      if (type !== 'string' || words.length === 0 || !words.every((word) => typeof word === 'string')) return undefined
      // Without null among the words the type's null is ruled out again.
      if (nullable && words.length === (value as Json[]).length) return undefined
      out.enum = words
    } else if (key === 'format') {
      const known = type === 'string' ? stringFormats : numberFormats
      if (typeof value !== 'string' || !known.has(value)) return undefined
      out.format = value
    } else if (key === 'properties' && isObject(value)) {
      const inner: JsonObject = {}
      for (const name of Object.keys(value)) {
        const property = value[name]
        const lowered = isObject(property) ? toOpenApi(property) : undefined
        if (lowered === undefined) return undefined
        setOwn(inner, name, lowered)
      }
      out.properties = inner
    } else if (key === 'items' && isObject(value)) {
      const lowered = toOpenApi(value)
      if (lowered === undefined) return undefined
      out.items = lowered
    } else return undefined
  }
  // An object without properties and an array without items are refused in the subset.
  if (type === 'object' && (!isObject(out.properties) || Object.keys(out.properties).length === 0)) return undefined
  return type === 'array' && out.items === undefined ? undefined : out
}

/** What of JSON Schema Google's servers hold their models to; the rest they take, and do not look at. */
const jsonSchema: SchemaDialect = {
  keywords: new Set([
    '$id',
    '$defs',
    '$ref',
    '$anchor',
    'definitions',
    'type',
    'format',
    'title',
    'description',
    'enum',
    'items',
    'prefixItems',
    'minItems',
    'maxItems',
    'minimum',
    'maximum',
    'anyOf',
    'properties',
    'additionalProperties',
    'required',
    'propertyOrdering',
  ]),
  formats: new Set(['date-time', 'date', 'time']),
  bareRefs: true,
  unenforced: 'kept',
}

/** A schema of another dialect, in words that Google's servers know where there are some. */
export const lowerToGoogle = (schema: JsonObject, at: string): LoweredSchema =>
  lowerSchema(new SchemaGraph(schema, at), jsonSchema)
