import { isObject, type Json } from '../../base/json/json.ts'
import * as z from '../shared/body-schema.ts'
import { arrayOf, bodyCheck, type Complaint, dotted, type Issue, optionalBoolean } from '../shared/validate.ts'
import { efforts } from './fields.ts'

// Schemas of requests. Null counts as absent, and unknown fields pass. Ollama's own errors are those of its JSON parser, so these have
// words of their own.

const optional = <T>(schema: z.Schema<T>) => schema.nullish()
const object = z.looseObject({})
const text = optional(z.string())
const number = optional(z.number())
const strings = arrayOf(z.string(), 'an array of strings')

/** The fields that every call needs. All others are checked for a translation, which follows, since no upstream has this format. */
const checked = { model: z.string().min(1), stream: optionalBoolean }

const options = z.looseObject({
  temperature: number,
  top_p: number,
  top_k: number,
  seed: number,
  num_predict: number,
  presence_penalty: number,
  frequency_penalty: number,
  stop: optional(z.union([z.string(), strings], { error: 'a string or an array of strings' })),
})

const levels = efforts.map((level) => `'${level}'`).join(', ')
const settings = {
  ...checked,
  format: optional(z.union([z.literal('json'), z.literal(''), object], { error: "'json' or a JSON schema" })),
  options: optional(options),
  think: optional(z.union([z.boolean(), z.enum(efforts)], { error: `true, false, ${levels}` })),
  logprobs: optionalBoolean,
  top_logprobs: optional(z.number().min(0).max(20)),
}

const call = z.looseObject({
  function: z.looseObject({
    name: z.string(),
    arguments: optional(z.union([z.string(), object], { error: 'an object' })),
  }),
})

const roles = ['system', 'user', 'assistant', 'tool'] as const
const role = z
  .string()
  .refine((value) => roles.some((one) => one === value.toLowerCase()), { params: { expected: roles.join(', ') } })

const message = z.looseObject({
  role,
  content: text,
  thinking: text,
  images: optional(strings),
  tool_calls: optional(arrayOf(call, 'an array of objects')),
  tool_name: text,
  tool_call_id: text,
})

const tool = z.looseObject({
  function: z.looseObject({ name: z.string(), description: text, parameters: optional(object) }),
})

const chatSchema = z.looseObject({
  ...settings,
  messages: arrayOf(message, 'an array of objects').min(1),
  tools: optional(arrayOf(tool, 'an array of objects')),
})

const generateSchema = z.looseObject({
  ...settings,
  prompt: text,
  system: text,
  suffix: text,
  template: text,
  raw: optionalBoolean,
  images: optional(strings),
})

/** Checks the body of any request; see `Codec.checkRequest`. */
export const checkRequest = bodyCheck(z.looseObject(checked), complain)

/** Checks the body of `/api/chat` for a translation. */
export const validateRequest = bodyCheck(chatSchema, complain)

/** Checks the body of `/api/generate` for a translation. */
export const validateGenerate = bodyCheck(generateSchema, complain)

const typeWords: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  boolean: 'a boolean',
  array: 'an array',
  object: 'an object',
}

/** Describes an issue by the path of its field: `messages.0.role: expected a string, but got an integer`. */
export function complain(issue: Issue, body: Json): Complaint {
  const param = dotted(issue.path)
  if (param === '') return { message: `Invalid body: expected an object, but got ${kindOf(body)}.` }
  const value = valueAt(body, issue.path)
  if (value === undefined || value === null || value === '') return { message: `${param} is required`, param }
  const wanted = `${param}: expected ${expectation(issue)}`
  const message = `${wanted}, but got ${kindOf(value)}`
  // Logs do not quote the request.
  return typeof value === 'string' ? { message, logMessage: wanted, param } : { message, param }
}

function expectation(issue: Issue): string {
  switch (issue.code) {
    case 'invalid_type':
      return issue.message.startsWith('Invalid input') ? (typeWords[issue.expected] ?? issue.expected) : issue.message
    case 'too_small':
      return issue.origin === 'array' ? 'at least one entry' : `at least ${issue.minimum}`
    case 'too_big':
      return `at most ${issue.maximum}`
    case 'custom':
      return `one of ${String(issue.params?.expected)}`
    default:
      return issue.message
  }
}

function kindOf(value: Json): string {
  if (typeof value === 'string') return `'${value.slice(0, 100)}'`
  if (value === null || typeof value !== 'object') return String(value)
  if (!Array.isArray(value)) return 'an object'
  return value.length === 0 ? 'an empty array' : 'an array'
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
