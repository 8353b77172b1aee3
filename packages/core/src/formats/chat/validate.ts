import { isObject, type Json } from '../../base/json/json.ts'
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
} from '../shared/validate.ts'
import { efforts } from './fields.ts'

/**
 * Schema of chat requests for translation: required fields, bounds, and the types of the fields that OpenAI checks. Unknown fields, part
 * types and tool types pass. Null counts as absent in optional fields.
 */

/** Parameters of custom issues, which `complain` reads. */
export const missing = { missing: true } as const
export const integral = { integral: true } as const

const roles = ['system', 'assistant', 'user', 'function', 'tool', 'developer'] as const
type Role = (typeof roles)[number]

const integer = z.number({ error: 'an integer' }).refine(Number.isInteger, { params: integral })
const optional = <T>(schema: z.Schema<T>) => schema.nullish()
const object = z.looseObject({})
const oneOf = <const T extends readonly z.Schema[]>(what: string, options: T) => z.union(options, { error: what })
const strings = arrayOf(z.string(), 'an array of strings')

const textPart = z.looseObject({ text: z.string() })
const imagePart = z.looseObject({
  image_url: oneOf('one of an object or a string', [z.string(), z.looseObject({ url: z.string() })]),
})
const audioPart = z.looseObject({
  // Mistral's clients send the audio itself.
  input_audio: oneOf('one of an object or a string', [
    z.string(),
    z.looseObject({ data: z.string(), format: optional(z.string()) }),
  ]),
})
const filePart = z.looseObject({ file: object })
const refusalPart = z.looseObject({ refusal: z.string() })
const knownParts: Readonly<Record<string, z.Schema>> = {
  text: textPart,
  image_url: imagePart,
  input_audio: audioPart,
  file: filePart,
  refusal: refusalPart,
}

/** Creates a schema that checks a value by its `type`. Unknown types pass. Without a fallback the type is required. */
function byType(schemas: Readonly<Record<string, z.Schema>>, fallback = '') {
  const type = fallback === '' ? z.string() : z.string().nullish()
  return z.looseObject({ type }).and((value) => chosen(schemas, value.type ?? fallback))
}

const parts = arrayOf(byType(knownParts), 'one of a string or array of objects')
const content = oneOf('one of a string or array of objects', [z.string(), parts])

const call = byType(
  {
    function: z.looseObject({
      function: z.looseObject({ name: z.string(), arguments: optional(oneOf('a string', [z.string(), object])) }),
    }),
    custom: z.looseObject({ custom: z.looseObject({ name: z.string(), input: optional(z.string()) }) }),
  },
  'function',
)
const named = { name: optional(z.string()) }

/** Fields that make the content of an assistant message optional. */
const insteadOfContent = [
  'tool_calls',
  'function_call',
  'refusal',
  'audio',
  'reasoning_content',
  'reasoning',
  'reasoning_details',
]

const assistant = z
  .looseObject({
    role: z.literal('assistant'),
    ...named,
    content: optional(content),
    refusal: optional(z.string()),
    tool_calls: optional(arrayOf(call)),
    function_call: optional(z.looseObject({ name: z.string(), arguments: optional(z.string()) })),
    audio: optional(object),
    reasoning_content: optional(z.string()),
    reasoning_details: optional(z.array(z.unknown())),
  })
  .superRefine((message, context) => {
    if (message.content !== undefined && message.content !== null) return
    if (insteadOfContent.some((key) => message[key] !== undefined && message[key] !== null)) return
    context.addIssue({ code: 'custom', path: ['content'], params: missing })
  })

const role = <R extends Role>(name: R) => ({ role: z.literal(name) })
const message = z.discriminatedUnion('role', [
  z.looseObject({ ...role('system'), ...named, content }),
  z.looseObject({ ...role('developer'), ...named, content }),
  z.looseObject({ ...role('user'), ...named, content }),
  assistant,
  z.looseObject({ ...role('tool'), ...named, content, tool_call_id: z.string() }),
  z.looseObject({ ...role('function'), name: z.string(), content: z.string().nullable() }),
])

const tool = byType(
  {
    function: z.looseObject({
      function: z.looseObject({
        name: z.string(),
        description: optional(z.string()),
        parameters: optional(object),
        strict: optional(z.boolean()),
      }),
    }),
    custom: z.looseObject({ custom: z.looseObject({ name: z.string(), description: optional(z.string()) }) }),
  },
  'function',
)

const requestSchema = z.looseObject({
  model: z.string().min(1),
  messages: arrayOf(message, 'an array of objects').min(1),
  temperature: optional(z.number().min(0).max(2)),
  top_p: optional(z.number().min(0).max(1)),
  n: optional(integer.min(1)),
  stream: optional(z.boolean()),
  stream_options: optional(z.looseObject({ include_usage: optional(z.boolean()) })),
  stop: optional(oneOf('one of a string or array of strings', [z.string(), strings])),
  max_tokens: optional(integer.min(1)),
  max_completion_tokens: optional(integer.min(1)),
  presence_penalty: optional(z.number().min(-2).max(2)),
  frequency_penalty: optional(z.number().min(-2).max(2)),
  logit_bias: optional(z.record(z.number())),
  logprobs: optional(z.boolean()),
  top_logprobs: optional(integer.min(0).max(20)),
  user: optional(z.string()),
  tools: optional(arrayOf(tool)),
  tool_choice: optional(oneOf('one of a string or an object', [z.string(), object])),
  parallel_tool_calls: optional(z.boolean()),
  functions: optional(arrayOf(z.looseObject({ name: z.string(), parameters: optional(object) }))),
  function_call: optional(oneOf('one of a string or an object', [z.string(), object])),
  response_format: optional(z.looseObject({ type: z.string() })),
  seed: optional(integer),
  reasoning_effort: optional(z.enum(efforts)),
  reasoning: optional(object),
  modalities: optional(strings),
  audio: optional(object),
  metadata: optional(object),
  prediction: optional(object),
  web_search_options: optional(object),
  service_tier: optional(z.string()),
  store: optional(z.boolean()),
  prompt_cache_key: optional(z.string()),
  safety_identifier: optional(z.string()),
  verbosity: optional(z.string()),
})

/** Schema of all chat requests, pass-through included; see `messageList`. `requestSchema` is for translations. */
const passThroughSchema = z.looseObject({
  model: z.string().min(1),
  messages: messageList('an array of objects'),
  // These decide the form of the response, and its accounting.
  stream: optionalBoolean,
  deferred: optionalBoolean,
  // The specification's limits.
  temperature: z.number().min(0).max(2).nullish(),
  top_p: z.number().min(0).max(1).nullish(),
  n: z.number({ error: 'an integer' }).refine(Number.isInteger, { params: integral }).min(1).nullish(),
  presence_penalty: z.number().min(-2).max(2).nullish(),
  frequency_penalty: z.number().min(-2).max(2).nullish(),
})

/** Checks any request from a client; see `Codec.checkRequest`. */
export const checkRequest = bodyCheck(passThroughSchema, complain)

/** Checks a request that is to be translated; see `Codec.validateRequest`. */
export const validateRequest = bodyCheck(requestSchema, complain)

/** Describes an issue as OpenAI does: message, dotted `param`, and `code`. */
export function complain(issue: Issue, body: Json): Complaint {
  const param = dotted(issue.path)
  if (param === '') return { message: `Invalid body: expected an object, but got ${kindOf(body)} instead.` }
  const value = valueAt(body, issue.path)
  if (value === undefined)
    return { message: `Missing required parameter: '${param}'.`, param, code: 'missing_required_parameter' }
  switch (issue.code) {
    case 'invalid_value':
      return wrongWord(param, issue.values, value)
    case 'too_small':
    case 'too_big':
      return outOfBounds(issue, param, value)
    case 'custom':
      if (issue.params?.integral) return wrongType(param, 'an integer', value)
      return wrongType(param, 'one of a string or array of objects', value)
    case 'invalid_union':
      if (issue.path[issue.path.length - 1] === 'role') return wrongWord(param, roles, value)
      return wrongType(param, issue.message, value)
    case 'invalid_type':
      return wrongType(param, expected(issue.expected, issue.message), value)
    default:
      return { message: `Invalid value for '${param}'.`, param, code: 'invalid_value' }
  }
}

function wrongWord(param: string, words: readonly unknown[], value: Json): Complaint {
  if (typeof value !== 'string') return wrongType(param, 'a string', value)
  const values = words.map((word) => `'${String(word)}'`)
  const last = values.pop() ?? ''
  const supported = `Supported values are: ${values.join(', ')}, and ${last}.`
  return {
    message: `Invalid value: '${value}'. ${supported}`,
    logMessage: `Invalid value for '${param}'. ${supported}`,
    param,
    code: 'invalid_value',
  }
}

const wrongType = (param: string, wanted: string, value: Json): Complaint => ({
  message: `Invalid type for '${param}': expected ${wanted}, but got ${kindOf(value)} instead.`,
  param,
  code: 'invalid_type',
})

const expectedWords: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a decimal',
  boolean: 'a boolean',
  array: 'an array',
  object: 'an object',
  record: 'an object',
}

/** Returns the schema's description, if it has one. */
const expected = (type: string, message: string): string =>
  message.startsWith('Invalid input') ? (expectedWords[type] ?? type) : message

function outOfBounds(issue: Extract<Issue, { code: 'too_small' | 'too_big' }>, param: string, value: Json): Complaint {
  const low = issue.code === 'too_small'
  const bound = Number(low ? issue.minimum : issue.maximum)
  if (issue.origin === 'array' || issue.origin === 'string') {
    const what = issue.origin === 'array' ? 'empty array' : 'empty string'
    return {
      message: `Invalid '${param}': ${what}. Expected ${issue.origin === 'array' ? 'an array' : 'a string'} with minimum length ${bound}, but got an ${what} instead.`,
      param,
      code: what.replace(' ', '_'),
    }
  }
  const kind = typeof value === 'number' && Number.isInteger(value) && isCounted(param) ? 'integer' : 'decimal'
  return {
    message: `Invalid '${param}': ${kind} ${low ? 'below minimum' : 'above maximum'} value. Expected a value ${low ? '>=' : '<='} ${bound}, but got ${String(value)} instead.`,
    param,
    code: `${kind}_${low ? 'below_min' : 'above_max'}_value`,
  }
}

/** Fields with integer values. Others are decimals, even if the value is whole. */
const counted: ReadonlySet<string> = new Set([
  'n',
  'max_tokens',
  'max_completion_tokens',
  'top_logprobs',
  'seed',
  // other operations
  'best_of',
  'dimensions',
  'logprobs',
  'max_chunks_per_doc',
  'max_tokens_per_doc',
  'top_n',
])
const isCounted = (param: string): boolean => counted.has(param)

function kindOf(value: Json | undefined): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'an array'
  if (typeof value === 'number') return Number.isInteger(value) ? 'an integer' : 'a decimal number'
  return typeof value === 'object' ? 'an object' : typeof value === 'boolean' ? 'a boolean' : 'a string'
}

function valueAt(body: Json, path: readonly PropertyKey[]): Json | undefined {
  let value: Json | undefined = body
  for (const key of path) {
    if (Array.isArray(value)) value = value[Number(key)]
    else if (isObject(value) && typeof key === 'string' && Object.hasOwn(value, key)) value = value[key]
    else return undefined
  }
  return value
}
