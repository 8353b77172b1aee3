import * as z from 'zod'
import { acceptorOf, acceptorsOf, answeredBy } from '../shared/accept.ts'
import { eachOf } from '../shared/each-of.ts'

/**
 * What a request must have: the specification's required fields and bounds, and the shapes that Anthropic checks. Objects
 * are loose and unknown types of blocks, tools and choices pass: they may have been invented last week.
 */
const optional = <T extends z.ZodType>(schema: T) => schema.nullish()
const object = z.looseObject({})
const text = z.string()

const source = byType({
  base64: z.looseObject({ media_type: text, data: text }),
  text: z.looseObject({ data: text }),
  url: z.looseObject({ url: text }),
  file: z.looseObject({ file_id: text }),
  content: z.looseObject({ content: z.union([text, eachOf(object)]) }),
})

/** Fields that a block of a known type cannot do without. */
const blocks: Readonly<Record<string, z.ZodType>> = {
  text: z.looseObject({ text }),
  image: z.looseObject({ source }),
  document: z.looseObject({ source }),
  tool_use: z.looseObject({ id: text, name: text, input: object }),
  tool_result: z.looseObject({
    tool_use_id: text,
    content: optional(z.union([text, z.lazy(() => eachOf(block))])),
    is_error: optional(z.boolean()),
  }),
  thinking: z.looseObject({ thinking: text, signature: text }),
  redacted_thinking: z.looseObject({ data: text }),
}

/** Checks an object by what its `type` asks for. */
function byType(shapes: Readonly<Record<string, z.ZodType>>, standard?: string) {
  const object = z.looseObject({ type: standard === undefined ? text : optional(text) }).superRefine((value, check) => {
    const type = value.type ?? standard
    const shape = type !== undefined && Object.hasOwn(shapes, type) ? shapes[type] : undefined
    const result = shape?.safeParse(value)
    for (const issue of result?.error?.issues ?? []) check.addIssue({ ...issue })
  })
  return answeredBy(object, () => {
    const acceptors = acceptorsOf(shapes)
    return (value) => acceptors.get(value.type ?? standard)?.(value) ?? true
  })
}

const block: z.ZodType = byType(blocks)
const content = z.union([text, eachOf(block)])
const withContent = z.looseObject({ content })

/** A system message may only set the effort from here on. */
const isEffort = (message: { role: string; content?: unknown }) => message.role === 'system' && message.content == null

const message = answeredBy(
  z.looseObject({ role: z.enum(['user', 'assistant', 'system']) }).superRefine((value, check) => {
    if (isEffort(value)) return
    const result = withContent.safeParse(value)
    for (const issue of result.error?.issues ?? []) check.addIssue({ ...issue })
  }),
  () => {
    const hasContent = acceptorOf(withContent)
    return (value) => isEffort(value) || hasContent(value)
  },
)

const tool = byType({ custom: z.looseObject({ name: text, input_schema: object }) }, 'custom')
const toolChoice = byType({ tool: z.looseObject({ name: text }) })
const thinking = byType({ enabled: z.looseObject({ budget_tokens: z.int() }) })

export const requestSchema = z.looseObject({
  model: z.string().min(1),
  messages: eachOf(message).min(1),
  max_tokens: z.int().min(1),
  system: optional(content),
  temperature: optional(z.number().min(0).max(1)),
  top_p: optional(z.number()),
  top_k: optional(z.int()),
  stream: optional(z.boolean()),
  stop_sequences: optional(eachOf(text)),
  tools: optional(eachOf(tool)),
  tool_choice: optional(toolChoice),
  thinking: optional(thinking),
  metadata: optional(z.looseObject({ user_id: optional(text) })),
  output_config: optional(object),
  service_tier: optional(text),
})

/** A count needs no bound for an answer. */
export const countSchema = requestSchema.omit({ max_tokens: true })
