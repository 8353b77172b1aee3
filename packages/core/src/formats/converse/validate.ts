import { isObject, type Json, type JsonObject } from '../../base/json/json.ts'
import * as z from '../shared/body-schema.ts'
import {
  arrayOf,
  bodyCheck,
  type Complaint,
  chosen,
  dotted,
  type Issue,
  optionalBoolean,
  validateBody,
} from '../shared/validate.ts'

/**
 * Validates requests, in two levels (docs/decisions/0031):
 *
 *     checkRequest      every request              an object; the limits of the specification
 *     validateRequest   requests to be translated  the above, and the types that the decoder reads
 *
 * Objects are loose: unknown fields, blocks and tools pass.
 */

const text = z.string()
const object = z.looseObject({})
const optional = <T>(schema: z.Schema<T>) => schema.nullish()

const limits = {
  maxTokens: optional(z.int().min(1)),
  temperature: optional(z.number().min(0).max(1)),
  topP: optional(z.number().min(0).max(1)),
}

/** A request without messages uses a prompt that Bedrock stores. */
const passThroughSchema = z.looseObject({
  // In the path. The caller copies it.
  model: optional(text.min(1)),
  stream: optionalBoolean,
  messages: optional(arrayOf(z.looseObject({ role: text, content: z.array(z.unknown()) }))),
  inferenceConfig: optional(z.looseObject(limits)),
})

const source = z.looseObject({
  bytes: optional(text),
  text: optional(text),
  s3Location: optional(z.looseObject({ uri: text })),
  content: optional(z.array(z.unknown())),
})
const media = z.looseObject({ format: optional(text), source })

/** Required fields of blocks, by kind. */
const blocks: Readonly<Record<string, z.Schema>> = {
  text,
  image: media,
  audio: media,
  video: media,
  document: z.looseObject({ name: optional(text), source }),
  toolUse: z.looseObject({ toolUseId: text, name: text, input: z.unknown() }),
  toolResult: z.looseObject({
    toolUseId: text,
    content: z.lazy(() => arrayOf(block)),
    status: optional(text),
  }),
  reasoningContent: z.looseObject({
    reasoningText: optional(z.looseObject({ text, signature: optional(text) })),
    redactedContent: optional(text),
  }),
  guardContent: object,
  citationsContent: object,
  searchResult: object,
  cachePoint: z.looseObject({ type: text, ttl: optional(text) }),
}

/** Validates an object by the schemas of its members' names. */
function byMember(shapes: Readonly<Record<string, z.Schema>>) {
  return z.looseObject({}).superRefine(
    (value, rule) => {
      for (const kind of Object.keys(value))
        for (const issue of chosen(shapes, kind)?.issues(value[kind]) ?? [])
          rule.addIssue({ ...issue, path: [kind, ...issue.path] })
    },
    () => (value) => Object.keys(value).every((kind) => chosen(shapes, kind)?.accepts(value[kind]) ?? true),
  )
}

const block: z.Schema = byMember(blocks)
const content = arrayOf(block)

const message = z.looseObject({ role: z.enum(['user', 'assistant', 'system']), content })

const toolSpec = z.looseObject({
  name: text.min(1),
  description: optional(text),
  inputSchema: z.looseObject({ json: optional(object) }),
  strict: optionalBoolean,
})

const toolConfig = z.looseObject({
  tools: arrayOf(byMember({ toolSpec })),
  toolChoice: optional(byMember({ tool: z.looseObject({ name: text }), auto: object, any: object })),
})

const jsonSchema = z.looseObject({ schema: text, name: optional(text), description: optional(text) })

const requestSchema = z.looseObject({
  model: optional(text.min(1)),
  stream: optionalBoolean,
  messages: arrayOf(message).min(1),
  system: optional(content),
  inferenceConfig: optional(z.looseObject({ ...limits, stopSequences: optional(arrayOf(text)) })),
  toolConfig: optional(toolConfig),
  additionalModelRequestFields: optional(object),
  additionalModelResponseFieldPaths: optional(arrayOf(text)),
  requestMetadata: optional(object),
  serviceTier: optional(z.looseObject({ type: text })),
  outputConfig: optional(
    z.looseObject({
      textFormat: optional(
        z.looseObject({ type: text, structure: z.looseObject({ jsonSchema: optional(jsonSchema) }) }),
      ),
      effort: optional(text),
    }),
  ),
})

/** Checks any request from a client. See `Codec.checkRequest`. */
export const checkRequest = bodyCheck(passThroughSchema, describeIssue)

/** Checks a request that will be translated. See `Codec.validateRequest`. */
export const validateRequest = (body: Json): JsonObject => validateBody(requestSchema, body, describeIssue)

const typeNames: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  int: 'an integer',
  boolean: 'a boolean',
  array: 'a list',
  object: 'an object',
}

/** Returns AWS's message for an issue. */
export function describeIssue(issue: Issue, body: Json): Complaint {
  if (issue.path.length === 0) return { message: 'The request body is not a JSON object.' }
  const value = valueAt(body, issue.path)
  const param = dotted(issue.path)
  const shown =
    value === undefined
      ? 'null'
      : `'${String(typeof value === 'object' ? JSON.stringify(value) : value).slice(0, 100)}'`
  const rest = `at '${param}' failed to satisfy constraint: ${constraintOf(issue, value)}`
  const message = `1 validation error detected: Value ${shown} ${rest}`
  return { message, param, logMessage: `1 validation error detected: the value ${rest}` }
}

function constraintOf(issue: Issue, value: Json | undefined): string {
  if (value === undefined || value === null) return 'Member must not be null'
  switch (issue.code) {
    case 'invalid_type':
      return `Member must be ${typeNames[issue.expected] ?? issue.expected}`
    case 'invalid_value':
      return `Member must satisfy enum value set: [${issue.values.map(String).join(', ')}]`
    case 'too_small':
      return issue.origin === 'array' || issue.origin === 'string'
        ? `Member must have length greater than or equal to ${issue.minimum}`
        : `Member must have value greater than or equal to ${issue.minimum}`
    case 'too_big':
      return `Member must have value less than or equal to ${issue.maximum}`
    default:
      return issue.message
  }
}

function valueAt(body: Json, path: readonly PropertyKey[]): Json | undefined {
  let value: Json | undefined = body
  for (const step of path) {
    if (Array.isArray(value)) value = value[Number(step)]
    else if (isObject(value) && typeof step === 'string' && Object.hasOwn(value, step)) value = value[step]
    else return undefined
  }
  return value
}
