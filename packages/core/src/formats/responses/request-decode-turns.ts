import { isObject, type Json, type JsonObject, pointer } from '../../base/json/json.ts'
import type { CodecContext } from '../codec.ts'
import type { Part, Tool, ToolResultPart, Turn } from '../ir.ts'
import { attachCallSeals } from '../shared/call-seals.ts'
import { append, drop, takeString, unread } from '../shared/json-fields.ts'
import { loss } from '../shared/report.ts'
import { describeFoundTools } from '../shared/tools.ts'
import { decodeContent, isMessagePart, isSameMessage } from './content.ts'
import { decodeAssistantItem, type ItemScope, itemTypeOf, nativeItem, otherItemFields } from './items-decode.ts'
import { decodeSettingsChange } from './settings-changes.ts'
import { decodeTools } from './tools.ts'

/** Types of items that only this format knows, and that the client or one of its tools adds to a conversation. */
const clientItemTypes: ReadonlySet<string> = new Set([
  'computer_call_output',
  'local_shell_call_output',
  'shell_call_output',
  'apply_patch_call_output',
  'mcp_approval_response',
  'tool_search_output',
  'additional_tools',
  'compaction_trigger',
])
const resultItemTypes: ReadonlySet<string> = new Set(['function_call_output', 'custom_tool_call_output'])

/** The decoded input. */
export interface Conversation {
  turns: Turn[]
  /** Tools that items of the conversation add. */
  loadedTools: Tool[]
  /** The number of parts of a turn that are known to come from tools, so that each part is checked once. */
  toolParts?: { turn: Turn; parts: number }
}

/**
 * Decodes input items to turns. All items of the assistant between two items of the client are one turn, in order.
 * Adjacent tool results are one user turn.
 */
export function decodeInput(input: Json | undefined, scope: ItemScope): Conversation {
  const at = '/input'
  const conversation: Conversation = { turns: [], loadedTools: [] }
  if (typeof input === 'string')
    conversation.turns.push({ role: 'user', parts: input === '' ? [] : [{ type: 'text', text: input, at }], at })
  if (!Array.isArray(input)) return conversation
  const customCalls = new Set<string>()
  for (const [index, item] of input.entries())
    if (isObject(item)) addItem(item, pointer(at, index), conversation, customCalls, scope)
  for (const turn of conversation.turns)
    if (turn.role === 'assistant') turn.parts = attachCallSeals(turn.parts, 'responses', scope.context)
  // A turn that held only seals of missing calls has no content.
  conversation.turns = conversation.turns.filter(
    ({ role, parts, extra, at: place }) =>
      role !== 'assistant' || parts.length > 0 || extra !== undefined || !isReasoningItem(place, input),
  )
  return conversation
}

function isReasoningItem(at: string | undefined, input: readonly Json[]): boolean {
  const item = input[Number(at?.slice('/input/'.length))]
  return isObject(item) && item.type === 'reasoning'
}

function addItem(
  item: JsonObject,
  at: string,
  conversation: Conversation,
  customCalls: Set<string>,
  scope: ItemScope,
): void {
  const { turns, loadedTools: loaded } = conversation
  const type = itemTypeOf(item)
  reportStoredStateItem(type, at, scope.context)
  // Upstreams of this format get the item unchanged, since no other format can express it.
  const change = scope.context.upstream === 'responses' ? undefined : decodeSettingsChange(item, type, at, scope)
  if (change !== undefined) {
    turns.push(change)
    return
  }
  if (type === 'message' && item.role !== 'assistant') {
    turns.push(decodeMessage(item, at, scope))
    return
  }
  if (resultItemTypes.has(type)) {
    resultTurn(conversation, at).parts.push(decodeResult(item, type, at, customCalls, scope))
    return
  }
  if (clientItemTypes.has(type)) {
    const tools = Array.isArray(item.tools) ? decodeTools(item.tools, pointer(at, 'tools')) : []
    append(loaded, tools)
    clientTurn(turns, at).parts.push(decodeClientItem(item, type, at, tools))
    return
  }
  if (type === 'custom_tool_call' && typeof item.call_id === 'string') customCalls.add(item.call_id)
  const parts = decodeAssistantItem(item, at, scope)
  const turn = assistantTurn(turns, parts, at)
  append(turn.parts, parts)
  if (parts.length === 0) {
    const { content: _, role: _role, type: _type, ...rest } = item
    const extra = otherItemFields(rest, scope)
    if (extra !== undefined) turn.extra = { responses: extra }
  }
}

function decodeMessage(item: JsonObject, at: string, scope: ItemScope): Turn {
  const fields = unread(item)
  const role = takeString(fields, 'role')
  const turn: Turn = { role: role === 'system' || role === 'developer' ? role : 'user', parts: [], at }
  turn.parts = decodeContent(fields.content, pointer(at, 'content'))
  drop(fields, 'content')
  const rest = otherItemFields(fields, scope)
  if (rest !== undefined) turn.extra = { responses: rest }
  return turn
}

function decodeResult(
  item: JsonObject,
  type: string,
  at: string,
  customCalls: ReadonlySet<string>,
  scope: ItemScope,
): ToolResultPart {
  const fields = unread(item)
  const part: ToolResultPart = {
    type: 'tool-result',
    callId: takeString(fields, 'call_id') ?? '',
    parts: decodeContent(fields.output, pointer(at, 'output')),
    at,
  }
  drop(fields, 'output')
  if (part.callId === '')
    scope.context.report.add(loss(pointer(at, 'call_id'), 'the result has no call id', 'approximated', 'note'))
  // The type of a result follows from its call. Only a result without a call keeps its type.
  const stray = type === 'custom_tool_call_output' && !customCalls.has(part.callId)
  const rest = stray ? { ...otherItemFields(fields, scope), type } : otherItemFields(fields, scope)
  if (rest !== undefined) part.extra = { responses: rest }
  return part
}

/** The tools that a search found are offered with the others; the result's text lists their names. */
function decodeClientItem(item: JsonObject, type: string, at: string, tools: readonly Tool[]): Part {
  if (type === 'tool_search_output' && item.execution === 'client' && typeof item.call_id === 'string')
    return {
      type: 'tool-result',
      callId: item.call_id,
      parts: [{ type: 'text', text: describeFoundTools(toolNamesOf(tools)), at }],
      extra: { responses: { native: item } },
      at,
    }
  const part = nativeItem(item, at)
  // Its tools are offered in any case.
  return type === 'additional_tools' && part.type === 'native' ? { ...part, incidental: true } : part
}

const toolNamesOf = (tools: readonly Tool[]): string[] =>
  tools.flatMap((tool) => (tool.type === 'native' ? [] : [tool.name]))

function resultTurn(conversation: Conversation, at: string): Turn {
  const { turns } = conversation
  const last = turns.at(-1)
  // Results join a turn that holds only output of the client's tools. A user message stays a separate turn.
  if (last?.role === 'user' && last.parts.length > 0 && isAllFromTools(last, conversation)) return last
  return openTurn(turns, 'user', at)
}

function isAllFromTools(turn: Turn, conversation: Conversation): boolean {
  const { toolParts: fromTools } = conversation
  let parts = fromTools?.turn === turn ? fromTools.parts : 0
  while (parts < turn.parts.length && isFromTool(turn.parts[parts] as Part)) parts++
  conversation.toolParts = { turn, parts }
  return parts === turn.parts.length
}

const isFromTool = (part: Part): boolean =>
  part.type === 'tool-result' || (part.type === 'native' && clientItemTypes.has(String(part.value.type)))

function clientTurn(turns: Turn[], at: string): Turn {
  const last = turns.at(-1)
  return last === undefined || last.role === 'assistant' ? openTurn(turns, 'user', at) : last
}

/**
 * Returns the open assistant turn. Two adjacent messages with equal fields could not be separated again within one turn,
 * so the second one opens a new turn.
 */
function assistantTurn(turns: Turn[], parts: readonly Part[], at: string): Turn {
  const last = turns.at(-1)
  const [first] = parts
  if (last === undefined || last.role !== 'assistant' || first === undefined || last.parts.length === 0)
    return openTurn(turns, 'assistant', at)
  const before = last.parts.at(-1)
  return before !== undefined && isMessagePart(before) && isMessagePart(first) && isSameMessage(before, first)
    ? openTurn(turns, 'assistant', at)
    : last
}

function openTurn(turns: Turn[], role: 'user' | 'assistant', at: string): Turn {
  const turn: Turn = { role, parts: [], at }
  turns.push(turn)
  return turn
}

/** Fields that need state or background work at a server of this format, with the reported detail. */
const fields: Readonly<Record<string, string>> = {
  previous_response_id: 'the earlier response is stored at another provider; send the whole conversation as `input`',
  conversation: 'the conversation is stored at another provider; send it as `input`',
  background: 'a background response needs a server that stores it',
  prompt: 'the prompt template is stored at another provider; write it out as `input`',
}

/** Item types that need such state. */
const items: Readonly<Record<string, string>> = {
  item_reference: 'the item is stored at another provider; send the item itself',
  compaction: 'the compacted part of the conversation can be read only by its issuer',
  compaction_trigger: 'only a provider of this format can compact the conversation',
}

/**
 * Reports fields that need stored state. They are fatal, since without the state the model would get a different request.
 * Upstreams of this format have the state.
 */
export function reportStoredState(body: JsonObject, context: CodecContext): void {
  if (context.upstream === 'responses') return
  for (const key of Object.keys(fields)) if (body[key]) reportFatal(pointer('', key), fields[key], context)
}

/** Reports an item that needs stored state. */
function reportStoredStateItem(type: string, at: string, context: CodecContext): void {
  if (context.upstream !== 'responses' && Object.hasOwn(items, type)) reportFatal(at, items[type], context)
}

function reportFatal(at: string, detail: string | undefined, context: CodecContext): void {
  context.report.add(loss(at, detail ?? '', 'unsupported', 'fatal'))
}
