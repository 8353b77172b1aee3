import * as z from 'zod'
import { acceptorsOf, answeredBy } from '../shared/accept.ts'
import { eachOf } from '../shared/each-of.ts'
import { efforts } from './fields.ts'

/**
 * What a chat request must look like: the specification's required fields and bounds, and the types of every field the
 * provider itself checks. Objects are loose: unknown fields, part types and tool types pass. Null stands for absent in
 * optional fields, as real clients write it.
 */

/** Says in a custom issue which complaint it is; see complaint.ts. */
export const missing = { missing: true } as const
export const integral = { integral: true } as const

export const roles = ['system', 'assistant', 'user', 'function', 'tool', 'developer'] as const
type Role = (typeof roles)[number]

const integer = z.number({ error: 'an integer' }).refine(Number.isInteger, { params: integral })
const optional = <T extends z.ZodType>(schema: T) => schema.nullish()
const object = z.looseObject({})
const oneOf = <T extends readonly [z.ZodType, z.ZodType, ...z.ZodType[]]>(what: string, options: T) =>
  z.union(options, { error: what })
const strings = eachOf(z.string(), 'an array of strings')

const textPart = z.looseObject({ text: z.string() })
const imagePart = z.looseObject({
  image_url: oneOf('one of an object or a string', [z.string(), z.looseObject({ url: z.string() })]),
})
const audioPart = z.looseObject({
  // Mistral's clients write the audio itself.
  input_audio: oneOf('one of an object or a string', [
    z.string(),
    z.looseObject({ data: z.string(), format: optional(z.string()) }),
  ]),
})
const filePart = z.looseObject({ file: object })
const refusalPart = z.looseObject({ refusal: z.string() })
const knownParts: Readonly<Record<string, z.ZodType>> = {
  text: textPart,
  image_url: imagePart,
  input_audio: audioPart,
  file: filePart,
  refusal: refusalPart,
}

/** Checks a value by the schema its `type` names; types nobody knows pass. Without a fallback the type is required. */
function byType(schemas: Readonly<Record<string, z.ZodType>>, fallback = '') {
  const type = fallback === '' ? z.string() : z.string().nullish()
  const object = z.looseObject({ type }).superRefine((value, context) => {
    const type = value.type ?? fallback
    const result = Object.hasOwn(schemas, type) ? schemas[type]?.safeParse(value) : undefined
    for (const issue of result?.error?.issues ?? [])
      context.addIssue({ ...issue, input: undefined } as Parameters<typeof context.addIssue>[0])
  })
  return answeredBy(object, () => {
    const acceptors = acceptorsOf(schemas)
    return (value) => acceptors.get(value.type ?? fallback)?.(value) ?? true
  })
}

const parts = eachOf(byType(knownParts), 'one of a string or array of objects')
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

/** Fields that let an assistant message go without content. */
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
    tool_calls: optional(eachOf(call)),
    function_call: optional(z.looseObject({ name: z.string(), arguments: optional(z.string()) })),
    audio: optional(object),
    reasoning_content: optional(z.string()),
    reasoning_details: optional(z.array(z.unknown())),
  })
  .superRefine((message, context) => {
    if (message.content !== undefined && message.content !== null) return
    if (insteadOfContent.some((key) => message[key] !== undefined && message[key] !== null)) return
    context.addIssue({ code: 'custom', path: ['content'], params: missing, input: message.content })
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

export const requestSchema = z.looseObject({
  model: z.string().min(1),
  messages: eachOf(message, 'an array of objects').min(1),
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
  logit_bias: optional(z.record(z.string(), z.number())),
  logprobs: optional(z.boolean()),
  top_logprobs: optional(integer.min(0).max(20)),
  user: optional(z.string()),
  tools: optional(eachOf(tool)),
  tool_choice: optional(oneOf('one of a string or an object', [z.string(), object])),
  parallel_tool_calls: optional(z.boolean()),
  functions: optional(eachOf(z.looseObject({ name: z.string(), parameters: optional(object) }))),
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
