import type { Json, JsonObject } from '../../base/json.ts'
import { asList, asNumber, asObject, asString, base64Bytes, isObject } from '../../base/json.ts'
import { countTokens } from '../../base/tokens.ts'
import type { Prompt, PromptMedia, PromptTool, PromptToolChoice, PromptTurn, Segment } from '../../contract/prompt.ts'

/** Tokens counted for an image, audio or file. */
const mediaTokens = 85
/** Tokens around each message. */
const messageTokens = 3

/** Reads a checked Chat Completions request as a model would. */
export function readChat(body: JsonObject): Prompt {
  const messages = asList(body.messages).map(asObject)
  const format = asObject(body.response_format)
  const effort = body.reasoning_effort
  return {
    format: 'chat',
    model: asString(body.model),
    stream: body.stream === true,
    system: messages
      .filter((message) => message.role === 'system' || message.role === 'developer')
      .map((message) => textOf(message.content))
      .join('\n'),
    turns: turnsOf(messages),
    tools: asList(body.tools).map(toolOf),
    toolChoice: choiceOf(body.tool_choice),
    parallelTools: body.parallel_tool_calls !== false,
    reasoning: typeof effort === 'string' && effort !== 'none' ? 'shown' : 'off',
    output:
      format.type === 'json_schema'
        ? { schema: asObject(asObject(format.json_schema).schema) }
        : format.type === 'json_object'
          ? 'json'
          : 'text',
    stop: typeof body.stop === 'string' ? [body.stop] : asList(body.stop).filter((stop) => typeof stop === 'string'),
    maxTokens: asNumber(body.max_completion_tokens) ?? asNumber(body.max_tokens),
    choices: asNumber(body.n) ?? 1,
    logprobs: body.logprobs === true ? (asNumber(body.top_logprobs) ?? 0) : undefined,
    includeUsage: asObject(body.stream_options).include_usage === true,
    segments: segmentsOf(body, messages),
  }
}

function textOf(content: Json | undefined): string {
  if (typeof content === 'string') return content
  return asList(content)
    .map(asObject)
    .map((part) => asString(part.text) || asString(part.refusal))
    .filter((text) => text !== '')
    .join('\n')
}

function mediaOf(content: Json | undefined): PromptMedia[] {
  return asList(content)
    .map(asObject)
    .flatMap((part): PromptMedia[] => {
      if (part.type === 'image_url') return [fromUrl('image', asString(asObject(part.image_url).url))]
      if (part.type === 'input_audio') {
        const audio = asObject(part.input_audio)
        return [
          {
            ...nothing,
            kind: 'audio',
            mediaType: `audio/${asString(audio.format)}`,
            bytes: base64Bytes(asString(audio.data)),
          },
        ]
      }
      if (part.type !== 'file') return []
      const file = asObject(part.file)
      const read = fromUrl('file', asString(file.file_data))
      return [{ ...read, title: asString(file.filename) || undefined }]
    })
}

const nothing = { bytes: undefined, url: undefined, title: undefined, text: undefined, citable: false }

function fromUrl(kind: PromptMedia['kind'], url: string): PromptMedia {
  const data = /^data:([^;,]*)[^,]*,/.exec(url)
  if (!data) return { ...nothing, kind, mediaType: '', url }
  const inline = url.slice(data[0].length)
  return { ...nothing, kind, mediaType: data[1] ?? '', bytes: base64Bytes(inline), data: inline }
}

/** Groups messages into turns; tool messages become results of one user turn, as in Messages. */
function turnsOf(messages: JsonObject[]): PromptTurn[] {
  const turns: PromptTurn[] = []
  const names = new Map<string, string>()
  for (const message of messages) {
    if (message.role === 'user' || message.role === 'assistant') {
      const calls = asList(message.tool_calls)
        .map(asObject)
        .map((call) => ({
          id: asString(call.id),
          name: asString(asObject(call.function).name) || asString(asObject(call.custom).name),
        }))
      for (const call of calls) names.set(call.id, call.name)
      turns.push({
        role: message.role,
        text: textOf(message.content),
        media: mediaOf(message.content),
        toolCalls: calls,
        toolResults: [],
      })
    } else if (message.role === 'tool' || message.role === 'function') {
      const id = asString(message.tool_call_id)
      const result = {
        id,
        name: names.get(id) ?? (asString(message.name) || undefined),
        text: textOf(message.content),
        media: mediaOf(message.content),
        isError: false,
      }
      const last = turns.at(-1)
      if (last && last.toolResults.length > 0) {
        turns[turns.length - 1] = { ...last, toolResults: [...last.toolResults, result] }
      } else {
        turns.push({ role: 'user', text: '', media: [], toolCalls: [], toolResults: [result] })
      }
    }
  }
  return turns
}

function toolOf(value: Json): PromptTool {
  const tool = asObject(value)
  const custom = tool.type === 'custom'
  const spec = asObject(custom ? tool.custom : tool.function)
  return { name: asString(spec.name), schema: asObject(spec.parameters), custom }
}

function choiceOf(value: Json | undefined): PromptToolChoice {
  if (value === 'none' || value === 'required') return value
  if (!isObject(value)) return 'auto'
  if (value.type === 'allowed_tools') {
    const allowed = asObject(value.allowed_tools)
    const names = asList(allowed.tools)
      .map(asObject)
      .map((tool) => asString(asObject(tool.function).name))
    return { allowed: names, mode: allowed.mode === 'required' ? 'required' : 'auto' }
  }
  return { name: asString(asObject(value.type === 'custom' ? value.custom : value.function).name) }
}

/** Returns the cacheable segments: chat caches any prefix of whole messages automatically. */
function segmentsOf(body: JsonObject, messages: JsonObject[]): Segment[] {
  const tools = asList(body.tools)
  const segments: Segment[] = []
  if (tools.length > 0) {
    const text = JSON.stringify(tools)
    segments.push({ text, tokens: countTokens(text), mark: '5m' })
  }
  for (const message of messages) {
    const calls = asList(message.tool_calls)
    const words = textOf(message.content) + (calls.length > 0 ? JSON.stringify(calls) : '')
    segments.push({
      text: JSON.stringify(message),
      tokens: countTokens(words) + messageTokens + mediaOf(message.content).length * mediaTokens,
      mark: '5m',
    })
  }
  return segments
}
