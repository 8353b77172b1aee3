import type { JsonObject } from '../ir.ts'
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

export const lowerOutputSchema = (schema: JsonObject): LoweredSchema => lowerSchema(schema, structuredOutput)

/** The schema of a strict tool of another format; see `enforceIn`. */
export const enforceTool = (
  schema: JsonObject | undefined,
  strict: boolean | undefined,
  tell: TellSchema,
): HeldSchema => enforceIn(structuredOutput, schema, strict, tell)
