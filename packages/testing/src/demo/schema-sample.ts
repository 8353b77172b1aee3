import type { Json, JsonObject } from '../base/json.ts'
import { asList, asNumber, asObject, asString, isObject } from '../base/json.ts'

/** Below this depth optional properties are left out and arrays stay empty, so that recursive schemas end. */
const maxDepth = 6
const hardDepth = 24

/**
 * Returns a value that satisfies a JSON Schema, for the keywords of structured output and tool parameters: type, enum, const,
 * properties, required, items, prefixItems, anyOf, oneOf, allOf, $ref (within the schema), bounds, lengths, formats. `hint` fills
 * strings that nothing else determines.
 */
export function sampleOf(schema: JsonObject, hint = 'example'): Json {
  return sample(schema, { root: schema, hint, name: '', open: ['#'] }, 0)
}

interface SampleContext {
  readonly root: JsonObject
  readonly hint: string
  readonly name: string
  /** References being resolved: a variant that leads back to one is chosen last. */
  readonly open: readonly string[]
}

function sample(given: Json | undefined, outer: SampleContext, depth: number): Json {
  // No finite value satisfies a schema that requires itself; this ends the recursion.
  if (depth > hardDepth) return null
  const reference = asObject(given).$ref
  const around = typeof reference === 'string' ? { ...outer, open: [...outer.open, reference] } : outer
  const schema = resolve(given, around.root)
  if (schema.const !== undefined) return schema.const
  if (Array.isArray(schema.enum) && schema.enum.length > 0) return schema.enum[0] ?? null
  if (schema.default !== undefined && schema.default !== null) return schema.default
  const variants = [...asList(schema.anyOf), ...asList(schema.oneOf)].map(asObject)
  if (variants.length > 0) {
    const fresh = variants.filter((variant) => !around.open.includes(asString(variant.$ref)))
    const chosen = fresh.find((variant) => variant.type !== 'null') ?? fresh[0] ?? variants[0] ?? {}
    const { anyOf: _any, oneOf: _one, $ref: _ref, ...base } = schema
    return sample({ ...base, ...chosen }, around, depth + 1)
  }
  switch (typeOf(schema)) {
    case 'object':
      return objectSample(schema, around, depth)
    case 'array':
      return arraySample(schema, around, depth)
    case 'integer':
      return numberSample(schema, true)
    case 'number':
      return numberSample(schema, false)
    case 'boolean':
      return true
    case 'null':
      return null
    default:
      return stringSample(schema, around)
  }
}

function resolve(given: Json | undefined, root: JsonObject, hops = 0): JsonObject {
  const schema = asObject(given)
  if (typeof schema.$ref === 'string' && hops < 10) {
    let target: Json | undefined = root
    for (const step of schema.$ref.replace(/^#\/?/, '').split('/')) {
      if (step !== '') target = asObject(target)[decodeURIComponent(step).replaceAll('~1', '/').replaceAll('~0', '~')]
    }
    return resolve(target, root, hops + 1)
  }
  const parts = asList(schema.allOf)
  if (parts.length === 0) return schema
  const { allOf: _parts, ...base } = schema
  const merged: JsonObject = { ...base }
  const properties: JsonObject = { ...asObject(base.properties) }
  const required: Json[] = [...asList(base.required)]
  for (const part of parts.map((one) => resolve(one, root, hops + 1))) {
    Object.assign(merged, part)
    Object.assign(properties, asObject(part.properties))
    required.push(...asList(part.required))
  }
  return Object.keys(properties).length > 0 ? { ...merged, properties, required } : merged
}

function typeOf(schema: JsonObject): string {
  const types = asList(schema.type).filter((type) => typeof type === 'string')
  const type = typeof schema.type === 'string' ? schema.type : (types.find((one) => one !== 'null') ?? types[0])
  if (type !== undefined) return type.toLowerCase()
  if (isObject(schema.properties) || schema.required !== undefined) return 'object'
  if (schema.items !== undefined || schema.prefixItems !== undefined) return 'array'
  if (schema.minimum !== undefined || schema.maximum !== undefined) return 'number'
  return 'string'
}

function objectSample(schema: JsonObject, around: SampleContext, depth: number): JsonObject {
  const required = new Set(asList(schema.required))
  const value: JsonObject = {}
  for (const [name, property] of Object.entries(asObject(schema.properties))) {
    if (depth >= maxDepth && !required.has(name)) continue
    // A plain assignment to `__proto__` would set the prototype instead.
    Object.defineProperty(value, name, {
      value: sample(property, { ...around, name }, depth + 1),
      enumerable: true,
      configurable: true,
      writable: true,
    })
  }
  return value
}

function arraySample(schema: JsonObject, around: SampleContext, depth: number): Json[] {
  const fixed = asList(schema.prefixItems).map((item) => sample(item, around, depth + 1))
  const least = asNumber(schema.minItems) ?? 0
  const most = asNumber(schema.maxItems) ?? Number.POSITIVE_INFINITY
  const wanted = Math.min(most, Math.max(least, depth >= maxDepth ? 0 : 1, fixed.length), 100)
  while (fixed.length < wanted) {
    const item = sample(schema.items, around, depth + 1)
    fixed.push(schema.uniqueItems === true && typeof item === 'number' ? item + fixed.length : item)
  }
  return fixed
}

function numberSample(schema: JsonObject, whole: boolean): number {
  const step = asNumber(schema.multipleOf)
  const above = asNumber(schema.exclusiveMinimum)
  const below = asNumber(schema.exclusiveMaximum)
  const least =
    asNumber(schema.minimum) ?? (above === undefined ? undefined : whole ? Math.floor(above) + 1 : above + 0.5)
  const most =
    asNumber(schema.maximum) ?? (below === undefined ? undefined : whole ? Math.ceil(below) - 1 : below - 0.5)
  let value = whole ? 42 : 4.2
  if (most !== undefined && value > most) value = most
  if (least !== undefined && value < least) value = least
  if (least !== undefined && most !== undefined && least > most) value = ((above ?? least) + (below ?? most)) / 2
  if (whole) value = least !== undefined && Math.floor(value) < least ? Math.ceil(value) : Math.floor(value)
  if (step !== undefined && step > 0) {
    const down = Math.floor(value / step) * step
    value = least !== undefined && down < least ? down + step : down
  }
  return value
}

const formats: Readonly<Record<string, string>> = {
  'date-time': '2026-01-02T03:04:05Z',
  date: '2026-01-02',
  time: '03:04:05Z',
  duration: 'PT1H',
  email: 'ada@example.com',
  hostname: 'example.com',
  ipv4: '192.0.2.1',
  ipv6: '2001:db8::1',
  uri: 'https://example.com/',
  uuid: '123e4567-e89b-42d3-a456-426614174000',
}

function stringSample(schema: JsonObject, around: SampleContext): string {
  const formatted = formats[asString(schema.format)]
  if (formatted !== undefined) return formatted
  const least = asNumber(schema.minLength) ?? 0
  const most = asNumber(schema.maxLength) ?? Number.POSITIVE_INFINITY
  const text = around.hint || around.name || 'example'
  const long = text.length < least ? text.padEnd(least, 'x') : text
  return long.length > most ? long.slice(0, most) : long
}
