import { isObject } from '../../base/json/object.ts'
import type { Json, JsonObject } from '../../base/json/types.ts'
import type { CodecContext } from '../codec.ts'
import type { Part, Tool, ToolResultPart, Turn } from '../ir.ts'
import { attachCallSeals } from '../shared/call-seals.ts'
import { append, drop, takeString, unread } from '../shared/json-fields.ts'
import { pointer } from '../shared/pointers.ts'
import { loss } from '../shared/report.ts'
import { describeFoundTools } from '../shared/tools.ts'
import { decodeContent, isWords, sameMessage } from './content.ts'
import { beside, decodeAnswerItem, type ItemScope, nativeItem, typeOf } from './items-decode.ts'
import { decodeChange } from './settings-changes.ts'
import { decodeTools } from './tools.ts'

/** What a client, or a tool of the client's, adds to a conversation, among the items only this format knows. */
const saidByClient: ReadonlySet<string> = new Set([
  'computer_call_output',
  'local_shell_call_output',
  'shell_call_output',
  'apply_patch_call_output',
  'mcp_approval_response',
  'tool_search_output',
  'additional_tools',
  'compaction_trigger',
])
const results: ReadonlySet<string> = new Set(['function_call_output', 'custom_tool_call_output'])

export interface Conversation {
  turns: Turn[]
  /** Tools that the conversation brought along. */
  loaded: Tool[]
  /** How many parts of a turn are known to come from tools: each is looked at once. */
  fromTools?: { turn: Turn; parts: number }
}

/**
 * Items as turns. What the assistant said and did between two words of the client is one turn, in order; adjacent
 * results of tools are one user turn.
 */
export function decodeInput(input: Json | undefined, scope: ItemScope): Conversation {
  const at = '/input'
  const conversation: Conversation = { turns: [], loaded: [] }
  if (typeof input === 'string')
    conversation.turns.push({ role: 'user', parts: input === '' ? [] : [{ type: 'text', text: input, at }], at })
  if (!Array.isArray(input)) return conversation
  const customCalls = new Set<string>()
  for (const [index, item] of input.entries())
    if (isObject(item)) addItem(item, pointer(at, index), conversation, customCalls, scope)
  for (const turn of conversation.turns)
    if (turn.role === 'assistant') turn.parts = attachCallSeals(turn.parts, 'responses', scope.context)
  // A turn of nothing but carriers whose calls are gone says nothing.
  conversation.turns = conversation.turns.filter(
    ({ role, parts, extra, at: place }) =>
      role !== 'assistant' || parts.length > 0 || extra !== undefined || !sealed(place, input),
  )
  return conversation
}

function sealed(at: string | undefined, input: readonly Json[]): boolean {
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
  const { turns, loaded } = conversation
  const type = typeOf(item)
  reportStateItem(type, at, scope.context)
  // What only this format has a form for is kept as it is where it is sent to an upstream of this format.
  const change = scope.context.upstream === 'responses' ? undefined : decodeChange(item, type, at, scope)
  if (change !== undefined) {
    turns.push(change)
    return
  }
  if (type === 'message' && item.role !== 'assistant') {
    turns.push(decodeMessage(item, at, scope))
    return
  }
  if (results.has(type)) {
    resultTurn(conversation, at).parts.push(decodeResult(item, type, at, customCalls, scope))
    return
  }
  if (saidByClient.has(type)) {
    const tools = Array.isArray(item.tools) ? decodeTools(item.tools, pointer(at, 'tools')) : []
    append(loaded, tools)
    clientTurn(turns, at).parts.push(decodeClientItem(item, type, at, tools))
    return
  }
  if (type === 'custom_tool_call' && typeof item.call_id === 'string') customCalls.add(item.call_id)
  const parts = decodeAnswerItem(item, at, scope)
  const turn = assistantTurn(turns, parts, at)
  append(turn.parts, parts)
  if (parts.length === 0) {
    const { content: _, role: _role, type: _type, ...rest } = item
    const extra = beside(rest, scope)
    if (extra !== undefined) turn.extra = { responses: extra }
  }
}

function decodeMessage(item: JsonObject, at: string, scope: ItemScope): Turn {
  const fields = unread(item)
  const role = takeString(fields, 'role')
  const turn: Turn = { role: role === 'system' || role === 'developer' ? role : 'user', parts: [], at }
  turn.parts = decodeContent(fields.content, pointer(at, 'content'))
  drop(fields, 'content')
  const rest = beside(fields, scope)
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
    scope.context.report.add(loss(pointer(at, 'call_id'), 'the result names no call', 'approximated', 'note'))
  // Which kind it is follows from its call; only a result whose call is missing has to say so itself.
  const stray = type === 'custom_tool_call_output' && !customCalls.has(part.callId)
  const rest = stray ? { ...beside(fields, scope), type } : beside(fields, scope)
  if (rest !== undefined) part.extra = { responses: rest }
  return part
}

/** The tools that a search found are offered with the others; the text tells the model which they are. */
function decodeClientItem(item: JsonObject, type: string, at: string, tools: readonly Tool[]): Part {
  if (type === 'tool_search_output' && item.execution === 'client' && typeof item.call_id === 'string')
    return {
      type: 'tool-result',
      callId: item.call_id,
      parts: [{ type: 'text', text: describeFoundTools(namesOf(tools)), at }],
      extra: { responses: { native: item } },
      at,
    }
  const part = nativeItem(item, at)
  // Its tools are offered all the same.
  return type === 'additional_tools' && part.type === 'native' ? { ...part, incidental: true } : part
}

const namesOf = (tools: readonly Tool[]): string[] =>
  tools.flatMap((tool) => (tool.type === 'native' ? [] : [tool.name]))

function resultTurn(conversation: Conversation, at: string): Turn {
  const { turns } = conversation
  const last = turns.at(-1)
  // Results after results, or after other things a client's tools sent; a user's own words are a turn of their own.
  if (last?.role === 'user' && last.parts.length > 0 && isAllFromTools(last, conversation)) return last
  return open(turns, 'user', at)
}

function isAllFromTools(turn: Turn, conversation: Conversation): boolean {
  const { fromTools } = conversation
  let parts = fromTools?.turn === turn ? fromTools.parts : 0
  while (parts < turn.parts.length && isFromTool(turn.parts[parts] as Part)) parts++
  conversation.fromTools = { turn, parts }
  return parts === turn.parts.length
}

const isFromTool = (part: Part): boolean =>
  part.type === 'tool-result' || (part.type === 'native' && saidByClient.has(String(part.value.type)))

function clientTurn(turns: Turn[], at: string): Turn {
  const last = turns.at(-1)
  return last === undefined || last.role === 'assistant' ? open(turns, 'user', at) : last
}

/**
 * The open assistant turn. Two messages in a row that say the same beside their content, or nothing, could not be told
 * apart within one turn: the second opens another.
 */
function assistantTurn(turns: Turn[], parts: readonly Part[], at: string): Turn {
  const last = turns.at(-1)
  const [first] = parts
  if (last === undefined || last.role !== 'assistant' || first === undefined || last.parts.length === 0)
    return open(turns, 'assistant', at)
  const before = last.parts.at(-1)
  return before !== undefined && isWords(before) && isWords(first) && sameMessage(before, first)
    ? open(turns, 'assistant', at)
    : last
}

function open(turns: Turn[], role: 'user' | 'assistant', at: string): Turn {
  const turn: Turn = { role, parts: [], at }
  turns.push(turn)
  return turn
}

/** Fields that point to what only a server of this format has stored, or will do later. */
const fields: Readonly<Record<string, string>> = {
  previous_response_id: 'the earlier response is stored at another provider; send the whole conversation as `input`',
  conversation: 'the conversation is stored at another provider; send it as `input`',
  background: 'an answer in the background needs a server that keeps it',
  prompt: 'the prompt template is stored at another provider; write it out as `input`',
}

/** Items that do. */
const items: Readonly<Record<string, string>> = {
  item_reference: 'the item is stored at another provider; send the item itself',
  compaction: 'the compacted part of the conversation can be read by its issuer only',
  compaction_trigger: 'only a provider of this format can compact the conversation',
}

/**
 * Whatever needs state is fatal: without it another question would be answered. Unless the upstream is of this format and
 * has that state.
 */
export function reportState(body: JsonObject, context: CodecContext): void {
  if (context.upstream === 'responses') return
  for (const key of Object.keys(fields)) if (body[key]) tell(pointer('', key), fields[key], context)
}

export function reportStateItem(type: string, at: string, context: CodecContext): void {
  if (context.upstream !== 'responses' && Object.hasOwn(items, type)) tell(at, items[type], context)
}

function tell(at: string, detail: string | undefined, context: CodecContext): void {
  context.report.add(loss(at, detail ?? '', 'unsupported', 'fatal'))
}
