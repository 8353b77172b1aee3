import { isObject, type Json, type JsonObject, pointer } from '../../base/json/json.ts'
import type { Loss } from '../ir.ts'
import { loss } from '../shared/report.ts'
import type { Adaptation, RequestChanges } from './adaptation.ts'
import { editResponse } from './cohere-response.ts'
import { openEvents } from './cohere-stream.ts'

/** Clients of Cohere's chat, version 2. Fields without a counterpart are reported, and documents, which decide the response, are rejected. */
export const cohere: Adaptation = {
  generate: {
    editRequest,
    editResponse,
    openEvents,
    clientFields: { stop: 'stop_sequences', top_p: 'p', top_k: 'k', reasoning_effort: 'thinking' },
  },
}

/** Fields with another name. */
const renamed = [
  ['stop_sequences', 'stop'],
  ['p', 'top_p'],
  ['k', 'top_k'],
] as const

/** Fields without a counterpart, with the severity of their loss. */
const unsupported: readonly (readonly [
  field: string,
  severity: Loss['severity'],
  isDefault?: (value: Json) => boolean,
])[] = [
  ['documents', 'fatal', (value) => Array.isArray(value) && value.length === 0],
  ['raw_prompting', 'fatal', (value) => value === false],
  // Cohere's SDK for TypeScript does not rename it.
  ['rawPrompting', 'fatal', (value) => value === false],
  ['citation_options', 'note'],
  ['safety_mode', 'warn', (value) => value === 'OFF' || value === 'NONE'],
  ['logprobs', 'warn', (value) => value === false],
  ['priority', 'note'],
]

function editRequest(body: JsonObject): RequestChanges {
  const set: JsonObject = {}
  const drop: string[] = []
  const losses: Loss[] = []
  for (const [name, own] of renamed) {
    const value = body[name]
    if (value === undefined) continue
    drop.push(name)
    // A `k` of 0 has no effect.
    if (value !== null && !(name === 'k' && value === 0)) set[own] = value
  }
  for (const [name, severity, isDefault] of unsupported) {
    const value = body[name]
    if (value === undefined) continue
    drop.push(name)
    if (value === null || isDefault?.(value) === true) continue
    losses.push(
      loss(`/${name}`, `${name} has no counterpart in the API format of the upstream`, 'unsupported', severity),
    )
  }
  if (body.stream === true) set.stream_options = { include_usage: true }
  if (typeof body.tool_choice === 'string') set.tool_choice = body.tool_choice.toLowerCase()
  addTools(body, set, drop)
  addResponseFormat(body, set)
  addThinking(body, set, drop, losses)
  if (Array.isArray(body.messages))
    set.messages = body.messages.map((message, index) =>
      isObject(message) ? toChatMessage(message, pointer('/messages', index), losses) : message,
    )
  return { set, drop, losses }
}

/** `strict_tools` applies to all tools. */
function addTools({ strict_tools: strict, tools }: JsonObject, set: JsonObject, drop: string[]): void {
  if (strict === undefined) return
  drop.push('strict_tools')
  if (strict !== true || !Array.isArray(tools)) return
  set.tools = tools.map((tool) =>
    isObject(tool) && isObject(tool.function) ? { ...tool, function: { ...tool.function, strict: true } } : tool,
  )
}

/** A schema has a name in the format. */
function addResponseFormat({ response_format: format }: JsonObject, set: JsonObject): void {
  if (!isObject(format) || format.type !== 'json_object') return
  const { json_schema: schema, ...others } = format
  if (isObject(schema))
    set.response_format = { ...others, type: 'json_schema', json_schema: { name: 'response', schema } }
}

function addThinking({ thinking }: JsonObject, set: JsonObject, drop: string[], losses: Loss[]): void {
  if (thinking === undefined) return
  drop.push('thinking')
  if (!isObject(thinking)) return
  set.reasoning_effort = thinking.type === 'disabled' ? 'none' : 'high'
  if (typeof thinking.token_budget === 'number')
    losses.push(
      loss('/thinking/token_budget', `the budget is sent as the effort '${set.reasoning_effort}'`, 'approximated'),
    )
}

function toChatMessage(message: JsonObject, at: string, losses: Loss[]): JsonObject {
  if (message.role === 'tool') return { ...message, content: toolContent(message.content ?? '') }
  if (message.role !== 'assistant') return message
  const { tool_plan: plan, citations, content, ...others } = message
  // The text that they cite is in the message.
  if (Array.isArray(citations) && citations.length > 0)
    losses.push(
      loss(`${at}/citations`, 'citations have no counterpart in the API format of the upstream', 'unsupported', 'note'),
    )
  const parts: readonly Json[] = Array.isArray(content)
    ? content
    : typeof content === 'string'
      ? [{ type: 'text', text: content }]
      : []
  const thoughts = parts.flatMap((part) => (isObject(part) && part.type === 'thinking' ? [textOf(part.thinking)] : []))
  const shown = parts.filter((part) => !(isObject(part) && part.type === 'thinking'))
  if (typeof plan === 'string' && plan !== '') shown.unshift({ type: 'text', text: plan })
  const texts = shown.map((part) => (isObject(part) && part.type === 'text' ? textOf(part.text) : undefined))
  const [only] = texts
  return {
    ...others,
    ...(thoughts.length === 0 ? {} : { reasoning_content: thoughts.join('\n') }),
    content: shown.length === 0 ? '' : texts.length === 1 && only !== undefined ? only : shown,
  }
}

const textOf = (value: Json | undefined): string => (typeof value === 'string' ? value : '')

/** The content of a tool message may have documents: their data is text. */
function toolContent(content: Json): Json {
  if (!Array.isArray(content)) return content
  const parts = content.map((part): Json => {
    if (!isObject(part) || part.type !== 'document') return part
    const { document = null } = part
    const isPlain = isObject(document) && typeof document.data === 'string' && document.id === undefined
    return { type: 'text', text: isPlain ? textOf(document.data) : JSON.stringify(document) }
  })
  const [first] = parts
  return parts.length === 1 && isObject(first) && first.type === 'text' ? textOf(first.text) : parts
}
