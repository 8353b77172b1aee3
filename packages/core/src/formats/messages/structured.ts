import type { JsonObject } from '../../base/json/types.ts'
import { SchemaGraph } from '../shared/schema-graph.ts'
import {
  enforceIn,
  type HeldSchema,
  type LoweredSchema,
  lowerSchema,
  type SchemaDialect,
  type TellSchema,
} from '../shared/schema-lowering.ts'

/** What Anthropic takes of JSON Schema where the model is held to it: `output_config.format` and strict tools. */
const structuredOutput: SchemaDialect = {
  keywords: new Set([
    '$schema',
    '$ref',
    '$defs',
    'definitions',
    'type',
    'title',
    'description',
    'default',
    'enum',
    'const',
    'anyOf',
    'allOf',
    'properties',
    'required',
    'additionalProperties',
    'items',
    'minItems',
    'format',
    'pattern',
  ]),
  formats: new Set(['date-time', 'time', 'date', 'duration', 'email', 'hostname', 'uri', 'ipv4', 'ipv6', 'uuid']),
  closed: true,
  minItems: 1,
  // Looking around, looking back, and the edges of words.
  refusedPattern: /\(\?[=!<]|\\[bB1-9]/,
  unenforced: 'described',
}

/** @param at JSON Pointer to the schema in the client's request */
export const lowerOutputSchema = (schema: JsonObject, at: string): LoweredSchema =>
  lowerSchema(new SchemaGraph(schema, at), structuredOutput)

/** The schema of a strict tool of another format; see `enforceIn`. */
export const enforceTool = (
  schema: JsonObject | undefined,
  strict: boolean | undefined,
  at: string,
  tell: TellSchema,
): HeldSchema => enforceIn(structuredOutput, schema, strict, at, tell)
