import type { Json, JsonObject } from '../../base/json.ts'
import { base64Bytes, isObject, listOf, numberOf, objectOf, stringOf } from '../../base/json.ts'
import { countTokens } from '../../base/tokens.ts'
import type { Prompt, PromptMedia, PromptTool, PromptToolChoice, PromptTurn, Segment } from '../../contract/prompt.ts'

/** Tokens counted for an image, audio or file. */
const mediaTokens = 85
/** Tokens around each message. */
const messageTokens = 3

/** Reads a checked Chat Completions request as a model would. */
export function readChat(body: JsonObject): Prompt {
  const messages = listOf(body.messages).map(objectOf)
  const format = objectOf(body.response_format)
  const effort = body.reasoning_effort
  return {
    format: 'chat',
    model: stringOf(body.model),
    stream: body.stream === true,
    system: messages
      .filter((message) => message.role === 'system' || message.role === 'developer')
      .map((message) => textOf(message.content))
      .join('\n'),
    turns: turnsOf(messages),
    tools: listOf(body.tools).map(toolOf),
    toolChoice: choiceOf(body.tool_choice),
    parallelTools: body.parallel_tool_calls !== false,
    reasoning: typeof effort === 'string' && effort !== 'none' ? 'shown' : 'off',
    output:
      format.type === 'json_schema'
        ? { schema: objectOf(objectOf(format.json_schema).schema) }
        : format.type === 'json_object'
          ? 'json'
          : 'text',
    stop: typeof body.stop === 'string' ? [body.stop] : listOf(body.stop).filter((stop) => typeof stop === 'string'),
    maxTokens: numberOf(body.max_completion_tokens) ?? numberOf(body.max_tokens),
    choices: numberOf(body.n) ?? 1,
    logprobs: body.logprobs === true ? (numberOf(body.top_logprobs) ?? 0) : undefined,
    includeUsage: objectOf(body.stream_options).include_usage === true,
    segments: segmentsOf(body, messages),
  }
}

function textOf(content: Json | undefined): string {
  if (typeof content === 'string') return content
  return listOf(content)
    .map(objectOf)
    .map((part) => stringOf(part.text) || stringOf(part.refusal))
    .filter((text) => text !== '')
    .join('\n')
}

function mediaOf(content: Json | undefined): PromptMedia[] {
  return listOf(content)
    .map(objectOf)
    .flatMap((part): PromptMedia[] => {
      if (part.type === 'image_url') return [fromUrl('image', stringOf(objectOf(part.image_url).url))]
      if (part.type === 'input_audio') {
        const audio = objectOf(part.input_audio)
        return [
          {
            ...nothing,
            kind: 'audio',
            mediaType: `audio/${stringOf(audio.format)}`,
            bytes: base64Bytes(stringOf(audio.data)),
          },
        ]
      }
      if (part.type !== 'file') return []
      const file = objectOf(part.file)
      const read = fromUrl('file', stringOf(file.file_data))
      return [{ ...read, title: stringOf(file.filename) || undefined }]
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
      const calls = listOf(message.tool_calls)
        .map(objectOf)
        .map((call) => ({
          id: stringOf(call.id),
          name: stringOf(objectOf(call.function).name) || stringOf(objectOf(call.custom).name),
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
      const id = stringOf(message.tool_call_id)
      const result = {
        id,
        name: names.get(id) ?? (stringOf(message.name) || undefined),
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
  const tool = objectOf(value)
  const custom = tool.type === 'custom'
  const spec = objectOf(custom ? tool.custom : tool.function)
  return { name: stringOf(spec.name), schema: objectOf(spec.parameters), custom }
}

function choiceOf(value: Json | undefined): PromptToolChoice {
  if (value === 'none' || value === 'required') return value
  if (!isObject(value)) return 'auto'
  if (value.type === 'allowed_tools') {
    const allowed = objectOf(value.allowed_tools)
    const names = listOf(allowed.tools)
      .map(objectOf)
      .map((tool) => stringOf(objectOf(tool.function).name))
    return { allowed: names, mode: allowed.mode === 'required' ? 'required' : 'auto' }
  }
  return { name: stringOf(objectOf(value.type === 'custom' ? value.custom : value.function).name) }
}

/** Returns the cacheable segments: chat caches any prefix of whole messages automatically. */
function segmentsOf(body: JsonObject, messages: JsonObject[]): Segment[] {
  const tools = listOf(body.tools)
  const segments: Segment[] = []
  if (tools.length > 0) {
    const text = JSON.stringify(tools)
    segments.push({ text, tokens: countTokens(text), mark: '5m' })
  }
  for (const message of messages) {
    const calls = listOf(message.tool_calls)
    const words = textOf(message.content) + (calls.length > 0 ? JSON.stringify(calls) : '')
    segments.push({
      text: JSON.stringify(message),
      tokens: countTokens(words) + messageTokens + mediaOf(message.content).length * mediaTokens,
      mark: '5m',
    })
  }
  return segments
}
