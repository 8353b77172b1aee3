import { isObject, type Json, type JsonObject, stringifyExact } from '../../base/json/json.ts'
import { isNumber } from '../../base/json/parse.ts'
import { setOwn, toText } from './json-fields.ts'
import { describesObject, mapInner, nested, SchemaGraph, typesOf } from './schema-graph.ts'

/**
 * Schema lowering: rewrites a JSON Schema for a provider whose strict mode accepts only a part of JSON Schema.
 *
 *     {properties: {a: {const: 1}},       {properties: {a: {enum: [1]}},     same meaning in other keywords
 *      required: ['a']}             ──▶    required: ['a'],
 *                                          additionalProperties: false}      narrower: listed in `changed`
 *     {minLength: 3}                ──▶    {description: '{minLength: 3}'}    not enforced: listed in `unenforced`
 *
 * A rewrite never makes a value valid that the original schema rejects, unless `unenforced` names it. `SchemaGraph` follows the
 * references, with a bound on the number of steps.
 */

/** The part of JSON Schema that a provider enforces. */
export interface SchemaDialect {
  /** Keywords that it enforces, or accepts as a hint. */
  readonly keywords: ReadonlySet<string>
  /** Values of `format` that it enforces. */
  readonly formats: ReadonlySet<string>
  /** Every object needs `additionalProperties: false`. */
  readonly closed?: boolean
  /** Every property must be required. */
  readonly complete?: boolean
  /** Every schema needs a type, and the root must be an object without alternatives. */
  readonly typed?: boolean
  /** Schemas may be recursive. */
  readonly recursive?: boolean
  /** A `$ref` must be the only keyword of its schema. */
  readonly bareRefs?: boolean
  /** The greatest `minItems` it enforces. Default: any. */
  readonly minItems?: number
  /** Matches regular expressions that it rejects. */
  readonly refusedPattern?: RegExp
  /** Keywords that it does not enforce stay, or move into the description. */
  readonly unenforced: 'kept' | 'described'
}

export interface LoweredSchema {
  /** The same object if nothing had to change. */
  readonly schema: JsonObject
  /** Descriptions of rules that are no longer enforced. Empty: every value that fits `schema` fits the original. */
  readonly unenforced: readonly string[]
  /** Descriptions of values that are newly excluded, and of hints that were left out. */
  readonly changed: readonly string[]
  /** The schema is recursive, and the dialect has no form for that. */
  readonly circular: boolean
}

/** Keywords that describe, and restrict nothing. */
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
 * Rewrites a schema for a dialect.
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
    const described: [string, Json][] = []
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
        else described.push([key, value])
      }
    }
    if (described.length > 0) describe(out, described)
    if (dialect.typed && out.type === undefined && out.anyOf === undefined && out.$ref === undefined)
      unenforced.add('schema without a type')
    if (describesObject(out)) closeObject(out, graph, dialect, unenforced, changed)
    return isSame(out, source) ? source : out
  }

  const circular = !dialect.recursive && graph.isRecursive()
  if (circular) unenforced.add('circular references')
  const schema = lower(root)
  if (dialect.typed && !(schema.type === 'object' && schema.anyOf === undefined))
    unenforced.add('schema whose root is not an object')
  return { schema, unenforced: [...unenforced], changed: [...changed], circular }
}

const isSame = (out: JsonObject, source: JsonObject): boolean => {
  const keys = Object.keys(out)
  return keys.length === Object.keys(source).length && keys.every((key) => out[key] === source[key])
}

/** Replaces keywords that the dialect lacks by others with the same meaning. */
function reword(source: JsonObject, graph: SchemaGraph, dialect: SchemaDialect, unenforced: Set<string>): JsonObject {
  let schema = mergeSingleAllOf(source)
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
  schema = closeIntegerBounds(schema, dialect)
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

/** Replaces an `allOf` of one schema by that schema. The outer description wins. */
function mergeSingleAllOf(schema: JsonObject): JsonObject {
  if (schema.allOf === undefined) return schema
  const { allOf, ...rest } = schema
  const [only, second] = Array.isArray(allOf) ? allOf : []
  if (!isObject(only) || second !== undefined || interact(only, rest)) return schema
  return Object.keys(rest).every((key) => hints.has(key) || only[key] === undefined) ? { ...only, ...rest } : schema
}

/** Groups of keywords that change each other's meaning within one schema. */
const groups: readonly (readonly string[])[] = [
  ['additionalProperties', 'properties', 'patternProperties'],
  ['items', 'prefixItems', 'additionalItems'],
  ['contains', 'minContains', 'maxContains'],
  ['if', 'then', 'else'],
]

function interact(inner: JsonObject, outer: JsonObject): boolean {
  if (inner.unevaluatedProperties !== undefined || inner.unevaluatedItems !== undefined) return true
  const has = (schema: JsonObject, group: readonly string[]): boolean => group.some((key) => schema[key] !== undefined)
  return groups.some((group) => has(inner, group) && has(outer, group))
}

/** Replaces exclusive bounds of integers: `exclusiveMinimum: 0` equals `minimum: 1`. */
function closeIntegerBounds(schema: JsonObject, { keywords }: SchemaDialect): JsonObject {
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

/** Returns the common type of the values of `const` or `enum`. */
function typeOfValues({ const: only, enum: list }: JsonObject): string | undefined {
  const values = only !== undefined ? [only] : Array.isArray(list) ? list : []
  const types = new Set(values.map((value) => (value === null ? 'null' : isNumber(value) ? 'number' : typeof value)))
  const [type] = types
  return types.size === 1 && type !== 'object' ? type : undefined
}

/** Returns the reason why a keyword is not enforced, or 'hint' for a descriptive keyword that the dialect does not accept. */
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
    return typeof value === 'string' && graph.resolve(value) !== undefined ? undefined : "'$ref' to another document"
  if (key === 'minItems' && minItems !== undefined && isNumber(value) && !(Number(value) <= minItems)) return `'${key}'`
  if (key === 'pattern' && typeof value === 'string' && refusedPattern?.test(value)) return `'${key}'`
  if (key === 'enum' && Array.isArray(value) && value.some((item) => isObject(item) || Array.isArray(item)))
    return "'enum' of objects or lists"
  // JSON Schema allows `true` and `false` as schemas; dialects accept objects only.
  const kind = nested[key]
  const plain = kind === 'one' ? key !== 'additionalProperties' && typeof value === 'boolean' : hasBoolean(kind, value)
  return plain ? `'${key}' with true or false as a schema` : undefined
}

function hasBoolean(kind: string | undefined, value: Json): boolean {
  if (kind === 'list') return Array.isArray(value) && value.some((item) => typeof item === 'boolean')
  return kind === 'map' && isObject(value) && Object.values(value).some((item) => typeof item === 'boolean')
}

/** Adds rules that are not enforced to the description, which models read. */
function describe(out: JsonObject, rules: readonly [string, Json][]): void {
  const text = rules.map(([key, value]) => `${key}: ${stringifyExact(value)}`).join(', ')
  const { description } = out
  out.description = typeof description === 'string' && description !== '' ? `${description}\n\n{${text}}` : `{${text}}`
}

/** Adds `additionalProperties: false` and `required` where the dialect demands them. */
function closeObject(
  out: JsonObject,
  graph: SchemaGraph,
  dialect: SchemaDialect,
  unenforced: Set<string>,
  changed: Set<string>,
): void {
  const properties = isObject(out.properties) ? out.properties : {}
  if (dialect.closed && out.additionalProperties !== false) {
    // A map with any names would allow no name any more.
    if (out.additionalProperties === undefined && out.properties !== undefined)
      changed.add('properties that the schema does not name are forbidden')
    else unenforced.add('objects with properties of any name')
    out.additionalProperties = false
  }
  if (!dialect.complete) return
  const required = Array.isArray(out.required) ? out.required : []
  const named = new Set(required)
  graph.spend(required.length)
  const optional = Object.keys(properties).filter((name) => !named.has(name))
  if (optional.length === 0) return
  // The model can write null for an optional property that admits null. It would have to invent a value for any other.
  if (!optional.every((name) => graph.admitsNull(properties[name] ?? null))) unenforced.add('optional properties')
  else {
    changed.add('optional properties are null instead of missing')
    out.required = [...required, ...optional]
  }
}

export type ReportSchemaChange = (detail: string, severity: 'warn' | 'note') => void

export interface EnforcedSchema {
  schema: JsonObject | undefined
  strict: boolean | undefined
}

/**
 * Prepares a schema of another format for strict mode, which rejects most schemas as they are. If a rewrite keeps the meaning, the
 * rewritten schema is enforced. Otherwise the original is sent without enforcement, and `report` gets the reason.
 *
 * @param at JSON Pointer to the schema or its tool in the client's request
 * @throws GatewayError `invalid_request`, see `lowerSchema`
 */
export function enforceSchema(
  dialect: SchemaDialect,
  schema: JsonObject | undefined,
  strict: boolean | undefined,
  at: string,
  report: ReportSchemaChange,
): EnforcedSchema {
  if (strict !== true || schema === undefined) return { schema, strict }
  const { schema: lowered, unenforced, changed } = lowerSchema(new SchemaGraph(schema, at), dialect)
  if (unenforced.length > 0) {
    report(`the schema is sent but not enforced: strict mode does not accept ${unenforced.join(', ')}`, 'warn')
    return { schema, strict: false }
  }
  if (changed.length > 0) report(`the schema is enforced in a narrower form: ${changed.join('; ')}`, 'note')
  return { schema: lowered, strict }
}
