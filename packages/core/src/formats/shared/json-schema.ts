import { isObject } from '../../base/json/object.ts'
import type { Json, JsonObject } from '../../base/json/types.ts'

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
export function innerSchemas(schema: JsonObject): JsonObject[] {
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

export const typesOf = ({ type }: JsonObject): readonly Json[] | undefined =>
  type === undefined ? undefined : Array.isArray(type) ? type : [type]

export const describesObject = (schema: JsonObject): boolean =>
  typesOf(schema)?.includes('object') ?? schema.properties !== undefined
