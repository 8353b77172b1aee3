import type { Json, JsonObject } from '../ir.ts'
import { isObject } from '../shared/reader.ts'
import { lowerSchema, type SchemaDialect } from '../shared/schema-lowering.ts'

/** OpenAI's strict mode, for answers and functions alike. */
const strictMode: SchemaDialect = {
  keywords: new Set([
    'type',
    'enum',
    'const',
    'title',
    'description',
    'required',
    'properties',
    'additionalProperties',
    'items',
    'anyOf',
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
    '$defs',
    'definitions',
    '$schema',
  ]),
  formats: new Set(['date-time', 'time', 'date', 'duration', 'email', 'hostname', 'ipv4', 'ipv6', 'uuid']),
  closed: true,
  complete: true,
  typed: true,
  recursive: true,
  bareRefs: true,
  unenforced: 'described',
}

/**
 * True if the schema can be enforced to the letter: every object closed, every property required, no keyword that strict
 * mode refuses. A function of the responses format that says nothing about `strict` is enforced if, and only if, that is so.
 */
export function isStrictSchema(schema: Json | undefined): boolean {
  if (!isObject(schema)) return false
  const lowered = lowerSchema(schema, strictMode)
  return lowered.schema === schema && lowered.unkept.length === 0
}

/**
 * A schema of another dialect that is to be enforced. Strict mode refuses most schemas as they are: this one is put in its
 * words where that keeps the meaning; where not, it is sent as it is, not enforced, and `tell` is told why.
 */
export function enforce(
  schema: JsonObject | undefined,
  strict: boolean | undefined,
  tell: (detail: string, severity: 'warn' | 'note') => void,
): { schema: JsonObject | undefined; strict: boolean | undefined } {
  if (strict !== true || schema === undefined) return { schema, strict }
  const { schema: lowered, unkept, changed } = lowerSchema(schema, strictMode)
  if (unkept.length > 0) {
    tell(`the schema is sent but not enforced: strict mode takes no ${unkept.join(', no ')}`, 'warn')
    return { schema, strict: false }
  }
  if (changed.length > 0) tell(`the schema is enforced in a narrower form: ${changed.join('; ')}`, 'note')
  return { schema: lowered, strict }
}
