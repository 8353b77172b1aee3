import { isObject, type Json, type JsonObject } from '../../base/json/json.ts'
import { SchemaGraph } from '../shared/schema-graph.ts'
import {
  type EnforcedSchema,
  enforceSchema,
  lowerSchema,
  type ReportSchemaChange,
  type SchemaDialect,
} from '../shared/schema-lowering.ts'

/** OpenAI's strict mode, for response formats and functions. */
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
 * Returns whether a schema fits strict mode unchanged: every object closed, every property required, no unsupported keyword. A function of the
 * Responses format without `strict` is enforced exactly then.
 *
 * @param at JSON Pointer to the schema or its tool in the client's request
 * @throws GatewayError `invalid_request`, see `lowerSchema`
 */
export function isStrictSchema(schema: Json | undefined, at: string): boolean {
  if (!isObject(schema)) return false
  const lowered = lowerSchema(new SchemaGraph(schema, at), strictMode)
  return lowered.schema === schema && lowered.unenforced.length === 0
}

/** Prepares a schema of another format for strict mode; see `enforceSchema`. */
export const enforce = (
  schema: JsonObject | undefined,
  strict: boolean | undefined,
  at: string,
  tell: ReportSchemaChange,
): EnforcedSchema => enforceSchema(strictMode, schema, strict, at, tell)
