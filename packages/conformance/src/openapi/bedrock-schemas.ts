import * as sdk from '@aws-sdk/client-bedrock-runtime'
import type { Json, JsonObject } from '../base/json.ts'

// AWS publishes no OpenAPI document of Bedrock. Its SDK contains the Smithy model, from which these schemas are derived.

/**
 * A schema of the SDK: the number of a simple type, a function that returns a schema, a list of a schema and its traits, or a list that
 * begins with its kind, namespace and name.
 */
type SmithySchema = number | (() => SmithySchema) | readonly unknown[]

const kinds = { simple: 0, list: 1, map: 2, structure: 3, union: 4 } as const
const simpleTypes: { readonly [type: number]: JsonObject } = {
  0: { type: 'string' },
  1: { type: 'integer' },
  2: { type: 'boolean' },
  /** A document: any JSON. */
  15: { type: 'object', additionalProperties: true },
  /** Bytes, in base64. */
  21: { type: 'string', pattern: '^(?:[A-Za-z0-9+/]{4})+$' },
}
/** Added to the number of a simple type for a list of it. */
const listOfSimple = 64

/** Strings of which the SDK enumerates the values, and numbers that are no integers. The model in the SDK says neither. */
const details: { readonly [structure: string]: { readonly [member: string]: JsonObject } } = {
  Message: { role: words(sdk.ConversationRole) },
  ImageBlock: { format: words(sdk.ImageFormat) },
  DocumentBlock: { format: words(sdk.DocumentFormat) },
  VideoBlock: { format: words(sdk.VideoFormat) },
  AudioBlock: { format: words(sdk.AudioFormat) },
  ToolUseBlock: { type: words(sdk.ToolUseType) },
  ToolResultBlock: { status: words(sdk.ToolResultStatus) },
  GuardrailConverseTextBlock: { qualifiers: { type: 'array', items: words(sdk.GuardrailConverseContentQualifier) } },
  GuardrailConverseImageBlock: { format: words(sdk.GuardrailConverseImageFormat) },
  CachePointBlock: { type: words(sdk.CachePointType), ttl: words(sdk.CacheTTL) },
  CacheDetail: { ttl: words(sdk.CacheTTL) },
  InferenceConfiguration: {
    maxTokens: { type: 'integer', minimum: 1 },
    temperature: { type: 'number', minimum: 0, maximum: 1 },
    topP: { type: 'number', minimum: 0, maximum: 1 },
  },
  GuardrailConfiguration: { trace: words(sdk.GuardrailTrace) },
  PerformanceConfiguration: { latency: words(sdk.PerformanceConfigLatency) },
  ServiceTier: { type: words(sdk.ServiceTierType) },
  OutputConfig: { effort: { type: 'string', enum: ['low', 'medium', 'high'] } },
  OutputFormat: { type: words(sdk.OutputFormatType) },
  ConverseResponse: { stopReason: words(sdk.StopReason) },
  GuardrailTopic: { type: words(sdk.GuardrailTopicType), action: words(sdk.GuardrailTopicPolicyAction) },
}

function words(values: { readonly [name: string]: string }): JsonObject {
  return { type: 'string', enum: Object.values(values) }
}

/** Returns the schemas of requests (`ConverseRequest`) and responses (`ConverseResponse`). */
export function readBedrockSchemas(): JsonObject {
  const schemas: { [name: string]: Json } = {}
  for (const root of [sdk.ConverseRequest$, sdk.ConverseResponse$]) convert(root as readonly unknown[], schemas)
  return schemas
}

/** Returns the JSON schema of a member, and adds the named schemas that it refers to. */
function convert(schema: SmithySchema, into: { [name: string]: Json }): JsonObject {
  if (typeof schema === 'function') return convert(schema(), into)
  if (typeof schema === 'number')
    return schema >= listOfSimple ? { type: 'array', items: simple(schema - listOfSimple) } : simple(schema)
  const [kind, , name] = schema
  // A schema with traits, which concern headers and logs.
  if (typeof name !== 'string') return convert(kind as SmithySchema, into)
  switch (kind) {
    case kinds.simple:
      return convert(schema[4] as SmithySchema, into)
    case kinds.list:
      return { type: 'array', items: convert(schema[4] as SmithySchema, into) }
    case kinds.map:
      return { type: 'object', additionalProperties: convert(schema[5] as SmithySchema, into) }
    default:
      return named(schema, name, into)
  }
}

function simple(type: number): JsonObject {
  const known = simpleTypes[type]
  if (known === undefined) throw new Error(`The SDK's model has an unknown type ${type}`)
  return known
}

/** A structure becomes an object; a union becomes one object for each of its members. */
function named(schema: readonly unknown[], name: string, into: { [name: string]: Json }): JsonObject {
  const reference = { $ref: `#/${name}` }
  if (into[name] !== undefined) return reference
  into[name] = {}
  const members = schema[4] as readonly string[]
  const properties: { [member: string]: Json } = {}
  for (const [at, member] of members.entries())
    properties[member] =
      details[name]?.[member] ?? convert((schema[5] as readonly SmithySchema[])[at] as SmithySchema, into)
  if (schema[0] === kinds.union) {
    for (const member of members)
      into[`${name}.${member}`] = {
        type: 'object',
        properties: { [member]: properties[member] ?? {} },
        required: [member],
      }
    into[name] = { oneOf: members.map((member) => ({ $ref: `#/${name}.${member}` })) }
  } else {
    const required = members.slice(0, (schema[6] as number | undefined) ?? 0)
    into[name] = { type: 'object', properties, required, additionalProperties: false }
  }
  return reference
}
