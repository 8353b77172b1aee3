import { isObject, type Json, type JsonObject } from '../../base/json/json.ts'
import { isStrictSchema } from '../chat/strict-schema.ts'
import type { ExchangeContext, TargetTraits } from '../codec.ts'
import type { ModelRequest, Report } from '../ir.ts'
import { createReport } from '../loss-report.ts'
import * as recorded from '../shared/recorded.test-support.ts'
import type { Machine } from '../stream-codec.ts'
import { fieldPointers } from './fields.ts'

export { eventsOf, isStream, parsed, present } from '../shared/recorded.test-support.ts'

export const readExchanges = (format = 'openai-responses') => recorded.readRecorded(format)

/** Bodies that real clients sent to `/responses`. */
export const readClientRequests = () =>
  recorded
    .readClientRequests((url) => url.replace(/\?.*/, '').endsWith('/responses'))
    .filter(({ body }) => body.model !== undefined)

const target = (model = 'm'): TargetTraits => ({ model, quirks: {} })

/** @param own whether client and upstream both use the responses format */
export function contextFor(
  request: Partial<ModelRequest> = {},
  own = true,
): ExchangeContext & { report: Report; target: TargetTraits } {
  let ids = 0
  return {
    report: createReport(),
    newId: (prefix) => `${prefix}${++ids}`,
    now: () => 1_700_000_000,
    request: { model: 'm', turns: [], stream: false, ...(own ? { at: fieldPointers } : {}), ...request },
    target: target(),
    ...(own ? { upstream: 'responses' } : {}),
  }
}

export const run = <In, Out>(machine: Machine<In, Out>, inputs: readonly In[]): Out[] => [
  ...inputs.flatMap((input) => machine.push(input)),
  ...machine.end(),
]

/**
 * Returns the form of a request after a round trip: without defaults and nulls, with the type of each message, a single plain
 * text as a string, annotations on assistant texts, an explicit `strict` where the schema allows it, and the new name of
 * `summary`.
 */
export function normalised(body: JsonObject): JsonObject {
  const out = withoutNulls(structuredClone(body))
  for (const key of ['stream', 'background']) if (out[key] === false) delete out[key]
  if (out.truncation === 'disabled') delete out.truncation
  if (out.instructions === '') delete out.instructions
  if (Array.isArray(out.tools)) out.tools = out.tools.map((tool) => (isObject(tool) ? normalTool(tool) : tool))
  if (isObject(out.reasoning)) {
    const { generate_summary: old, ...reasoning } = withoutNulls(out.reasoning)
    out.reasoning = old === undefined ? reasoning : { summary: old, ...reasoning }
  }
  if (isObject(out.text)) {
    const text = withoutNulls(out.text)
    out.text = isObject(text.format) ? { ...text, format: withoutNulls(text.format) } : text
  }
  for (const key of ['tools', 'include', 'reasoning', 'text'])
    if (isObject(out[key]) || Array.isArray(out[key])) if (Object.keys(out[key] as object).length === 0) delete out[key]
  if (Array.isArray(out.include)) out.include.sort((a, b) => rank(a) - rank(b))
  if (isObject(out.tool_choice) && Array.isArray(out.tool_choice.tools)) out.tool_choice.type ??= 'allowed_tools'
  if (Array.isArray(out.input)) out.input = out.input.map((item) => (isObject(item) ? normalItem(item) : item))
  return out
}

const rank = (entry: Json): number =>
  entry === 'reasoning.encrypted_content' ? 0 : entry === 'message.output_text.logprobs' ? 2 : 1

function withoutNulls(node: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(node).filter(([, value]) => value !== null))
}

function normalTool(tool: JsonObject): JsonObject {
  if (tool.type === 'namespace' && Array.isArray(tool.tools))
    return { ...tool, tools: tool.tools.map((inner) => (isObject(inner) ? normalTool(inner) : inner)) }
  if (tool.type !== 'function') return tool
  const out = withoutNulls(tool)
  if (out.strict === undefined && isStrictSchema(out.parameters, '')) out.strict = true
  return out
}

function normalItem(item: JsonObject): JsonObject {
  const out = withoutNulls(item)
  if (out.role !== undefined) out.type ??= 'message'
  if (out.type === 'reasoning') {
    if (Array.isArray(out.content) && out.content.length === 0) delete out.content
    return out
  }
  const isMessage = out.type === 'message'
  if (!isMessage && out.type !== 'function_call_output' && out.type !== 'custom_tool_call_output') return item
  const key = isMessage ? 'content' : 'output'
  const content = out[key]
  if (Array.isArray(content)) {
    const parts = content.map((part) => (isObject(part) ? normalPart(part) : part))
    const [only, second] = parts
    const plain = isObject(only) && second === undefined && isPlain(only, out)
    out[key] = plain ? (only.text ?? '') : parts
  } else if (out.role === 'assistant' && out.id !== undefined)
    out[key] = [{ type: 'output_text', text: content ?? '', annotations: [] }]
  return out
}

function normalPart(part: JsonObject): JsonObject {
  if (part.type !== 'output_text') return part
  const { logprobs, ...rest } = part
  const kept = Array.isArray(logprobs) && logprobs.length > 0 ? { logprobs } : {}
  return { ...rest, ...kept, annotations: rest.annotations ?? [] }
}

const isPlain = (part: JsonObject, item: JsonObject): boolean =>
  part.type === 'output_text'
    ? item.id === undefined && Object.keys(part).length === 3 && (part.annotations as Json[]).length === 0
    : part.type === 'input_text' && Object.keys(part).length === 2
