import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { isObject, type Json, type JsonObject, listOf, numberOf, objectOf, textOf } from '../base/json.ts'
import { readBedrockSchemas } from './bedrock-schemas.ts'

const folder =
  process.env.MODELGATE_SHARED ?? fileURLToPath(new URL('../../../../../shared', import.meta.url)).replace(/\/$/, '')

/** True if the providers' published documents exist next to the checkout or at MODELGATE_SHARED. */
export const haveSpecifications = existsSync(join(folder, 'specs', 'INDEX.tsv'))
export const whyNoSpecifications =
  'no published OpenAPI documents next to the checkout (MODELGATE_SHARED): these checks are skipped'

/** The schemas of one document, by name. */
export type Schemas = JsonObject

/** The model of Amazon Bedrock, which its SDK contains instead of a published document. */
export const bedrockModel = 'bedrock-runtime'

/** All documents are JSON, regardless of their file extension. */
export function readSchemas(file: string): Schemas {
  if (file === bedrockModel) return readBedrockSchemas()
  const document = objectOf(JSON.parse(readFileSync(join(folder, 'specs', file), 'utf8')))
  return objectOf(objectOf(document.components).schemas)
}

/** One concrete variant of a value: references resolved, `allOf` merged, one branch of every union selected. */
export interface Shape {
  /** Names of the references that led here. */
  readonly names: readonly string[]
  readonly type: 'object' | 'array' | 'string' | 'number' | 'integer' | 'boolean' | 'any'
  readonly properties: { readonly [name: string]: Json }
  readonly required: readonly string[]
  readonly items: Json | undefined
  /** The schema of values under user-defined names. */
  readonly values: JsonObject | undefined
  /** The allowed values, if enumerated. */
  readonly words: readonly Json[] | undefined
  readonly minimum: number | undefined
  readonly maximum: number | undefined
  readonly pattern: string | undefined
  readonly format: string
  /** The publisher's default for an absent field. */
  readonly standard: Json | undefined
}

/** Returns every variant of a value, except null, which means absence. */
export function shapesOf(schema: Json, schemas: Schemas): Shape[] {
  const shapes = flatten(schema, schemas, []).map(({ schema: flat, names }) => shapeOf(flat, names))
  const known = new Set<string>()
  return shapes.filter((shape) => {
    const key = JSON.stringify([shape.type, shape.words, shape.names.at(-1), Object.keys(shape.properties)])
    return known.size < known.add(key).size
  })
}

interface Flat {
  readonly schema: JsonObject
  readonly names: readonly string[]
}

function flatten(source: Json, schemas: Schemas, names: readonly string[]): Flat[] {
  if (!isObject(source)) return [{ schema: {}, names }]
  const { $ref, allOf, anyOf, oneOf, ...plain } = source
  let flats: Flat[] = [{ schema: plain, names }]
  const and = (more: readonly Flat[]): void => {
    flats = flats.flatMap((left) =>
      more.map((right) => ({
        schema: merge(left.schema, right.schema),
        names: [...new Set([...left.names, ...right.names])],
      })),
    )
  }
  if (typeof $ref === 'string') {
    const name = $ref.slice($ref.lastIndexOf('/') + 1)
    if (names.filter((one) => one === name).length > 1) return []
    and(flatten(schemas[name] ?? {}, schemas, [...names, name]))
  }
  for (const part of listOf(allOf)) and(flatten(part, schemas, names))
  for (const union of [anyOf, oneOf])
    if (Array.isArray(union)) and(union.flatMap((branch) => flatten(branch, schemas, names)))
  return flats.filter(({ schema }) => schema.type !== 'null' && schema.$recursiveRef === undefined).flatMap(splitTypes)
}

function splitTypes({ schema, names }: Flat): Flat[] {
  if (!Array.isArray(schema.type)) return [{ schema, names }]
  return schema.type.filter((type) => type !== 'null').map((type) => ({ schema: { ...schema, type }, names }))
}

function merge(left: JsonObject, right: JsonObject): JsonObject {
  const out = { ...left, ...right }
  if (isObject(left.properties) && isObject(right.properties))
    out.properties = { ...left.properties, ...right.properties }
  if (Array.isArray(left.required) && Array.isArray(right.required))
    out.required = [...new Set([...left.required, ...right.required])]
  return out
}

function shapeOf(schema: JsonObject, names: readonly string[]): Shape {
  const words =
    schema.const !== undefined
      ? [schema.const]
      : Array.isArray(schema.enum)
        ? schema.enum.filter((w) => w !== null)
        : undefined
  const more = schema.additionalProperties
  const least = numberOf(schema.minimum) ?? numberOf(schema.exclusiveMinimum)
  return {
    names,
    type: typeOf(schema, words),
    properties: objectOf(schema.properties),
    required: listOf(schema.required).map(textOf),
    items: schema.items,
    values: schema.additionalProperties === true ? {} : isObject(more) ? more : undefined,
    words,
    minimum: least,
    maximum: numberOf(schema.maximum),
    pattern: typeof schema.pattern === 'string' ? schema.pattern : undefined,
    format: textOf(schema.format),
    standard: schema.default,
  }
}

function typeOf(schema: JsonObject, words: readonly Json[] | undefined): Shape['type'] {
  switch (schema.type) {
    case 'object':
    case 'array':
    case 'string':
    case 'number':
    case 'integer':
    case 'boolean':
      return schema.type
    default:
      if (isObject(schema.properties)) return 'object'
      if (schema.items !== undefined) return 'array'
      return typeof words?.[0] === 'string' ? 'string' : typeof words?.[0] === 'boolean' ? 'boolean' : 'any'
  }
}
