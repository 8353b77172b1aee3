import { isObject, type Json, type JsonObject } from '../../base/json/json.ts'
import { exactNumber } from '../../base/json/parse.ts'
import { setOwn } from '../shared/json-fields.ts'
import { mapInner, SchemaGraph, sameOr } from '../shared/schema-graph.ts'
import { type LoweredSchema, lowerSchema, type SchemaDialect } from '../shared/schema-lowering.ts'
import { copyInCamelCase } from './spelling.ts'

/**
 * Schemas of generateContent. Google accepts two dialects, each in its own field; the IR holds JSON Schema.
 *
 *     client's request                                     upstream's request
 *     parameters, responseSchema (OpenAPI subset)
 *         └ fromOpenApi ─┐                          ┌ toOpenApi, if nothing is lost → parameters, responseSchema
 *                        ├→ JSON Schema in the IR ──┤
 *         ┌ lowerTypes ──┘            │             └ otherwise → parametersJsonSchema, responseJsonSchema
 *     parametersJsonSchema,           │
 *     responseJsonSchema              └ from another format: lowerToGoogle first
 *
 * The OpenAPI subset cannot express `$ref`, `const`, `anyOf`, closed or empty objects, lists of anything, several types, enums
 * of numbers, or most formats. Google accepts any JSON Schema but enforces only the keywords of `jsonSchema` below.
 * `lowerToGoogle` rewrites other keywords in terms of these where an equal form exists (`const` becomes an enum of one value);
 * the rest is sent and reported as not enforced.
 */

const typeNames = ['string', 'number', 'integer', 'boolean', 'array', 'object', 'null'] as const
/** Returns the JSON Schema type. Some SDKs write the numbers of Google's enum, where 1 is a string. */
const typeName = (type: Json | undefined): string | undefined =>
  typeof type === 'string'
    ? typeNames.find((name) => name === type.toLowerCase())
    : typeof type === 'number'
      ? typeNames[type - 1]
      : undefined

/** Keywords whose numbers proto JSON writes as text. */
const countKeywords: ReadonlySet<string> = new Set([
  'minItems',
  'maxItems',
  'minLength',
  'maxLength',
  'minProperties',
  'maxProperties',
])

/** Converts Google's OpenAPI subset to JSON Schema. Names of properties, defaults and examples are user data and stay unchanged. */
export function fromOpenApi(schema: JsonObject): JsonObject {
  const source = copyInCamelCase(schema)
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
        out.properties = isObject(value) ? mapValues(value, convertInner) : value
        break
      case 'items':
        out.items = convertInner(value)
        break
      case 'anyOf':
        out.anyOf = Array.isArray(value) ? value.map(convertInner) : value
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
        setOwn(
          out,
          key,
          countKeywords.has(key) && typeof value === 'string' && value !== '' ? parseCount(value) : value,
        )
    }
  }
  if (nullable && name === undefined) {
    const { anyOf, ...rest } = out
    return Array.isArray(anyOf) ? { ...rest, anyOf: [...anyOf, { type: 'null' }] } : out
  }
  return out
}

const parseCount = (text: string): Json =>
  /^(?:0|[1-9]\d*)$/.test(text) ? (exactNumber(text) as number) : Number(text)

const convertInner = (value: Json): Json => (isObject(value) ? fromOpenApi(value) : value)
const mapValues = (object: JsonObject, change: (value: Json) => Json): JsonObject => {
  const out: JsonObject = {}
  for (const key of Object.keys(object)) setOwn(out, key, change(object[key] ?? null))
  return out
}

/** Converts Google's upper-case types in a JSON Schema to lower case. Returns the same object if there are none. */
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
  ...countKeywords,
])
const stringFormats: ReadonlySet<string> = new Set(['date-time'])
const numberFormats: ReadonlySet<string> = new Set(['float', 'double', 'int32', 'int64'])

/** Converts JSON Schema to Google's OpenAPI subset. Returns undefined if that would change its meaning. */
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
      const values = Array.isArray(value) ? value.filter((word) => !(nullable && word === null)) : []
      if (type !== 'string' || values.length === 0 || !values.every((word) => typeof word === 'string'))
        return undefined
      // An enum without null excludes the null of the type.
      if (nullable && values.length === (value as Json[]).length) return undefined
      out.enum = values
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
  // Google rejects objects without properties and arrays without items in the subset.
  if (type === 'object' && (!isObject(out.properties) || Object.keys(out.properties).length === 0)) return undefined
  return type === 'array' && out.items === undefined ? undefined : out
}

/** The keywords of JSON Schema that Google enforces. Its servers accept others and ignore them. */
const googleDialect: SchemaDialect = {
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

/** Lowers a schema of another format to keywords that Google enforces, as far as possible. */
export const lowerToGoogle = (schema: JsonObject, at: string): LoweredSchema =>
  lowerSchema(new SchemaGraph(schema, at), googleDialect)
