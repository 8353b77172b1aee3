import type { Json, JsonObject } from '../../base/json.ts'
import { base64Bytes, listOf, numberOf, objectOf, stringOf } from '../../base/json.ts'
import { countTokens } from '../../base/tokens.ts'
import type { Prompt, PromptMedia, PromptToolChoice, PromptTurn, Segment } from '../../contract/prompt.ts'

const mediaTokens = 85
const messageTokens = 3

/** Reads a checked Messages request as a model would. */
export function readMessages(body: JsonObject): Prompt {
  const messages = listOf(body.messages).map(objectOf)
  const choice = objectOf(body.tool_choice)
  const thinking = objectOf(body.thinking)
  const format = objectOf(objectOf(body.output_config).format ?? body.output_format)
  return {
    format: 'messages',
    model: stringOf(body.model),
    stream: body.stream === true,
    system: [textOf(body.system), ...messages.filter(isSystem).map((message) => textOf(message.content))]
      .filter((text) => text !== '')
      .join('\n'),
    turns: turnsOf(messages.filter((message) => !isSystem(message))),
    tools: listOf(body.tools)
      .map(objectOf)
      // Server tools have a type of their own and run at the provider; the fake runs none.
      .filter((tool) => tool.type === undefined || tool.type === 'custom')
      .map((tool) => ({ name: stringOf(tool.name), schema: objectOf(tool.input_schema), custom: false })),
    toolChoice: choiceOf(choice),
    parallelTools: choice.disable_parallel_tool_use !== true,
    reasoning:
      thinking.type === 'enabled' || thinking.type === 'adaptive'
        ? thinking.display === 'omitted'
          ? 'omitted'
          : 'shown'
        : 'off',
    output: format.type === 'json_schema' ? { schema: objectOf(format.schema) } : 'text',
    stop: listOf(body.stop_sequences).filter((stop) => typeof stop === 'string'),
    maxTokens: numberOf(body.max_tokens),
    choices: 1,
    logprobs: undefined,
    includeUsage: true,
    segments: segmentsOf(body, messages),
  }
}

const isSystem = (message: JsonObject): boolean => message.role === 'system'

const blocksOf = (content: Json | undefined): JsonObject[] =>
  typeof content === 'string' ? [{ type: 'text', text: content }] : listOf(content).map(objectOf)

const textOf = (content: Json | undefined): string =>
  blocksOf(content)
    .filter((block) => block.type === 'text')
    .map((block) => stringOf(block.text))
    .join('\n')

function mediaOf(content: Json | undefined): PromptMedia[] {
  return blocksOf(content)
    .filter((block) => block.type === 'image' || block.type === 'document')
    .map((block): PromptMedia => {
      const source = objectOf(block.source)
      const inner = textOf(source.content)
      return {
        kind: block.type === 'image' ? 'image' : 'document',
        mediaType: stringOf(source.media_type),
        bytes: source.type === 'base64' ? base64Bytes(stringOf(source.data)) : undefined,
        data: source.type === 'base64' ? stringOf(source.data) : undefined,
        url: source.type === 'url' ? stringOf(source.url) : undefined,
        title: stringOf(block.title) || undefined,
        text: source.type === 'text' ? stringOf(source.data) : source.type === 'content' ? inner : undefined,
        citable: objectOf(block.citations).enabled === true,
      }
    })
}

function turnsOf(messages: JsonObject[]): PromptTurn[] {
  const names = new Map<string, string>()
  return messages.map((message): PromptTurn => {
    const blocks = blocksOf(message.content)
    const calls = blocks
      .filter((block) => block.type === 'tool_use')
      .map((block) => ({ id: stringOf(block.id), name: stringOf(block.name) }))
    for (const call of calls) names.set(call.id, call.name)
    return {
      role: message.role === 'assistant' ? 'assistant' : 'user',
      text: textOf(message.content),
      media: mediaOf(message.content),
      toolCalls: calls,
      toolResults: blocks
        .filter((block) => block.type === 'tool_result')
        .map((block) => ({
          id: stringOf(block.tool_use_id),
          name: names.get(stringOf(block.tool_use_id)),
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
  return choice.type === 'tool' ? { name: stringOf(choice.name) } : 'auto'
}

/** Returns the cacheable segments: up to the request's cache marks, over tools, system and messages in this order. */
function segmentsOf(body: JsonObject, messages: JsonObject[]): Segment[] {
  const segments = [
    ...listOf(body.tools)
      .map(objectOf)
      .map((tool) => segmentOf(tool, countTokens(JSON.stringify(tool)))),
    ...blocksOf(body.system).map((block) => segmentOf(block, countTokens(stringOf(block.text)))),
    ...messages.flatMap((message) =>
      blocksOf(message.content).map((block, index) =>
        segmentOf(block, blockTokens(block) + (index === 0 ? messageTokens : 0), stringOf(message.role)),
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
  const control = objectOf(block.cache_control)
  if (control.type !== 'ephemeral') return undefined
  return control.ttl === '1h' ? '1h' : '5m'
}

function blockTokens(block: JsonObject): number {
  switch (block.type) {
    case 'text':
      return countTokens(stringOf(block.text))
    case 'thinking':
      return countTokens(stringOf(block.thinking))
    case 'tool_use':
      return countTokens(stringOf(block.name)) + countTokens(JSON.stringify(block.input ?? {}))
    case 'tool_result':
      return blocksOf(block.content).reduce((sum, inner) => sum + blockTokens(inner), 0)
    case 'document':
      return mediaOf([block]).reduce((sum, media) => sum + (media.text ? countTokens(media.text) : mediaTokens), 0)
    default:
      return mediaTokens
  }
}
