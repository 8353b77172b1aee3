import type { Json, JsonObject } from '../../base/json/json.ts'
import { complain as complainAsChat, integral, missing } from '../chat/validate.ts'
import * as z from '../shared/body-schema.ts'
import {
  arrayOf,
  bodyCheck,
  type Complaint,
  chosen,
  type Issue,
  optionalBoolean,
  validateBody,
} from '../shared/validate.ts'
import { efforts } from './fields.ts'

/**
 * Validates requests, in two levels:
 *
 *     checkRequest      every request              the model, and the flags that the gateway reads
 *     validateRequest   requests to be translated  the above, required fields, limits and types
 *
 * Objects are loose: unknown fields, item types, part types and tool types pass.
 */

/** Checks a request that will be translated; see `Codec.validateRequest`. */
export const validateRequest = (body: Json): JsonObject =>
  validateBody(inputSchema, validateBody(requestSchema, body, complain), complain)

/** Fields of this format whose values are integers. */
const integerFields: ReadonlySet<string> = new Set(['max_output_tokens', 'max_tool_calls', 'top_logprobs'])

/** Describes an issue in OpenAI's words, which are those of chat. */
export function complain(issue: Issue, body: Json): Complaint {
  const complaint = complainAsChat(issue, body)
  const { param = '', code = '', message } = complaint
  if (!integerFields.has(param) || !code.startsWith('decimal_')) return complaint
  return {
    param,
    code: code.replace('decimal', 'integer'),
    message: message.replace('decimal below', 'integer below').replace('decimal above', 'integer above'),
  }
}

/** The schema of every request. `requestSchema` is for requests that will be translated. */
const passThroughSchema = z.looseObject({
  model: z.string().min(1),
  // These decide how the gateway frames and counts the response.
  stream: optionalBoolean,
  background: optionalBoolean,
})

/** Checks any request from a client; see `Codec.checkRequest`. */
export const checkRequest = bodyCheck(passThroughSchema, complain)

// The schema of translated requests. Optional fields may be null, as real clients write them.

const integer = z.number({ error: 'an integer' }).refine(Number.isInteger, { params: integral })
const optional = <T>(schema: z.Schema<T>) => schema.nullish()
const object = z.looseObject({})
const oneOf = <const T extends readonly z.Schema[]>(what: string, options: T) => z.union(options, { error: what })

/** Returns a schema that selects another one by the value's `type`. Unknown types pass. */
function byType(schemas: Readonly<Record<string, z.Schema>>, typeOf: (value: { [key: string]: unknown }) => unknown) {
  return z
    .looseObject({ type: z.string().nullish() })
    .superRefine(
      (value, rule) => {
        if (typeOf(value) === undefined) rule.addIssue({ code: 'custom', path: ['type'], params: missing })
      },
      () => (value) => typeOf(value) !== undefined,
    )
    .and((value) => chosen(schemas, typeOf(value)))
}
const explicitType = (value: { [key: string]: unknown }): unknown => value.type ?? undefined

const part = byType(
  {
    input_text: z.looseObject({ text: z.string() }),
    output_text: z.looseObject({ text: z.string() }),
    refusal: z.looseObject({ refusal: z.string() }),
    input_image: z.looseObject({ image_url: optional(z.string()), file_id: optional(z.string()) }),
    input_file: z.looseObject({
      file_data: optional(z.string()),
      file_id: optional(z.string()),
      file_url: optional(z.string()),
      filename: optional(z.string()),
    }),
    input_audio: z.looseObject({ input_audio: z.looseObject({ data: z.string(), format: optional(z.string()) }) }),
  },
  explicitType,
)
const texts = 'one of a string or array of objects'
const content = oneOf(texts, [z.string(), arrayOf(part, texts)])

const entries = optional(arrayOf(object))
const call = { call_id: z.string(), name: z.string(), namespace: optional(z.string()) }
const result = z.looseObject({ call_id: z.string(), output: content })

/** Most items of real clients have no type. An item with a role is a message. */
const item = byType(
  {
    message: z.looseObject({ role: z.enum(['user', 'assistant', 'system', 'developer']), content }),
    function_call: z.looseObject({ ...call, arguments: z.string() }),
    custom_tool_call: z.looseObject({ ...call, input: z.string() }),
    function_call_output: result,
    custom_tool_call_output: result,
    reasoning: z.looseObject({ summary: entries, content: entries, encrypted_content: optional(z.string()) }),
    item_reference: z.looseObject({ id: z.string() }),
  },
  (value) => value.type ?? (value.role === undefined && value.id !== undefined ? 'item_reference' : 'message'),
)

const tool = byType(
  {
    function: z.looseObject({
      name: z.string(),
      description: optional(z.string()),
      parameters: optional(object),
      strict: optional(z.boolean()),
    }),
    custom: z.looseObject({ name: z.string(), description: optional(z.string()), format: optional(object) }),
    namespace: z.looseObject({ name: z.string(), tools: arrayOf(object) }),
  },
  explicitType,
)

const format = byType(
  { json_schema: z.looseObject({ name: z.string(), schema: object, strict: optional(z.boolean()) }) },
  explicitType,
)

export const requestSchema = z.looseObject({
  model: z.string().min(1),
  input: optional(oneOf(texts, [z.string(), arrayOf(item, texts)])),
  instructions: optional(z.string()),
  stream: optional(z.boolean()),
  temperature: optional(z.number().min(0).max(2)),
  top_p: optional(z.number().min(0).max(1)),
  max_output_tokens: optional(integer.min(1)),
  max_tool_calls: optional(integer.min(1)),
  top_logprobs: optional(integer.min(0).max(20)),
  tools: optional(arrayOf(tool)),
  tool_choice: optional(oneOf('one of a string or an object', [z.string(), object])),
  parallel_tool_calls: optional(z.boolean()),
  text: optional(z.looseObject({ format: optional(format), verbosity: optional(z.string()) })),
  reasoning: optional(z.looseObject({ effort: optional(z.enum(efforts)), summary: optional(z.string()) })),
  include: optional(arrayOf(z.string(), 'an array of strings')),
  metadata: optional(object),
  user: optional(z.string()),
  safety_identifier: optional(z.string()),
  prompt_cache_key: optional(z.string()),
  prompt_cache_retention: optional(z.string()),
  service_tier: optional(z.string()),
  store: optional(z.boolean()),
  background: optional(z.boolean()),
  truncation: optional(z.enum(['auto', 'disabled'])),
  previous_response_id: optional(z.string()),
  conversation: optional(oneOf('one of a string or an object', [z.string(), object])),
  prompt: optional(object),
  stream_options: optional(object),
})

/** Fields that provide a conversation, so that the input may be missing. */
const insteadOfInput = ['prompt', 'previous_response_id', 'conversation']

/** Requires a conversation: input, or a field that replaces it. */
const inputSchema = z.looseObject({}).superRefine((body, context) => {
  if (body.input !== undefined && body.input !== null) return
  if (insteadOfInput.some((key) => body[key] !== undefined && body[key] !== null)) return
  context.addIssue({ code: 'custom', path: ['input'], params: missing })
})
