import { GatewayError } from '../../base/errors.ts'
import { isObject, type Json, type JsonObject } from '../../base/json/json.ts'
import * as z from '../shared/body-schema.ts'
import { arrayOf, type Complaint, dotted, type Issue, validateBody } from '../shared/validate.ts'
import { copyInCamelCase, spellingOf } from './spelling.ts'

/**
 * Validates requests, in two levels:
 *
 *     checkRequest      every request              an object with contents
 *     validateRequest   requests to be translated  the above, and the types and limits that Google's servers enforce
 *
 * The schema describes the camelCase view of a body (`viewOf`). Objects are loose: unknown fields, parts and tools pass. Null
 * stands for an absent field, as in proto JSON.
 */

/** Checks any request from a client; see `Codec.checkRequest`. */
export function checkRequest(body: Json): JsonObject {
  checkIsObject(body)
  const contents = body[spellingOf(body, 'contents')]
  if (contents === undefined || contents === null)
    throw new GatewayError('invalid_request', '* GenerateContentRequest.contents: contents is not specified\n', {
      param: 'contents',
    })
  return body
}

/** Checks a request that will be translated, in either spelling; see `Codec.validateRequest`. */
export function validateRequest(body: Json): JsonObject {
  checkIsObject(body)
  validateBody(requestSchema, camelCaseView(body), (issue, view) => complain(issue, view, body))
  return body
}

function checkIsObject(body: Json): asserts body is JsonObject {
  if (!isObject(body))
    throw new GatewayError(
      'invalid_request',
      'Invalid JSON payload received. The root of the request is not an object.',
    )
}

/** Describes an issue in Google's words. `param` is a dotted path in the client's spelling. */
function complain(issue: Issue, view: Json, body: JsonObject): Complaint {
  const param = dotted(clientPath(issue.path, body))
  const field = protoPath(issue.path)
  if (issue.code === 'custom') {
    const params = issue.params as Fault
    if (params.addFault === 'sentence') return { message: params.sentence, param }
    if (params.addFault === 'rule') return { message: `* GenerateContentRequest.${field}: ${params.rule}\n`, param }
    return invalidValue(field, params.type, valueAt(view, issue.path), param)
  }
  const type = issue.code === 'invalid_type' ? (types[issue.expected] ?? '') : ''
  const value = valueAt(view, issue.path)
  if (value === undefined)
    return { message: `* GenerateContentRequest.${field}: ${String(issue.path.at(-1))} is not specified\n`, param }
  return invalidValue(field, type, value, param)
}

const types: Readonly<Record<string, string>> = {
  string: 'TYPE_STRING',
  boolean: 'TYPE_BOOL',
  number: 'TYPE_FLOAT',
  array: 'a list',
  object: 'an object',
}

function invalidValue(field: string, type: string, value: Json | undefined, param: string): Complaint {
  const shown = JSON.stringify(value) ?? 'nothing'
  const cut = shown.length > 100 ? `${shown.slice(0, 100)}…` : shown
  const logMessage = `Invalid value at '${field}'${type === '' ? '' : ` (${type})`}`
  return { message: `${logMessage}, ${cut}`, logMessage, param }
}

/** Returns a path in proto notation: `generation_config.stop_sequences[0]`. */
function protoPath(path: readonly PropertyKey[]): string {
  let out = ''
  for (const step of path)
    out += typeof step === 'number' ? `[${step}]` : `${out === '' ? '' : '.'}${snake(String(step))}`
  return out
}
const snake = (key: string): string => key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

/** Converts a path of the view to the client's spelling, without lists that the view added. */
function clientPath(path: readonly PropertyKey[], body: JsonObject): PropertyKey[] {
  const out: PropertyKey[] = []
  let node: Json | undefined = body
  for (const step of path) {
    if (typeof step === 'number') {
      if (!Array.isArray(node)) continue
      out.push(step)
      node = node[step]
    } else if (isObject(node)) {
      const key = spellingOf(node, String(step))
      out.push(key)
      node = node[key]
    } else if (node === undefined || out.length === 0) out.push(step)
  }
  return out
}

function valueAt(view: Json, path: readonly PropertyKey[]): Json | undefined {
  let value: Json | undefined = view
  for (const key of path) {
    if (Array.isArray(value)) value = value[Number(key)]
    else if (isObject(value) && typeof key === 'string' && Object.hasOwn(value, key)) value = value[key]
    else return undefined
  }
  return value
}

/** Issues that need Google's wording. */
export type Fault =
  | { addFault: 'type'; type: string }
  | { addFault: 'rule'; rule: string }
  /** A message that names no field. */
  | { addFault: 'sentence'; sentence: string }

const optional = <T>(schema: z.Schema<T>) => schema.nullish()
const object = z.looseObject({})

/** Accepts a number, or its text as proto JSON allows. */
function number(type: 'TYPE_FLOAT' | 'TYPE_INT32', rule = '', fits: (value: number) => boolean = () => true) {
  return optional(
    z.unknown().superRefine((value, context) => {
      const parsed = typeof value === 'string' && value.trim() !== '' ? Number(value) : value
      const valid =
        typeof parsed === 'number' && Number.isFinite(parsed) && (type === 'TYPE_FLOAT' || Number.isInteger(parsed))
      if (valid && fits(parsed)) return
      const params: Fault = valid ? { addFault: 'rule', rule } : { addFault: 'type', type }
      context.addIssue({ code: 'custom', params })
    }),
  )
}
const within = (least: number, most: number) => (value: number) => value >= least && value <= most

const fault = (context: z.Rule, params: Fault, path: PropertyKey[] = []): void =>
  context.addIssue({ code: 'custom', params, path })

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
      fault(context, { addFault: 'rule', rule: "required oneof field 'data' must have one initialized field" }, [
        'data',
      ])
    for (const key of ['functionCall', 'functionResponse'] as const) {
      const inner = value[key]
      if (isObject(inner) && !inner.name && inner.partialArgs === undefined)
        fault(context, { addFault: 'rule', rule: `Name cannot be empty.` }, [key, 'name'])
    }
  })

const roles: readonly string[] = ['', 'user', 'model', 'function', 'tool']

const content = z
  .looseObject({ role: optional(z.string()), parts: optional(arrayOf(part)) })
  .superRefine((value, context) => {
    if (typeof value.role === 'string' && !roles.includes(value.role))
      fault(context, { addFault: 'sentence', sentence: 'Please use a valid role: user, model.' }, ['role'])
    if (value.parts === undefined || value.parts === null || value.parts.length === 0)
      fault(context, { addFault: 'rule', rule: 'contents.parts must not be empty.' }, ['parts'])
  })

const contents = arrayOf(content).superRefine((value, context) => {
  if (value.length === 0) fault(context, { addFault: 'rule', rule: 'contents is not specified' })
})

const declaration = z
  .looseObject({ name: optional(z.string()), description: optional(z.string()) })
  .superRefine((value, context) => {
    if (!value.name)
      fault(
        context,
        {
          addFault: 'rule',
          rule: 'Invalid function name. Must start with a letter or an underscore. Must be alphameric (a-z, A-Z, 0-9), underscores (_), dots (.), colons (:) or dashes (-).',
        },
        ['name'],
      )
  })

const strings = arrayOf(z.string())

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
    systemInstruction: optional(z.looseObject({ parts: optional(arrayOf(part)) })),
    tools: optional(arrayOf(z.looseObject({ functionDeclarations: optional(arrayOf(declaration)) }))),
    toolConfig: optional(
      z.looseObject({
        functionCallingConfig: optional(
          z.looseObject({ mode: optional(z.string()), allowedFunctionNames: optional(strings) }),
        ),
      }),
    ),
    generationConfig: optional(generationConfig),
    safetySettings: optional(arrayOf(object)),
    cachedContent: optional(z.string()),
  })
  .superRefine((value, context) => {
    if (value.contents === undefined || value.contents === null)
      fault(context, { addFault: 'rule', rule: 'contents is not specified' }, ['contents'])
  })

type Kind = 'request' | 'content' | 'part' | 'tool' | 'toolConfig' | 'generationConfig' | 'plain'

/** The kinds of nested objects. Only these are converted to camelCase. */
const nestedKinds: Readonly<Record<Kind, Readonly<Record<string, Kind>>>> = {
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

/** Returns the view of a body that the schema describes: camelCase keys, and lists in place of single items or texts. */
function camelCaseView(body: Json, kind: Kind = 'request'): Json {
  if (Array.isArray(body)) return body.map((item) => camelCaseView(item, kind))
  if (typeof body === 'string' && kind === 'content') return { parts: [{ text: body }] }
  if (typeof body === 'string' && kind === 'part') return { text: body }
  if (!isObject(body)) return body
  const out: JsonObject = copyInCamelCase(body)
  if (kind === 'content' && out.parts === undefined && out.role === undefined)
    return { parts: [camelCaseView(body, 'part')] }
  for (const key of Object.keys(nestedKinds[kind])) {
    const value = out[key]
    if (value === undefined || value === null) continue
    const inner = camelCaseView(value, nestedKinds[kind][key] ?? 'plain')
    const single = lists.has(key) && !Array.isArray(inner) && (isObject(inner) || typeof value === 'string')
    out[key] = single ? [inner] : inner
  }
  if (kind === 'request' && Array.isArray(out.systemInstruction))
    out.systemInstruction = { parts: out.systemInstruction }
  return out
}
