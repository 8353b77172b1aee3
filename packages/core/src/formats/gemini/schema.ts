import * as z from 'zod'
import { isObject } from '../../base/json/object.ts'
import type { Json, JsonObject } from '../../base/json/types.ts'
import { eachOf } from '../shared/each-of.ts'
import { respell } from './spelling.ts'

/**
 * What a generateContent request must look like: what Google's servers themselves insist on. Objects are loose: unknown
 * fields, parts and tools pass. Null stands for absent, as proto JSON has it. It describes the camelCase view of a body.
 */

/** What an issue says, where zod has no words for it; see complaint.ts. */
export type Fault =
  | { fault: 'type'; type: string }
  | { fault: 'rule'; rule: string }
  /** A sentence that names no field. */
  | { fault: 'sentence'; sentence: string }

const optional = <T extends z.ZodType>(schema: T) => schema.nullish()
const object = z.looseObject({})

/** Proto JSON writes a number as a number or as its text. */
function number(type: 'TYPE_FLOAT' | 'TYPE_INT32', rule = '', fits: (value: number) => boolean = () => true) {
  return optional(
    z.unknown().superRefine((value, context) => {
      const parsed = typeof value === 'string' && value.trim() !== '' ? Number(value) : value
      const valid =
        typeof parsed === 'number' && Number.isFinite(parsed) && (type === 'TYPE_FLOAT' || Number.isInteger(parsed))
      if (valid && fits(parsed)) return
      const params: Fault = valid ? { fault: 'rule', rule } : { fault: 'type', type }
      context.addIssue({ code: 'custom', params, input: value })
    }),
  )
}
const within = (least: number, most: number) => (value: number) => value >= least && value <= most

const fault = (context: z.core.$RefinementCtx, params: Fault, path: PropertyKey[] = []): void =>
  context.addIssue({ code: 'custom', params, path, input: undefined })

const part = z
  .looseObject({
    text: optional(z.string()),
    thought: optional(z.boolean()),
    thoughtSignature: optional(z.string()),
    inlineData: optional(z.looseObject({ mimeType: optional(z.string()), data: z.string() })),
    fileData: optional(z.looseObject({ mimeType: optional(z.string()), fileUri: z.string() })),
    functionCall: optional(
      z.looseObject({ name: optional(z.string()), id: optional(z.string()), args: optional(object) }),
    ),
    functionResponse: optional(
      z.looseObject({ name: optional(z.string()), id: optional(z.string()), response: optional(object) }),
    ),
  })
  .superRefine((value, context) => {
    if (Object.keys(value).length === 0)
      fault(context, { fault: 'rule', rule: "required oneof field 'data' must have one initialized field" }, ['data'])
    for (const key of ['functionCall', 'functionResponse'] as const) {
      const inner = value[key]
      if (isObject(inner) && !inner.name && inner.partialArgs === undefined)
        fault(context, { fault: 'rule', rule: `Name cannot be empty.` }, [key, 'name'])
    }
  })

const roles: readonly string[] = ['', 'user', 'model', 'function', 'tool']

const content = z
  .looseObject({ role: optional(z.string()), parts: optional(eachOf(part)) })
  .superRefine((value, context) => {
    if (typeof value.role === 'string' && !roles.includes(value.role))
      fault(context, { fault: 'sentence', sentence: 'Please use a valid role: user, model.' }, ['role'])
    if (value.parts === undefined || value.parts === null || value.parts.length === 0)
      fault(context, { fault: 'rule', rule: 'contents.parts must not be empty.' }, ['parts'])
  })

const contents = eachOf(content).superRefine((value, context) => {
  if (value.length === 0) fault(context, { fault: 'rule', rule: 'contents is not specified' })
})

const declaration = z
  .looseObject({ name: optional(z.string()), description: optional(z.string()) })
  .superRefine((value, context) => {
    if (!value.name)
      fault(
        context,
        {
          fault: 'rule',
          rule: 'Invalid function name. Must start with a letter or an underscore. Must be alphameric (a-z, A-Z, 0-9), underscores (_), dots (.), colons (:) or dashes (-).',
        },
        ['name'],
      )
  })

const strings = eachOf(z.string())

const generationConfig = z.looseObject({
  temperature: number('TYPE_FLOAT', 'temperature must be in the range [0.0, 2.0].', within(0, 2)),
  topP: number('TYPE_FLOAT', 'top_p must be in the range [0.0, 1.0].', within(0, 1)),
  topK: number('TYPE_FLOAT', 'top_k must be positive.', within(1, Number.MAX_VALUE)),
  candidateCount: number('TYPE_INT32', 'candidate_count must be in the range [1, 8].', within(1, 8)),
  maxOutputTokens: number('TYPE_INT32', 'max_output_tokens must be positive.', within(1, Number.MAX_VALUE)),
  seed: number('TYPE_INT32'),
  presencePenalty: number('TYPE_FLOAT', 'presence_penalty must be in the range [-2.0, 2.0].', within(-2, 2)),
  frequencyPenalty: number('TYPE_FLOAT', 'frequency_penalty must be in the range [-2.0, 2.0].', within(-2, 2)),
  logprobs: number('TYPE_INT32', 'logprobs must be in the range [0, 20].', within(0, 20)),
  responseLogprobs: optional(z.boolean()),
  stopSequences: optional(strings),
  responseMimeType: optional(z.string()),
  responseSchema: optional(object),
  responseModalities: optional(strings),
  thinkingConfig: optional(
    z.looseObject({
      includeThoughts: optional(z.boolean()),
      thinkingBudget: number('TYPE_INT32'),
      thinkingLevel: optional(z.string()),
    }),
  ),
})

export const requestSchema = z
  .looseObject({
    model: optional(z.string()),
    stream: optional(z.boolean()),
    contents: optional(contents),
    systemInstruction: optional(z.looseObject({ parts: optional(eachOf(part)) })),
    tools: optional(eachOf(z.looseObject({ functionDeclarations: optional(eachOf(declaration)) }))),
    toolConfig: optional(
      z.looseObject({
        functionCallingConfig: optional(
          z.looseObject({ mode: optional(z.string()), allowedFunctionNames: optional(strings) }),
        ),
      }),
    ),
    generationConfig: optional(generationConfig),
    safetySettings: optional(eachOf(object)),
    cachedContent: optional(z.string()),
  })
  .superRefine((value, context) => {
    if (value.contents === undefined || value.contents === null)
      fault(context, { fault: 'rule', rule: 'contents is not specified' }, ['contents'])
  })

type Kind = 'request' | 'content' | 'part' | 'tool' | 'toolConfig' | 'generationConfig' | 'plain'

/** What lies where: only these places are read in both spellings. */
const inside: Readonly<Record<Kind, Readonly<Record<string, Kind>>>> = {
  request: {
    contents: 'content',
    systemInstruction: 'content',
    tools: 'tool',
    toolConfig: 'toolConfig',
    generationConfig: 'generationConfig',
  },
  content: { parts: 'part' },
  part: { functionCall: 'plain', functionResponse: 'plain', inlineData: 'plain', fileData: 'plain' },
  tool: { functionDeclarations: 'plain' },
  toolConfig: { functionCallingConfig: 'plain' },
  generationConfig: { thinkingConfig: 'plain' },
  plain: {},
}
const lists: ReadonlySet<string> = new Set(['contents', 'parts', 'tools', 'functionDeclarations', 'safetySettings'])

/** A body as the schema has it: camelCase, lists where a single item or a text may stand too. */
export function viewOf(body: Json, kind: Kind = 'request'): Json {
  if (Array.isArray(body)) return body.map((item) => viewOf(item, kind))
  if (typeof body === 'string' && kind === 'content') return { parts: [{ text: body }] }
  if (typeof body === 'string' && kind === 'part') return { text: body }
  if (!isObject(body)) return body
  const out: JsonObject = respell(body)
  if (kind === 'content' && out.parts === undefined && out.role === undefined) return { parts: [viewOf(body, 'part')] }
  for (const key of Object.keys(inside[kind])) {
    const value = out[key]
    if (value === undefined || value === null) continue
    const inner = viewOf(value, inside[kind][key] ?? 'plain')
    const single = lists.has(key) && !Array.isArray(inner) && (isObject(inner) || typeof value === 'string')
    out[key] = single ? [inner] : inner
  }
  if (kind === 'request' && Array.isArray(out.systemInstruction))
    out.systemInstruction = { parts: out.systemInstruction }
  return out
}
