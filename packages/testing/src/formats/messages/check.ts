import type { Json, JsonObject } from '../../base/json.ts'
import { asList, asObject, asString, isObject, toText } from '../../base/json.ts'
import type { WireError } from '../../wire/errors.ts'
import type { Seals } from '../seals.ts'
import { checkBlocks } from './check-blocks.ts'

const known = new Set(
  (
    'cache_control container context_management inference_geo max_tokens mcp_servers messages metadata model output_config ' +
    'output_format safeguards service_tier speed stop_sequences stream system temperature thinking tool_choice tools top_k ' +
    'top_p user_profile_id'
  ).split(' '),
)
const toolKeys = new Set(
  'allowed_callers cache_control defer_loading description eager_input_streaming input_examples input_schema name strict type'.split(
    ' ',
  ),
)
const thinkingGuide =
  'Please consult our documentation at https://docs.claude.com/en/docs/build-with-claude/extended-thinking'

const fault = (message: string): WireError => ({ status: 400, type: 'invalid_request_error', message })

/** Returns Anthropic's error for an invalid request, or undefined. */
export function checkMessages(body: JsonObject, seals: Seals): WireError | undefined {
  if (body.thread !== undefined) {
    return {
      ...fault('thread: this endpoint keeps no threads. Send the whole conversation in `messages`.'),
      details: { error_code: 'thread_unsupported_request', unsupported: ['thread'] },
    }
  }
  for (const field of ['model', 'messages', 'max_tokens']) {
    if (body[field] === undefined) return fault(`${field}: Field required`)
  }
  const stranger = Object.keys(body).find((key) => !known.has(key))
  if (stranger !== undefined) return fault(`${stranger}: Extra inputs are not permitted`)
  return (
    checkFields(body, seals) ??
    checkCacheMarks(body) ??
    checkTools(body) ??
    checkThinking(body) ??
    checkConversation(body, seals)
  )
}

const maxCacheMarks = 4

/** Returns the values with `cache_control`: tools, blocks, and the request itself. */
function marksOf(body: JsonObject): JsonObject[] {
  const marked: JsonObject[] = []
  const collect = (value: Json | undefined): void => {
    if (Array.isArray(value)) value.forEach(collect)
    else if (isObject(value)) {
      if (isObject(value.cache_control)) marked.push(value)
      collect(value.content)
    }
  }
  for (const part of [body.tools, body.system, body.messages]) collect(part)
  return isObject(body.cache_control) ? [...marked, body] : marked
}

function checkCacheMarks(body: JsonObject): WireError | undefined {
  const marked = marksOf(body)
  if (marked.some(({ type, text }) => type === 'text' && text === ''))
    return fault('cache_control cannot be set for empty text blocks')
  if (marked.some((tool) => tool.defer_loading === true))
    return fault('tools: cache_control cannot be set for a tool with defer_loading')
  return marked.length > maxCacheMarks
    ? fault(`A maximum of ${maxCacheMarks} blocks with cache_control may be provided. Found ${marked.length}.`)
    : undefined
}

/** Does the same for token counting, which needs no `max_tokens`. */
export function checkCount(body: JsonObject, seals: Seals): WireError | undefined {
  return checkMessages({ ...body, max_tokens: 100_000 }, seals)
}

function checkFields(body: JsonObject, seals: Seals): WireError | undefined {
  if (typeof body.model !== 'string') return fault('model: Input should be a valid string')
  if (body.model === '') return fault('model: String should have at least 1 character')
  if (!Array.isArray(body.messages)) return fault('messages: Input should be a valid list')
  if (!Number.isInteger(body.max_tokens)) return fault('max_tokens: Input should be a valid integer')
  // 0 with a mark only fills the cache.
  if (Number(body.max_tokens) < (marksOf(body).length > 0 ? 0 : 1))
    return fault('max_tokens: Input should be greater than or equal to 1')
  for (const [field, max] of [
    ['temperature', 1],
    ['top_p', 1],
  ] as const) {
    const value = body[field]
    if (value === undefined) continue
    if (typeof value !== 'number') return fault(`${field}: Input should be a valid number`)
    if (value < 0 || value > max) return fault(`${field}: range: 0..${max}`)
  }
  if (body.top_k !== undefined && !Number.isInteger(body.top_k)) return fault('top_k: Input should be a valid integer')
  if (body.stream !== undefined && typeof body.stream !== 'boolean')
    return fault('stream: Input should be a valid boolean')
  const stops = body.stop_sequences
  if (stops !== undefined) {
    if (!Array.isArray(stops)) return fault('stop_sequences: Input should be a valid list')
    const blank = stops.findIndex((stop) => asString(stop).trim() === '')
    if (blank >= 0) return fault('stop_sequences: each stop sequence must contain non-whitespace')
  }
  if (body.metadata !== undefined) {
    const extra = Object.keys(asObject(body.metadata)).find((key) => key !== 'user_id')
    if (extra !== undefined) return fault(`metadata.${extra}: Extra inputs are not permitted`)
  }
  if (body.service_tier !== undefined && body.service_tier !== 'auto' && body.service_tier !== 'standard_only') {
    return fault("service_tier: Input should be 'auto' or 'standard_only'")
  }
  if (body.system !== undefined && typeof body.system !== 'string') {
    return Array.isArray(body.system)
      ? checkBlocks(body.system, 'system', 'system', seals)
      : fault('system: Input should be a valid list')
  }
  return undefined
}

function checkTools(body: JsonObject): WireError | undefined {
  const tools = asList(body.tools).map(asObject)
  for (const [index, tool] of tools.entries()) {
    // A dated type is a server tool or an Anthropic-defined tool, with its own fields.
    if (typeof tool.type === 'string' && tool.type !== 'custom') continue
    const at = `tools.${index}.custom`
    if (tool.name === undefined) return fault(`${at}.name: Field required`)
    if (!/^[a-zA-Z0-9_-]{1,128}$/.test(asString(tool.name))) {
      return fault(`${at}.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'`)
    }
    if (tool.input_schema === undefined) return fault(`${at}.input_schema: Field required`)
    if (asObject(tool.input_schema).type === undefined) return fault(`${at}.input_schema.type: Field required`)
    if (asObject(tool.input_schema).type !== 'object') return fault(`${at}.input_schema.type: Input should be 'object'`)
    const extra = Object.keys(tool).find((key) => !toolKeys.has(key))
    if (extra !== undefined) return fault(`${at}.${extra}: Extra inputs are not permitted`)
  }
  const choice = body.tool_choice
  if (choice === undefined) return undefined
  if (!isObject(choice))
    return fault('tool_choice: Input should be a valid dictionary or object to extract fields from')
  if (!['auto', 'any', 'tool', 'none'].includes(asString(choice.type))) {
    return fault(
      `tool_choice: Input tag '${toText(choice.type)}' found using 'type' does not match any of the expected tags: 'auto', 'any', 'tool', 'none'`,
    )
  }
  if (tools.length === 0) return fault('tool_choice: may only be specified while providing tools.')
  if (choice.type === 'tool') {
    if (typeof choice.name !== 'string') return fault('tool_choice.tool.name: Field required')
    if (!tools.some((tool) => tool.name === choice.name))
      return fault(`Tool '${choice.name}' not found in provided tools`)
  }
  return undefined
}

function checkThinking(body: JsonObject): WireError | undefined {
  if (body.thinking === undefined) return undefined
  const thinking = asObject(body.thinking)
  if (thinking.type === 'disabled') return undefined
  if (thinking.type !== 'enabled' && thinking.type !== 'adaptive') {
    return fault(
      `thinking: Input tag '${toText(thinking.type)}' found using 'type' does not match any of the expected tags: 'adaptive', 'disabled', 'enabled'`,
    )
  }
  if (thinking.type === 'enabled') {
    const budget = thinking.budget_tokens
    if (budget === undefined) return fault('thinking.enabled.budget_tokens: Field required')
    if (!Number.isInteger(budget)) return fault('thinking.enabled.budget_tokens: Input should be a valid integer')
    if (Number(budget) < 1024)
      return fault('thinking.enabled.budget_tokens: Input should be greater than or equal to 1024')
    if (Number(budget) >= Number(body.max_tokens)) {
      return fault(
        `\`max_tokens\` must be greater than \`thinking.budget_tokens\`. ${thinkingGuide}#max-tokens-and-context-window-size`,
      )
    }
  }
  if (typeof body.temperature === 'number' && body.temperature !== 1) {
    return fault(
      `\`temperature\` may only be set to 1 when thinking is enabled. ${thinkingGuide}#important-considerations-when-using-extended-thinking`,
    )
  }
  if (body.top_k !== undefined) return fault('`top_k` must be unset when thinking is enabled.')
  const choice = asObject(body.tool_choice).type
  const forced = choice === 'any' || choice === 'tool'
  if (forced && thinking.type === 'enabled') {
    return fault('Thinking may not be enabled when tool_choice forces tool use.')
  }
  return undefined
}

function checkConversation(body: JsonObject, seals: Seals): WireError | undefined {
  const messages = asList(body.messages)
  if (messages.length === 0) return fault('messages: at least one message is required')
  for (const [index, value] of messages.entries()) {
    const at = `messages.${index}`
    if (!isObject(value)) return fault(`${at}: Input should be a valid dictionary or object to extract fields from`)
    const error = checkMessage(value, at, index === messages.length - 1, seals)
    if (error) return error
  }
  const objects = messages.map(asObject)
  return checkPairs(objects) ?? checkToolLoop(body, objects)
}

interface Turn {
  readonly role: string
  readonly blocks: { readonly block: JsonObject; readonly at: string }[]
  /** Index of the turn's last message. */
  index: number
}

/**
 * Groups messages into turns. Adjacent messages of one role are one turn; a system message may be anywhere and separates nothing.
 */
function turnsOf(messages: JsonObject[]): Turn[] {
  const turns: Turn[] = []
  for (const [index, message] of messages.entries()) {
    const role = asString(message.role)
    if (role === 'system') continue
    let turn = turns.at(-1)
    if (turn?.role !== role) {
      turn = { role, blocks: [], index }
      turns.push(turn)
    }
    turn.index = index
    for (const [place, block] of asList(message.content).entries()) {
      turn.blocks.push({ block: asObject(block), at: `messages.${index}.content.${place}` })
    }
  }
  return turns
}

/** Requires results for every `tool_use` in the next turn, and a `tool_use` in the turn before for every `tool_result`. */
function checkPairs(messages: JsonObject[]): WireError | undefined {
  let requested: string[] = []
  let askedAt = 0
  for (const turn of turnsOf(messages)) {
    const results = turn.blocks.filter(({ block }) => block.type === 'tool_result')
    const answered = results.map(({ block }) => asString(block.tool_use_id))
    const open = requested.filter((id) => !answered.includes(id))
    if (open.length > 0) return unanswered(askedAt, open)
    const stray = results.find(({ block }) => !requested.includes(asString(block.tool_use_id)))
    if (stray) {
      return fault(
        `${stray.at}: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${asString(stray.block.tool_use_id)}. Each \`tool_result\` block must have a corresponding \`tool_use\` block in the previous message.`,
      )
    }
    requested = turn.blocks.filter(({ block }) => block.type === 'tool_use').map(({ block }) => asString(block.id))
    askedAt = turn.index
  }
  return requested.length > 0 ? unanswered(askedAt, requested) : undefined
}

const unanswered = (index: number, ids: string[]): WireError =>
  fault(
    `messages.${index}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${ids.join(', ')}. Each \`tool_use\` block must have a corresponding \`tool_result\` block in the next message.`,
  )

function checkMessage(message: JsonObject, at: string, last: boolean, seals: Seals): WireError | undefined {
  if (message.role === undefined) return fault(`${at}.role: Field required`)
  if (message.role !== 'user' && message.role !== 'assistant' && message.role !== 'system') {
    return fault(
      `messages: Unexpected role "${toText(message.role)}". Allowed roles are "user" or "assistant". For more information, see https://docs.claude.com/en/api/messages`,
    )
  }
  // A system message between turns may change the effort from there on.
  const keys = message.role === 'system' ? ['role', 'content', 'output_config'] : ['role', 'content']
  const extra = Object.keys(message).find((key) => !keys.includes(key))
  if (extra !== undefined) return fault(`${at}.${extra}: Extra inputs are not permitted`)
  const { content } = message
  if (content === undefined) return fault(`${at}.content: Field required`)
  if (typeof content !== 'string' && !Array.isArray(content))
    return fault(`${at}.content: Input should be a valid list`)
  if (content.length === 0 && !(last && message.role === 'assistant')) {
    return fault(`${at}: all messages must have non-empty content except for the optional final assistant message`)
  }
  if (last && message.role === 'assistant' && /\s$/.test(lastText(content))) {
    return fault('messages: final assistant content cannot end with trailing whitespace')
  }
  return typeof content === 'string' ? undefined : checkBlocks(content, `${at}.content`, message.role, seals)
}

const lastText = (content: string | Json[]): string =>
  typeof content === 'string' ? content : asString(asObject(content.at(-1)).text)

/** With a thinking budget, the assistant turn of an open tool loop must begin with its thinking. */
function checkToolLoop(body: JsonObject, messages: JsonObject[]): WireError | undefined {
  if (asObject(body.thinking).type !== 'enabled') return undefined
  const closing = asList(messages.at(-1)?.content).map(asObject)
  if (!closing.some((block) => block.type === 'tool_result')) return undefined
  const index = messages.findLastIndex((message) => message.role === 'assistant')
  const first = asObject(asList(messages[index]?.content)[0])
  if (first.type === 'thinking' || first.type === 'redacted_thinking') return undefined
  return fault(
    `messages.${index}.content.0.type: Expected \`thinking\` or \`redacted_thinking\`, but found \`${asString(first.type)}\`. When \`thinking\` is enabled, a final \`assistant\` message must start with a thinking block (preceeding the lastmost set of \`tool_use\` and \`tool_result\` blocks). We recommend you include thinking blocks from previous turns. To avoid this requirement, disable \`thinking\`. ${thinkingGuide}`,
  )
}
