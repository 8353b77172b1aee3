import type { Json, JsonObject } from '../../base/json.ts'
import { asList, asNumber, asObject, asString, base64Bytes } from '../../base/json.ts'
import { countTokens } from '../../base/tokens.ts'
import type { Prompt, PromptMedia, PromptToolChoice, PromptTurn, Segment } from '../../contract/prompt.ts'

const mediaTokens = 85
const messageTokens = 3

/** Reads a checked Messages request as a model would. */
export function readMessages(body: JsonObject): Prompt {
  const messages = asList(body.messages).map(asObject)
  const choice = asObject(body.tool_choice)
  const thinking = asObject(body.thinking)
  const format = asObject(asObject(body.output_config).format ?? body.output_format)
  return {
    format: 'messages',
    model: asString(body.model),
    stream: body.stream === true,
    system: [textOf(body.system), ...messages.filter(isSystem).map((message) => textOf(message.content))]
      .filter((text) => text !== '')
      .join('\n'),
    turns: turnsOf(messages.filter((message) => !isSystem(message))),
    tools: asList(body.tools)
      .map(asObject)
      // Server tools have a type of their own and run at the provider; the fake runs none.
      .filter((tool) => tool.type === undefined || tool.type === 'custom')
      .map((tool) => ({ name: asString(tool.name), schema: asObject(tool.input_schema), custom: false })),
    toolChoice: choiceOf(choice),
    parallelTools: choice.disable_parallel_tool_use !== true,
    reasoning:
      thinking.type === 'enabled' || thinking.type === 'adaptive'
        ? thinking.display === 'omitted'
          ? 'omitted'
          : 'shown'
        : 'off',
    output: format.type === 'json_schema' ? { schema: asObject(format.schema) } : 'text',
    stop: asList(body.stop_sequences).filter((stop) => typeof stop === 'string'),
    maxTokens: asNumber(body.max_tokens),
    choices: 1,
    logprobs: undefined,
    includeUsage: true,
    segments: segmentsOf(body, messages),
  }
}

const isSystem = (message: JsonObject): boolean => message.role === 'system'

const blocksOf = (content: Json | undefined): JsonObject[] =>
  typeof content === 'string' ? [{ type: 'text', text: content }] : asList(content).map(asObject)

const textOf = (content: Json | undefined): string =>
  blocksOf(content)
    .filter((block) => block.type === 'text')
    .map((block) => asString(block.text))
    .join('\n')

function mediaOf(content: Json | undefined): PromptMedia[] {
  return blocksOf(content)
    .filter((block) => block.type === 'image' || block.type === 'document')
    .map((block): PromptMedia => {
      const source = asObject(block.source)
      const inner = textOf(source.content)
      return {
        kind: block.type === 'image' ? 'image' : 'document',
        mediaType: asString(source.media_type),
        bytes: source.type === 'base64' ? base64Bytes(asString(source.data)) : undefined,
        data: source.type === 'base64' ? asString(source.data) : undefined,
        url: source.type === 'url' ? asString(source.url) : undefined,
        title: asString(block.title) || undefined,
        text: source.type === 'text' ? asString(source.data) : source.type === 'content' ? inner : undefined,
        citable: asObject(block.citations).enabled === true,
      }
    })
}

function turnsOf(messages: JsonObject[]): PromptTurn[] {
  const names = new Map<string, string>()
  return messages.map((message): PromptTurn => {
    const blocks = blocksOf(message.content)
    const calls = blocks
      .filter((block) => block.type === 'tool_use')
      .map((block) => ({ id: asString(block.id), name: asString(block.name) }))
    for (const call of calls) names.set(call.id, call.name)
    return {
      role: message.role === 'assistant' ? 'assistant' : 'user',
      text: textOf(message.content),
      media: mediaOf(message.content),
      toolCalls: calls,
      toolResults: blocks
        .filter((block) => block.type === 'tool_result')
        .map((block) => ({
          id: asString(block.tool_use_id),
          name: names.get(asString(block.tool_use_id)),
          text: textOf(block.content),
          media: mediaOf(block.content),
          isError: block.is_error === true,
        })),
    }
  })
}

function choiceOf(choice: JsonObject): PromptToolChoice {
  if (choice.type === 'none') return 'none'
  if (choice.type === 'any') return 'required'
  return choice.type === 'tool' ? { name: asString(choice.name) } : 'auto'
}

/** Returns the cacheable segments: up to the request's cache marks, over tools, system and messages in this order. */
function segmentsOf(body: JsonObject, messages: JsonObject[]): Segment[] {
  const segments = [
    ...asList(body.tools)
      .map(asObject)
      .map((tool) => segmentOf(tool, countTokens(JSON.stringify(tool)))),
    ...blocksOf(body.system).map((block) => segmentOf(block, countTokens(asString(block.text)))),
    ...messages.flatMap((message) =>
      blocksOf(message.content).map((block, index) =>
        segmentOf(block, blockTokens(block) + (index === 0 ? messageTokens : 0), asString(message.role)),
      ),
    ),
  ]
  const last = segments.at(-1)
  if (last && body.cache_control) segments[segments.length - 1] = { ...last, mark: markOf(body) }
  return segments
}

function segmentOf(block: JsonObject, tokens: number, role = ''): Segment {
  const { cache_control: _mark, ...rest } = block
  return { text: role + JSON.stringify(rest), tokens, mark: markOf(block) }
}

function markOf(block: JsonObject): Segment['mark'] {
  const control = asObject(block.cache_control)
  if (control.type !== 'ephemeral') return undefined
  return control.ttl === '1h' ? '1h' : '5m'
}

function blockTokens(block: JsonObject): number {
  switch (block.type) {
    case 'text':
      return countTokens(asString(block.text))
    case 'thinking':
      return countTokens(asString(block.thinking))
    case 'tool_use':
      return countTokens(asString(block.name)) + countTokens(JSON.stringify(block.input ?? {}))
    case 'tool_result':
      return blocksOf(block.content).reduce((sum, inner) => sum + blockTokens(inner), 0)
    case 'document':
      return mediaOf([block]).reduce((sum, media) => sum + (media.text ? countTokens(media.text) : mediaTokens), 0)
    default:
      return mediaTokens
  }
}
