import type { Json, JsonObject } from '../ir.ts'
import { inWords, isObject } from './reader.ts'

/** JSON Schema, as far as its structure goes; see schema-lowering.ts for what becomes of it. */

/** Keywords that hold further schemas: one, a list, or one for each name. */
export const nested: Readonly<Record<string, 'one' | 'list' | 'map'>> = {
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

/** The value of a keyword, with each schema in it changed; the same value if none was. */
export function mapInner(key: string, value: Json, change: (schema: JsonObject) => JsonObject): Json {
  const kind = Object.hasOwn(nested, key) ? nested[key] : undefined
  if (kind === undefined) return value
  if (kind === 'one') return isObject(value) ? change(value) : value
  if (kind === 'list')
    return Array.isArray(value) ? sameOr(value, (item) => (isObject(item) ? change(item) : item)) : value
  if (!isObject(value)) return value
  let out: JsonObject | undefined
  for (const name of Object.keys(value)) {
    const item = value[name] ?? null
    const changed = isObject(item) ? change(item) : item
    if (changed === item) continue
    out ??= { ...value }
    out[name] = changed
  }
  return out ?? value
}

/** The list with each item changed; the same list if none was. */
export function sameOr(list: Json[], change: (value: Json) => Json): Json[] {
  const changed = list.map(change)
  return changed.some((value, index) => value !== list[index]) ? changed : list
}

/** The schemas directly within one; not the ones it only defines for others to refer to. */
function innerSchemas(schema: JsonObject): JsonObject[] {
  const found: JsonObject[] = []
  for (const key of Object.keys(schema)) {
    if (key === '$defs' || key === 'definitions') continue
    mapInner(key, schema[key] ?? null, (inner) => {
      found.push(inner)
      return inner
    })
  }
  return found
}

/** What a `$ref` within `root` refers to; undefined if that is outside, or nothing. */
export function resolve(reference: string, root: JsonObject): JsonObject | undefined {
  if (reference === '#') return root
  if (!reference.startsWith('#/')) return undefined
  let node: Json | undefined = root
  for (const step of reference.slice(2).split('/')) {
    const key = decodeStep(step)
    if (isObject(node) && Object.hasOwn(node, key)) node = node[key]
    else if (Array.isArray(node)) node = node[Number(key)]
    else return undefined
  }
  return isObject(node) ? node : undefined
}

function decodeStep(step: string): string {
  const plain = step.replaceAll('~1', '/').replaceAll('~0', '~')
  try {
    return decodeURIComponent(plain)
  } catch {
    return plain
  }
}

/** Whether a schema holds itself, by however many references. */
export function isRecursive(root: JsonObject): boolean {
  const seen = new Map<string, 'open' | 'done'>([['#', 'open']])
  const visit = (schema: JsonObject): boolean => {
    const { $ref: reference } = schema
    if (typeof reference === 'string') {
      const state = seen.get(reference)
      if (state === 'open') return true
      const target = state === undefined ? resolve(reference, root) : undefined
      if (target !== undefined) {
        seen.set(reference, 'open')
        if (visit(target)) return true
        seen.set(reference, 'done')
      }
    }
    return innerSchemas(schema).some(visit)
  }
  return visit(root)
}

export const typesOf = ({ type }: JsonObject): readonly Json[] | undefined =>
  type === undefined ? undefined : Array.isArray(type) ? type : [type]

export const describesObject = (schema: JsonObject): boolean =>
  typesOf(schema)?.includes('object') ?? schema.properties !== undefined

/** The values a schema names one by one. */
const valuesOf = ({ const: only, enum: list }: JsonObject): readonly Json[] | undefined =>
  only !== undefined ? [only] : Array.isArray(list) ? list : undefined

/** How many references may lead to one another before they are taken for a circle. */
const mostSteps = 16

/** The schema behind a reference that says nothing but that. */
function target(schema: Json, root: JsonObject): JsonObject | undefined {
  let node = isObject(schema) ? schema : undefined
  for (let step = 0; step < mostSteps && typeof node?.$ref === 'string'; step++) node = resolve(node.$ref, root)
  return node
}

/** Whether null is a valid value. */
export function admitsNull(schema: Json, root: JsonObject, steps = mostSteps): boolean {
  const node = target(schema, root)
  if (node === undefined || steps === 0) return false
  const types = typesOf(node)
  if (types !== undefined && !types.includes('null')) return false
  const values = valuesOf(node)
  if (values !== undefined && !values.includes(null)) return false
  const choices = node.anyOf ?? node.oneOf
  if (Array.isArray(choices)) return choices.some((choice) => admitsNull(choice, root, steps - 1))
  return types !== undefined || values !== undefined
}

/** Whether no value fits two of the schemas: then "one of" says the same as "any of". */
export function areDisjoint(schemas: readonly Json[], root: JsonObject): boolean {
  const nodes = schemas.map((schema) => target(schema, root))
  if (!nodes.every((node) => node !== undefined)) return false
  if (apart(nodes.map(kindsOf)) || apart(nodes.map(keysOf))) return true
  const [first] = nodes
  const shared = Array.isArray(first?.required) ? first.required : []
  return shared.some(
    (name) =>
      typeof name === 'string' &&
      apart(nodes.map((node) => (isRequired(node, name) ? keysOf(propertyOf(node, name, root)) : undefined))),
  )
}

const isRequired = ({ required }: JsonObject, name: string): boolean =>
  Array.isArray(required) && required.includes(name)
const propertyOf = ({ properties }: JsonObject, name: string, root: JsonObject): JsonObject =>
  (isObject(properties) && Object.hasOwn(properties, name) ? target(properties[name] ?? null, root) : undefined) ?? {}

/** An integer is a number, too. */
const kindsOf = (schema: JsonObject): readonly string[] | undefined =>
  typesOf(schema)?.flatMap((type) => (type === 'number' ? ['number', 'integer'] : [inWords(type)]))
const keysOf = (schema: JsonObject): readonly string[] | undefined =>
  valuesOf(schema)?.map((value) => JSON.stringify(value))

function apart(sets: readonly (readonly string[] | undefined)[]): boolean {
  const seen = new Set<string>()
  for (const set of sets) {
    if (set === undefined || set.some((item) => seen.has(item))) return false
    for (const item of set) seen.add(item)
  }
  return true
}
