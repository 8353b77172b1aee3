import type { Json, JsonObject } from '../ir.ts'
import { isObject } from '../shared/reader.ts'
import { respell } from './spelling.ts'

/**
 * Two dialects of schema: `parameters` and `responseSchema` hold Google's subset of OpenAPI 3.0, `parametersJsonSchema`
 * and `responseJsonSchema` hold JSON Schema, which is what the IR has. The subset is written only for schemas that lose
 * nothing by it; everything else goes out as the JSON Schema it is.
 */

const typeNames = ['string', 'number', 'integer', 'boolean', 'array', 'object', 'null'] as const
const typeName = (type: Json | undefined): string | undefined =>
  typeof type === 'string' ? typeNames.find((name) => name === type.toLowerCase()) : undefined

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
          if (value !== 'TYPE_UNSPECIFIED') out.type = value
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
        out[key] = counts.has(key) && typeof value === 'string' && value !== '' ? Number(value) : value
    }
  }
  if (nullable && name === undefined) {
    const { anyOf, ...rest } = out
    return Array.isArray(anyOf) ? { ...rest, anyOf: [...anyOf, { type: 'null' }] } : out
  }
  return out
}

const deepen = (value: Json): Json => (isObject(value) ? fromOpenApi(value) : value)
const mapValues = (object: JsonObject, change: (value: Json) => Json): JsonObject => {
  const out: JsonObject = {}
  for (const key of Object.keys(object)) out[key] = change(object[key] ?? null)
  return out
}

/** Keys under which a schema holds further schemas: one, a list, or one for each name. */
const nested: Readonly<Record<string, 'one' | 'list' | 'map'>> = {
  items: 'one',
  additionalProperties: 'one',
  not: 'one',
  contains: 'one',
  propertyNames: 'one',
  if: 'one',
  // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
  then: 'one',
  else: 'one',
  anyOf: 'list',
  oneOf: 'list',
  allOf: 'list',
  prefixItems: 'list',
  properties: 'map',
  patternProperties: 'map',
  $defs: 'map',
  definitions: 'map',
}

/** JSON Schema in which clients wrote Google's upper-case types; the same object if there are none. */
export function lowerTypes(schema: JsonObject): JsonObject {
  let out: JsonObject | undefined
  const set = (key: string, value: Json): void => {
    if (value === schema[key]) return
    out ??= { ...schema }
    out[key] = value
  }
  const inner = (value: Json): Json => (isObject(value) ? lowerTypes(value) : value)
  for (const key of Object.keys(schema)) {
    const value = schema[key] ?? null
    const kind = nested[key]
    if (key === 'type')
      set(key, Array.isArray(value) ? sameOr(value, (type) => typeName(type) ?? type) : (typeName(value) ?? value))
    else if (kind === 'one') set(key, inner(value))
    else if (kind === 'list' && Array.isArray(value)) set(key, sameOr(value, inner))
    else if (kind === 'map' && isObject(value)) {
      const mapped = mapValues(value, inner)
      if (Object.keys(mapped).some((name) => mapped[name] !== value[name])) set(key, mapped)
    }
  }
  return out ?? schema
}

function sameOr(list: Json[], change: (value: Json) => Json): Json[] {
  const changed = list.map(change)
  return changed.some((value, index) => value !== list[index]) ? changed : list
}

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
        inner[name] = lowered
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

/** Keywords that Google's servers take in JSON Schema and then do not enforce. */
const unenforced: ReadonlySet<string> = new Set([
  'allOf',
  'not',
  'if',
  'then',
  'else',
  'const',
  'contains',
  'dependentRequired',
  'dependentSchemas',
  'patternProperties',
  'propertyNames',
  'uniqueItems',
  'multipleOf',
  'exclusiveMinimum',
  'exclusiveMaximum',
  'unevaluatedProperties',
])

/** The keywords of a schema that will be read but not enforced. */
export function unenforcedIn(schema: JsonObject, into: Set<string> = new Set()): Set<string> {
  for (const key of Object.keys(schema)) {
    if (unenforced.has(key)) into.add(key)
    const value = schema[key] ?? null
    const kind = nested[key]
    const inner =
      kind === 'one'
        ? [value]
        : kind === 'list' && Array.isArray(value)
          ? value
          : kind === 'map' && isObject(value)
            ? Object.values(value)
            : []
    for (const one of inner) if (isObject(one)) unenforcedIn(one, into)
  }
  return into
}
