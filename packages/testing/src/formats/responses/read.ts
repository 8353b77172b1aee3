import type { Json, JsonObject } from '../../base/json.ts'
import { asList, asNumber, asObject, asString, base64Bytes, isObject } from '../../base/json.ts'
import { countTokens } from '../../base/tokens.ts'
import type { Prompt, PromptMedia, PromptTool, PromptToolChoice, PromptTurn, Segment } from '../../contract/prompt.ts'
import type { Memory } from '../memory.ts'
import { conversationOf, isCall, isOutput, toolsOf, typeOf } from './input.ts'

const mediaTokens = 85
const messageTokens = 3

/** Reads a checked Responses request as a model would. */
export function readResponses(body: JsonObject, memory: Memory): Prompt {
  const items = conversationOf(body, memory)
  const format = asObject(asObject(body.text).format)
  const include = asList(body.include)
  return {
    format: 'responses',
    model: asString(body.model),
    stream: body.stream === true,
    system: [asString(body.instructions), ...items.filter(isSystem).map((item) => textOf(item.content))]
      .filter((text) => text !== '')
      .join('\n'),
    turns: turnsOf(items.filter((item) => !isSystem(item))),
    tools: toolsOf(body, items).flatMap(toolOf),
    toolChoice: choiceOf(body.tool_choice),
    parallelTools: body.parallel_tool_calls !== false,
    reasoning: reasoningOf(asObject(body.reasoning)),
    output:
      format.type === 'json_schema'
        ? { schema: asObject(format.schema) }
        : format.type === 'json_object'
          ? 'json'
          : 'text',
    stop: [],
    maxTokens: asNumber(body.max_output_tokens),
    choices: 1,
    logprobs: include.includes('message.output_text.logprobs') ? (asNumber(body.top_logprobs) ?? 0) : undefined,
    includeUsage: true,
    segments: segmentsOf(body, items),
  }
}

const isSystem = (item: JsonObject): boolean => item.role === 'system' || item.role === 'developer'

const textOf = (content: Json | undefined): string =>
  typeof content === 'string'
    ? content
    : asList(content)
        .map(asObject)
        .map((part) => asString(part.text) || asString(part.refusal))
        .filter((text) => text !== '')
        .join('\n')

const nothing = { bytes: undefined, url: undefined, title: undefined, text: undefined, citable: false }

function fromUrl(kind: PromptMedia['kind'], url: string): PromptMedia {
  const data = /^data:([^;,]*)[^,]*,/.exec(url)
  if (!data) return { ...nothing, kind, mediaType: '', url: url === '' ? undefined : url }
  const inline = url.slice(data[0].length)
  return { ...nothing, kind, mediaType: data[1] ?? '', bytes: base64Bytes(inline), data: inline }
}

const mediaOf = (content: Json | undefined): PromptMedia[] =>
  asList(content)
    .map(asObject)
    .flatMap((part): PromptMedia[] => {
      switch (part.type) {
        case 'input_image':
          return [fromUrl('image', asString(part.image_url))]
        case 'input_audio': {
          const audio = asObject(part.input_audio)
          const bytes = base64Bytes(asString(audio.data))
          return [{ ...nothing, kind: 'audio', mediaType: `audio/${asString(audio.format)}`, bytes }]
        }
        case 'input_file': {
          const read = fromUrl('file', asString(part.file_data) || asString(part.file_url))
          return [{ ...read, title: asString(part.filename) || undefined }]
        }
        default:
          return []
      }
    })

/** Groups items into turns: adjacent items of the model, and adjacent tool results. */
function turnsOf(items: readonly JsonObject[]): PromptTurn[] {
  const turns: PromptTurn[] = []
  const names = new Map<string, string>()
  let before = ''
  for (const item of items) {
    const role = isOutput(item) ? 'tool' : item.role === 'user' ? 'user' : 'assistant'
    const turn = turnOf(item, names)
    const last = turns.at(-1)
    if (last && role === before && role !== 'user') turns[turns.length - 1] = joined(last, turn)
    else turns.push(turn)
    before = role
  }
  return turns
}

const joined = (one: PromptTurn, other: PromptTurn): PromptTurn => ({
  role: one.role,
  text: [one.text, other.text].filter((text) => text !== '').join('\n'),
  media: [...one.media, ...other.media],
  toolCalls: [...one.toolCalls, ...other.toolCalls],
  toolResults: [...one.toolResults, ...other.toolResults],
})

function turnOf(item: JsonObject, names: Map<string, string>): PromptTurn {
  const empty = { text: '', media: [], toolCalls: [], toolResults: [] }
  const id = asString(item.call_id)
  if (isOutput(item)) {
    const { output } = item
    const shown = typeof output === 'string' || Array.isArray(output) ? textOf(output) : JSON.stringify(output ?? null)
    const result = { id, name: names.get(id), text: shown, media: mediaOf(output), isError: false }
    return { ...empty, role: 'user', toolResults: [result] }
  }
  if (isCall(item)) {
    const name = asString(item.name) || typeOf(item).replace(/_call$/, '')
    names.set(id, name)
    return { ...empty, role: 'assistant', toolCalls: [{ id, name }] }
  }
  const role = item.role === 'user' ? 'user' : 'assistant'
  return { ...empty, role, text: textOf(item.content), media: mediaOf(item.content) }
}

function toolOf({ tool, namespace }: { tool: JsonObject; namespace?: string }): PromptTool[] {
  if (tool.type === 'tool_search' && tool.execution === 'client') {
    return [{ name: 'tool_search', schema: asObject(tool.parameters), custom: false, native: 'tool_search' }]
  }
  if (tool.type !== 'function' && tool.type !== 'custom') return []
  const custom = tool.type === 'custom'
  return [
    {
      name: asString(tool.name),
      schema: asObject(tool.parameters),
      custom,
      ...(namespace === undefined ? {} : { namespace }),
    },
  ]
}

function choiceOf(value: Json | undefined): PromptToolChoice {
  if (value === 'none' || value === 'required') return value
  if (!isObject(value)) return 'auto'
  if (value.type === 'allowed_tools') {
    const allowed = asList(value.tools).map((tool) => asString(asObject(tool).name))
    return { allowed, mode: value.mode === 'required' ? 'required' : 'auto' }
  }
  return typeof value.name === 'string' ? { name: value.name } : 'auto'
}

/** Returns the reasoning mode; a summary is shown only on request. */
function reasoningOf(reasoning: JsonObject): Prompt['reasoning'] {
  const summary = reasoning.summary ?? reasoning.generate_summary
  if (reasoning.effort === 'none') return 'off'
  if (typeof summary === 'string') return 'shown'
  return typeof reasoning.effort === 'string' ? 'omitted' : 'off'
}

/** Returns the cacheable segments: whole items are cached automatically. */
function segmentsOf(body: JsonObject, items: readonly JsonObject[]): Segment[] {
  const segments: Segment[] = []
  const add = (value: Json, tokens: number): void => {
    segments.push({ text: JSON.stringify(value), tokens, mark: '5m' })
  }
  if (asList(body.tools).length > 0) add(body.tools ?? null, countTokens(JSON.stringify(body.tools)))
  if (typeof body.instructions === 'string') add(body.instructions, countTokens(body.instructions) + messageTokens)
  for (const item of items) {
    const media = mediaOf(item.content).length + mediaOf(item.output).length
    const words = item.role === undefined ? callText(item) : textOf(item.content)
    // The model does not see ids: the prefix is the same without them.
    const { id: _id, status: _status, ...rest } = item
    add(rest, countTokens(words) + messageTokens + media * mediaTokens)
  }
  return segments
}

function callText(item: JsonObject): string {
  if (typeOf(item) === 'reasoning') return ''
  const output = Array.isArray(item.output) ? textOf(item.output) : item.output
  return [item.name, item.arguments, item.input, output].map((value) => asString(value)).join(' ')
}
