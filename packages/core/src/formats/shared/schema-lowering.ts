import { isNumber, stringifyExact } from '../../base/json/exact-number.ts'
import { isObject } from '../../base/json/object.ts'
import type { Json, JsonObject } from '../../base/json/types.ts'
import { setOwn, toText } from './json-fields.ts'
import { describesObject, mapInner, nested, SchemaGraph, typesOf } from './schema-graph.ts'

/** What a server makes of a JSON Schema that it holds its model to. */
export interface SchemaDialect {
  /** Keywords it takes and enforces, or takes as a hint. */
  readonly keywords: ReadonlySet<string>
  /** The `format`s of texts that it takes and enforces. */
  readonly formats: ReadonlySet<string>
  /** Every object has to say `additionalProperties: false`. */
  readonly closed?: boolean
  /** Every property has to be required. */
  readonly complete?: boolean
  /** Every schema has to say its type, and the whole has to be an object without alternatives. */
  readonly typed?: boolean
  /** A schema may hold itself. */
  readonly recursive?: boolean
  /** Beside a `$ref` nothing else may stand. */
  readonly bareRefs?: boolean
  /** The greatest `minItems` it enforces. Default: any. */
  readonly minItems?: number
  /** Regular expressions that it refuses. */
  readonly refusedPattern?: RegExp
  /** What becomes of a keyword that it does not enforce: it stays where it is, or becomes a sentence of the description. */
  readonly unenforced: 'kept' | 'described'
}

export interface LoweredSchema {
  /** The same object if nothing had to change. */
  readonly schema: JsonObject
  /** What is no longer enforced, in words. Empty: whatever fits `schema` fits the schema as it was. */
  readonly unenforced: readonly string[]
  /** What was ruled out that the schema allowed without saying so, and the hints that were left out; in words. */
  readonly changed: readonly string[]
  /** It holds itself, and the dialect takes no such schema, in whatever words. */
  readonly circular: boolean
}

/** Keywords that tell and rule out nothing. */
const hints: ReadonlySet<string> = new Set([
  '$schema',
  '$id',
  '$comment',
  '$anchor',
  'title',
  'description',
  'default',
  'example',
  'examples',
  'deprecated',
  'readOnly',
  'writeOnly',
  'contentEncoding',
  'contentMediaType',
  'discriminator',
  'propertyOrdering',
])

/**
 * The schema in a dialect. What can be said in other words without a change of meaning is; what cannot is never left out in
 * silence, and nothing that the schema refuses becomes valid without being named in `unenforced`.
 *
 * @throws GatewayError `invalid_request` for a schema whose references take too many steps to follow
 */
export function lowerSchema(graph: SchemaGraph, dialect: SchemaDialect): LoweredSchema {
  const { root } = graph
  const unenforced = new Set<string>()
  const changed = new Set<string>()

  function lower(source: JsonObject): JsonObject {
    const schema = reword(source, graph, dialect, unenforced)
    const out: JsonObject = {}
    const told: [string, Json][] = []
    const keys = Object.keys(schema)
    graph.spend(1 + keys.length)
    for (const key of keys) {
      const value = schema[key] ?? null
      const fault = faultOf(key, value, schema, graph, dialect)
      if (fault === undefined) setOwn(out, key, mapInner(key, value, lower))
      else if (fault === 'hint') {
        if (dialect.unenforced === 'kept') setOwn(out, key, value)
        else changed.add(`'${key}' is left out`)
      } else {
        unenforced.add(fault)
        if (dialect.unenforced === 'kept') setOwn(out, key, mapInner(key, value, lower))
        else told.push([key, value])
      }
    }
    if (told.length > 0) describe(out, told)
    if (dialect.typed && out.type === undefined && out.anyOf === undefined && out.$ref === undefined)
      unenforced.add('schema without a type')
    if (describesObject(out)) closeObject(out, graph, dialect, unenforced, changed)
    return isSame(out, source) ? source : out
  }

  const circular = !dialect.recursive && graph.isRecursive()
  if (circular) unenforced.add('references in a circle')
  const schema = lower(root)
  if (dialect.typed && !(schema.type === 'object' && schema.anyOf === undefined))
    unenforced.add('schema that is not an object’s')
  return { schema, unenforced: [...unenforced], changed: [...changed], circular }
}

const isSame = (out: JsonObject, source: JsonObject): boolean => {
  const keys = Object.keys(out)
  return keys.length === Object.keys(source).length && keys.every((key) => out[key] === source[key])
}

/** The same meaning in words that the dialect knows. */
function reword(source: JsonObject, graph: SchemaGraph, dialect: SchemaDialect, unenforced: Set<string>): JsonObject {
  let schema = mergeOnly(source)
  const { keywords } = dialect
  const { const: only, oneOf, $ref } = schema
  if (only !== undefined && !keywords.has('const') && (typeof only === 'string' || isNumber(only))) {
    const { const: _, ...rest } = schema
    schema = { ...rest, enum: [only] }
  }
  if (Array.isArray(oneOf) && !keywords.has('oneOf') && schema.anyOf === undefined) {
    const { oneOf: _, ...rest } = schema
    schema = { ...rest, anyOf: oneOf }
    if (!graph.areDisjoint(oneOf)) unenforced.add("'oneOf' with choices that overlap")
  }
  schema = wholeBounds(schema, dialect)
  if (dialect.typed && schema.type === undefined) {
    const type = typeOfValues(schema)
    if (type !== undefined) schema = { ...schema, type }
  }
  if ($ref !== undefined && dialect.bareRefs) {
    const { $ref: _, ...rest } = schema
    if (Object.keys(rest).some((key) => !key.startsWith('$')) && rest.anyOf === undefined)
      schema = { ...rest, anyOf: [{ $ref }] }
  }
  return schema
}

/** `allOf` with one schema is that schema; the outer description is the nearer one. */
function mergeOnly(schema: JsonObject): JsonObject {
  if (schema.allOf === undefined) return schema
  const { allOf, ...rest } = schema
  const [only, second] = Array.isArray(allOf) ? allOf : []
  if (!isObject(only) || second !== undefined || speakOfEachOther(only, rest)) return schema
  return Object.keys(rest).every((key) => hints.has(key) || only[key] === undefined) ? { ...only, ...rest } : schema
}

/** Keywords that mean something else once another of their group stands in the same schema. */
const groups: readonly (readonly string[])[] = [
  ['additionalProperties', 'properties', 'patternProperties'],
  ['items', 'prefixItems', 'additionalItems'],
  ['contains', 'minContains', 'maxContains'],
  ['if', 'then', 'else'],
]

function speakOfEachOther(inner: JsonObject, outer: JsonObject): boolean {
  if (inner.unevaluatedProperties !== undefined || inner.unevaluatedItems !== undefined) return true
  const has = (schema: JsonObject, group: readonly string[]): boolean => group.some((key) => schema[key] !== undefined)
  return groups.some((group) => has(inner, group) && has(outer, group))
}

/** For integers "more than 0" is "from 1". */
function wholeBounds(schema: JsonObject, { keywords }: SchemaDialect): JsonObject {
  if (schema.type !== 'integer') return schema
  let out = schema
  for (const [open, closed, step] of [
    ['exclusiveMinimum', 'minimum', 1],
    ['exclusiveMaximum', 'maximum', -1],
  ] as const) {
    const { [open]: bound, ...rest } = out
    if (!Number.isSafeInteger(bound) || keywords.has(open) || !keywords.has(closed) || rest[closed] !== undefined)
      continue
    out = { ...rest, [closed]: Number(bound) + step }
  }
  return out
}

/** The type that all the named values have. */
function typeOfValues({ const: only, enum: list }: JsonObject): string | undefined {
  const values = only !== undefined ? [only] : Array.isArray(list) ? list : []
  const types = new Set(values.map((value) => (value === null ? 'null' : isNumber(value) ? 'number' : typeof value)))
  const [type] = types
  return types.size === 1 && type !== 'object' ? type : undefined
}

/** Why a keyword is not enforced, in words; 'hint' for one that enforces nothing anyway and is not taken. */
function faultOf(
  key: string,
  value: Json,
  schema: JsonObject,
  graph: SchemaGraph,
  dialect: SchemaDialect,
): string | undefined {
  const { keywords, formats, minItems, refusedPattern } = dialect
  if (key === 'format') {
    if (typesOf(schema)?.some((type) => type === 'number' || type === 'integer')) return 'hint'
    return keywords.has(key) && typeof value === 'string' && formats.has(value)
      ? undefined
      : `format '${toText(value)}'`
  }
  if (!keywords.has(key)) return hints.has(key) ? 'hint' : `'${key}'`
  if (key === '$ref')
    return typeof value === 'string' && graph.resolve(value) !== undefined ? undefined : "'$ref' to elsewhere"
  if (key === 'minItems' && minItems !== undefined && isNumber(value) && !(Number(value) <= minItems)) return `'${key}'`
  if (key === 'pattern' && typeof value === 'string' && refusedPattern?.test(value)) return `'${key}'`
  if (key === 'enum' && Array.isArray(value) && value.some((item) => isObject(item) || Array.isArray(item)))
    return "'enum' of objects or lists"
  // A schema may be `true` or `false`, too; dialects take objects only.
  const kind = nested[key]
  const plain = kind === 'one' ? key !== 'additionalProperties' && typeof value === 'boolean' : hasBoolean(kind, value)
  return plain ? `'${key}' with true or false for a schema` : undefined
}

function hasBoolean(kind: string | undefined, value: Json): boolean {
  if (kind === 'list') return Array.isArray(value) && value.some((item) => typeof item === 'boolean')
  return kind === 'map' && isObject(value) && Object.values(value).some((item) => typeof item === 'boolean')
}

/** Models read descriptions: what is not enforced can at least be told. */
function describe(out: JsonObject, told: readonly [string, Json][]): void {
  const rules = told.map(([key, value]) => `${key}: ${stringifyExact(value)}`).join(', ')
  const { description } = out
  out.description =
    typeof description === 'string' && description !== '' ? `${description}\n\n{${rules}}` : `{${rules}}`
}

/** What an object has to say for itself: that nothing else may stand in it, and that everything must. */
function closeObject(
  out: JsonObject,
  graph: SchemaGraph,
  dialect: SchemaDialect,
  unenforced: Set<string>,
  changed: Set<string>,
): void {
  const properties = isObject(out.properties) ? out.properties : {}
  if (dialect.closed && out.additionalProperties !== false) {
    // An object of any names would become one of none.
    if (out.additionalProperties === undefined && out.properties !== undefined)
      changed.add('properties that the schema does not name are ruled out')
    else unenforced.add('objects with properties of any name')
    out.additionalProperties = false
  }
  if (!dialect.complete) return
  const required = Array.isArray(out.required) ? out.required : []
  const named = new Set(required)
  graph.spend(required.length)
  const optional = Object.keys(properties).filter((name) => !named.has(name))
  if (optional.length === 0) return
  // One that may be null can be written as null in place of being left out. Of any other the model would have to make one up.
  if (!optional.every((name) => graph.admitsNull(properties[name] ?? null))) unenforced.add('optional properties')
  else {
    changed.add('optional properties are null in place of being left out')
    out.required = [...required, ...optional]
  }
}

export type ReportSchemaChange = (detail: string, severity: 'warn' | 'note') => void

export interface EnforcedSchema {
  schema: JsonObject | undefined
  strict: boolean | undefined
}

/**
 * A schema of another dialect that is to be enforced. Servers refuse most schemas as they are in their strict mode: this one
 * is put in the dialect's words where that keeps the meaning; where not, it is sent as it is, not enforced, and `tell` is told why.
 *
 * @param at JSON Pointer to the schema or its tool in the client's request
 * @throws GatewayError `invalid_request`, see `lowerSchema`
 */
export function enforceSchema(
  dialect: SchemaDialect,
  schema: JsonObject | undefined,
  strict: boolean | undefined,
  at: string,
  tell: ReportSchemaChange,
): EnforcedSchema {
  if (strict !== true || schema === undefined) return { schema, strict }
  const { schema: lowered, unenforced, changed } = lowerSchema(new SchemaGraph(schema, at), dialect)
  if (unenforced.length > 0) {
    tell(`the schema is sent but not enforced: strict mode takes no ${unenforced.join(', no ')}`, 'warn')
    return { schema, strict: false }
  }
  if (changed.length > 0) tell(`the schema is enforced in a narrower form: ${changed.join('; ')}`, 'note')
  return { schema: lowered, strict }
}
