import { isObject, type Json, type JsonObject } from '../../base/json/json.ts'
import * as z from '../shared/body-schema.ts'
import {
  arrayOf,
  bodyCheck,
  type Complaint,
  chosen,
  dotted,
  type Issue,
  messageList,
  optionalBoolean,
  validateBody,
} from '../shared/validate.ts'
import { hasThread, threadRefused } from './error.ts'

/**
 * Schemas of requests, and messages for their errors.
 * `requestSchema` is for requests that are translated. It requires the fields and bounds of the specification, and the shapes that
 * Anthropic checks. Objects are loose, and unknown types of blocks, tools and choices pass: they may be newer than this code.
 */
const optional = <T>(schema: z.Schema<T>) => schema.nullish()

const object = z.looseObject({})

const text = z.string()

const source = byType({
  base64: z.looseObject({ media_type: text, data: text }),
  text: z.looseObject({ data: text }),
  url: z.looseObject({ url: text }),
  file: z.looseObject({ file_id: text }),
  content: z.looseObject({ content: z.union([text, arrayOf(object)]) }),
})

/** Required fields of blocks, by type. */
const blocks: Readonly<Record<string, z.Schema>> = {
  text: z.looseObject({ text }),
  image: z.looseObject({ source }),
  document: z.looseObject({ source }),
  tool_use: z.looseObject({ id: text, name: text, input: object }),
  tool_result: z.looseObject({
    tool_use_id: text,
    content: optional(z.union([text, z.lazy(() => arrayOf(block))])),
    is_error: optional(z.boolean()),
  }),
  thinking: z.looseObject({ thinking: text, signature: text }),
  redacted_thinking: z.looseObject({ data: text }),
}

/** Validates an object by the schema for its `type`. */
function byType(shapes: Readonly<Record<string, z.Schema>>, standard?: string) {
  return z
    .looseObject({ type: standard === undefined ? text : optional(text) })
    .and((value) => chosen(shapes, value.type ?? standard))
}

const block: z.Schema = byType(blocks)

const content = z.union([text, arrayOf(block)])

const withContent = z.looseObject({ content })

/** Returns whether a system message only changes settings; it needs no content. */
const isSettingsChange = (message: { role: string; content?: unknown }) =>
  message.role === 'system' && message.content == null

const message = z
  .looseObject({ role: z.enum(['user', 'assistant', 'system']) })
  .and((value) => (isSettingsChange(value) ? undefined : withContent))

const tool = byType({ custom: z.looseObject({ name: text, input_schema: object }) }, 'custom')

const toolChoice = byType({ tool: z.looseObject({ name: text }) })

const thinking = byType({ enabled: z.looseObject({ budget_tokens: z.int() }) })

const maxTokens = { max_tokens: z.int().min(0) }

const required = { model: z.string().min(1), messages: arrayOf(message).min(1) }

const others = {
  system: optional(content),
  temperature: optional(z.number().min(0).max(1)),
  top_p: optional(z.number()),
  top_k: optional(z.int()),
  stream: optional(z.boolean()),
  stop_sequences: optional(arrayOf(text)),
  tools: optional(arrayOf(tool)),
  tool_choice: optional(toolChoice),
  thinking: optional(thinking),
  metadata: optional(z.looseObject({ user_id: optional(text) })),
  output_config: optional(object),
  service_tier: optional(text),
}

/** A token count needs no `max_tokens`. */
export const countSchema = z.looseObject({ ...required, ...others })

// The error names the first invalid field in this order.
export const requestSchema = z.looseObject({ ...required, ...maxTokens, ...others })

const passed = { model: z.string().min(1), messages: messageList() }

const otherPassed = {
  // The gateway decides by it whether to stream the response.
  stream: optionalBoolean,
  // Bounds from the specification. `max_tokens` has the exception below.
  temperature: z.number().min(0).max(1).nullish(),
}

/** A token count needs no `max_tokens`. */
export const countPassThroughSchema = z.looseObject({ ...passed, ...otherPassed })

/**
 * Schema of every messages request, translated or not; see shared/pass-through.ts.
 * `max_tokens: 0` fills Anthropic's prompt cache and generates nothing. Without `cache_control`, it is below the minimum.
 */
const passThroughSchema = z
  .looseObject({ ...passed, ...maxTokens, ...otherPassed })
  .superRefine(rejectBelowLimit, () => (value) => !isBelowLimit(value))

/** Validates any request of a client. See `Codec.checkRequest`. */
export const checkRequest = bodyCheck(passThroughSchema, describeIssue)

const translatedSchema = requestSchema.superRefine(rejectBelowLimit, () => (value) => !isBelowLimit(value))

/** Validates a request that will be translated. See `Codec.validateRequest`. */
export const validateRequest = (body: Json): JsonObject => validateAs(translatedSchema, body)

function rejectBelowLimit(value: { max_tokens: number }, context: z.Rule): void {
  if (isBelowLimit(value)) context.addIssue({ code: 'too_small', origin: 'int', minimum: 1, path: ['max_tokens'] })
}

/** Validates a request by the schema of its endpoint. */
export function validateAs(schema: typeof requestSchema | typeof countSchema, body: Json): JsonObject {
  if (isObject(body) && hasThread(body)) throw threadRefused()
  return validateBody(schema, body, describeIssue)
}

const isBelowLimit = (value: { max_tokens: number }): boolean =>
  value.max_tokens === 0 && !marksCache(value as unknown as Json)

/** Returns whether a value contains `cache_control`. `limits.depth` bounds the recursion. */
function marksCache(value: Json): boolean {
  if (Array.isArray(value)) return value.some(marksCache)
  if (!isObject(value)) return false
  for (const key in value) {
    const inner = value[key] as Json
    if ((key === 'cache_control' && isObject(inner)) || marksCache(inner)) return true
  }
  return false
}

/** Returns Anthropic's message for an issue, word for word where it is known: Claude Code parses it. */
export function describeIssue(issue: Issue, body: Json): Complaint {
  const message = messageOf(issue, valueAt(body, issue.path))
  if (issue.path.length === 0) return { message }
  return { message: `${pathWithTypes(issue.path, body)}: ${message}`, param: dotted(issue.path) }
}

const typeNames: Readonly<Record<string, string>> = {
  string: 'a valid string',
  number: 'a valid number',
  int: 'a valid integer',
  boolean: 'a valid boolean',
  array: 'a valid list',
  object: 'a valid dictionary or object to extract fields from',
}

const integerFields = new Set(['max_tokens', 'top_k', 'budget_tokens'])

function messageOf(issue: Issue, value: Json | undefined): string {
  const missing = value === undefined
  switch (issue.code) {
    case 'invalid_type':
      if (missing && issue.path.length > 0) return 'Field required'
      if (issue.expected === 'int' && typeof value === 'number')
        return 'Input should be a valid integer, got a number with a fractional part'
      if (integerFields.has(String(issue.path.at(-1)))) return `Input should be ${typeNames.int}`
      return `Input should be ${typeNames[issue.expected] ?? `a valid ${issue.expected}`}`
    case 'invalid_union':
      // Only content and system have two shapes. A string is always valid, so the invalid value was meant as a list.
      return missing ? 'Field required' : 'Input should be a valid list'
    case 'invalid_value':
      // `system` is valid, too. This is Anthropic's sentence, which clients look for.
      return missing ? 'Field required' : "Input should be 'user' or 'assistant'"
    case 'too_small':
      if (issue.origin === 'array') return 'at least one message is required'
      if (issue.origin === 'string') return 'String should have at least 1 character'
      return `Input should be greater than or equal to ${issue.minimum}`
    case 'too_big':
      return `Input should be less than or equal to ${issue.maximum}`
    default:
      return issue.message
  }
}

function valueAt(body: Json, path: readonly PropertyKey[]): Json | undefined {
  let value: Json | undefined = body
  for (const step of path) {
    if (Array.isArray(value)) value = value[Number(step)]
    else if (isObject(value)) value = value[String(step)]
    else return undefined
  }
  return value
}

/** Anthropic adds the type of an object to the path: `messages.0.content.1.tool_use.id`, `tools.0.custom.input_schema`. */
function pathWithTypes(path: readonly PropertyKey[], body: Json): string {
  const steps: string[] = []
  let value: Json | undefined = body
  for (const [depth, step] of path.entries()) {
    if (depth > 0 && isObject(value)) {
      if (typeof value.type === 'string' && step !== 'type') steps.push(value.type)
      else if (path[0] === 'tools' && depth === 2) steps.push('custom')
    }
    steps.push(String(step))
    value = valueAt(value ?? null, [step])
  }
  return steps.join('.')
}
