import { isObject, type Json, type JsonObject } from '../../base/json/json.ts'
import type { ExchangeContext, TargetTraits } from '../codec.ts'
import type { ModelRequest, Report } from '../ir.ts'
import { createReport } from '../loss-report.ts'
import * as recorded from '../shared/recorded.test-support.ts'
import type { Machine } from '../stream-codec.ts'
import type { Quirks } from '../target-traits.ts'

export { eventsOf, present } from '../shared/recorded.test-support.ts'

/** Returns every recorded exchange of this format. */
export const readExchanges = () =>
  recorded.readRecorded('anthropic-messages').map(({ path, request, response: { status, body } }) => ({
    path,
    request: isObject(request.body) ? request.body : undefined,
    status,
    body,
  }))

/** Returns every body that a real client sent to /v1/messages. */
export const readClientRequests = () => recorded.readClientRequests((url) => /\/messages(\?|$)/.test(url))

export const target = (model = 'm', quirks: Quirks = {}): TargetTraits => ({ model, quirks })

export function contextFor(request: Partial<ModelRequest> = {}): ExchangeContext & { report: Report } {
  let ids = 0
  return {
    report: createReport(),
    newId: (prefix) => `${prefix}${++ids}`,
    now: () => 1_700_000_000,
    request: { model: 'm', turns: [], stream: false, ...request },
  }
}

export function run<In, Out>(machine: Machine<In, Out>, inputs: readonly In[]): Out[] {
  return [...inputs.flatMap((input) => machine.push(input)), ...machine.end()]
}

/**
 * Normalises what decoding and encoding a request of this format changes. Each change keeps the meaning, is reported, or replaces
 * something that Anthropic rejects.
 */
export function normalised(body: JsonObject): JsonObject {
  const out = withoutNulls(structuredClone(body)) as JsonObject
  if (out.stream === false) delete out.stream
  if (isObject(out.thinking) && out.thinking.display === 'updates') out.thinking.display = 'summarized'
  if (Array.isArray(out.tools)) {
    for (const tool of out.tools) if (isObject(tool) && tool.type === 'custom') delete tool.type
    if (out.tools.length === 0) delete out.tools
  }
  if (isObject(out.tool_choice) && out.tools === undefined) delete out.tool_choice
  for (const key of ['stop_sequences', 'output_config', 'metadata', 'system']) if (isEmpty(out[key])) delete out[key]
  if (out.output_format !== undefined) {
    out.output_config = { ...(isObject(out.output_config) ? out.output_config : {}), format: out.output_format }
    delete out.output_format
  }
  if (Array.isArray(out.system)) out.system = out.system.filter(saysSomething)
  out.messages = mergeNeighbours((out.messages as JsonObject[]).map(normalisedMessage))
  return out
}

const isEmpty = (value: Json | undefined): boolean =>
  value === '' || (typeof value === 'object' && value !== null && Object.keys(value).length === 0)
const saysSomething = (block: Json): boolean =>
  !isObject(block) || block.type !== 'text' || String(block.text).trim() !== ''

function normalisedMessage(message: JsonObject): JsonObject {
  if (!Array.isArray(message.content)) return message
  const blocks = message.content.filter(saysSomething).filter(isObject)
  for (const block of blocks) {
    if (block.type === 'text' && isEmpty(block.citations)) delete block.citations
    if (block.type !== 'tool_result') continue
    if (Array.isArray(block.content)) block.content = block.content.filter(saysSomething)
    if (isEmpty(block.content)) delete block.content
  }
  return { ...message, content: blocks }
}

function mergeNeighbours(messages: JsonObject[]): JsonObject[] {
  const out: JsonObject[] = []
  for (const message of messages) {
    const last = out.at(-1)
    const bare = (one: JsonObject | undefined): boolean => Object.keys(one ?? {}).length === 2
    if (last === undefined || last.role !== message.role || message.role === 'system' || !bare(last) || !bare(message))
      out.push(message)
    else last.content = [...asBlocks(last.content), ...asBlocks(message.content)]
  }
  for (const message of out)
    if (Array.isArray(message.content) && message.role === 'user')
      message.content.sort((a, b) => Number(isResult(b)) - Number(isResult(a)))
  return out
}
const isResult = (block: Json): boolean => isObject(block) && block.type === 'tool_result'
const asBlocks = (content: Json | undefined): Json[] =>
  Array.isArray(content) ? content : [{ type: 'text', text: content ?? '' }]

/** Removes nulls where the SDKs write them for "none". They stay within native blocks. */
function withoutNulls(value: Json, depth = 0): Json {
  if (Array.isArray(value)) return value.map((item) => withoutNulls(item, depth + 1))
  if (!isObject(value) || isNative(value)) return value
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, item]) => item !== null)
      .map(([key, item]) => [key, key === 'input' || key.endsWith('schema') ? item : withoutNulls(item, depth + 1)]),
  )
}

const known = new Set('text image document thinking redacted_thinking tool_use tool_result ephemeral custom'.split(' '))
const isNative = (value: JsonObject): boolean => typeof value.type === 'string' && !known.has(value.type)
