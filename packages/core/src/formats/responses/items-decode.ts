import { type JsonObject, pointer, put, stringifyExact } from '../../base/json/json.ts'
import type { CodecContext } from '../codec.ts'
import type { MediaPart, ModelRequest, Part, ToolCallPart } from '../ir.ts'
import { takeCallSeal } from '../shared/call-seals.ts'
import { drop, takeString, type Unread, unread } from '../shared/json-fields.ts'
import { loss } from '../shared/report.ts'
import { decodeContent, meaningfulFields } from './content.ts'
import { decodeReasoning } from './reasoning.ts'
import { findMember, memberExtra, memberName, toolSearchName } from './tools.ts'

/** Settings for decoding items. */
export interface ItemScope {
  readonly context: CodecContext
  readonly tools: ModelRequest['tools']
  /** Keeps ids of items, for clients and upstreams of this format, which can refer to items by id. */
  readonly keepIds: boolean
  /** Restores the client's name of a tool that the upstream called. Set for responses only. */
  readonly restoreToolName?: (name: string) => string
  /** Keeps the status of items. In a response it follows from the status of the response. */
  readonly keepStates: boolean
  /** Fields that have been reported once for all items. */
  readonly reportedFields?: readonly string[]
}

/** Decodes an item of the assistant to parts: a message's content, reasoning, calls. Other items become native parts. */
export function decodeAssistantItem(item: JsonObject, at: string, scope: ItemScope): Part[] {
  switch (itemTypeOf(item)) {
    case 'message':
      return decodeMessage(item, at, scope)
    case 'reasoning':
      return filterExtra(decodeReasoning(item, at), scope)
    case 'function_call':
    case 'custom_tool_call':
      return [decodeCall(item, at, scope)]
    case 'tool_search_call':
      return [isClientSearch(item) ? decodeToolSearch(item, at) : nativeItem(item, at)]
    case 'image_generation_call':
      return [decodeImage(item, at, scope) ?? nativeItem(item, at)]
    default:
      return [nativeItem(item, at)]
  }
}

/** Returns the item's type. Most items omit it: an item with a role is a message, one with only an id refers to a stored item. */
export function itemTypeOf(item: JsonObject): string {
  if (typeof item.type === 'string') return item.type
  return item.role === undefined && typeof item.id === 'string' ? 'item_reference' : 'message'
}

/** Returns an item as a native part. */
export const nativeItem = (item: JsonObject, at: string): Part => ({
  type: 'native',
  format: 'responses',
  value: item,
  at,
})

/** Returns the item's fields in addition to its content, without ids and states that the reader cannot use. */
export function otherItemFields(fields: Unread, { keepIds, keepStates }: ItemScope): JsonObject | undefined {
  drop(fields, 'type')
  if (!keepIds) drop(fields, 'id')
  if (!keepStates) drop(fields, 'status')
  return meaningfulFields(fields)
}

function filterExtra(parts: Part[], scope: ItemScope): Part[] {
  for (const part of parts) {
    if (part.extra?.responses === undefined) continue
    const rest = otherItemFields(unread(part.extra.responses), scope)
    if (rest === undefined) delete part.extra
    else part.extra = { responses: rest }
  }
  return parts
}

/** Adds the message's other fields to a part. The encoder joins adjacent parts with equal fields to one message. */
function withMessageFields(part: Part, message: JsonObject | undefined): Part {
  if (message === undefined) return part
  return { ...part, extra: { responses: { ...part.extra?.responses, messageItem: message } } }
}

function decodeMessage(item: JsonObject, at: string, scope: ItemScope): Part[] {
  const fields = unread(item)
  drop(fields, 'role')
  const content = decodeContent(fields.content, pointer(at, 'content'))
  drop(fields, 'content')
  const message = otherItemFields(fields, scope)
  if (message !== undefined && !scope.keepIds) {
    reportMessageFields(message, at, scope)
    return content
  }
  return content.map((part) => withMessageFields(part, message))
}

/** Reports fields of a message that other formats cannot express. */
function reportMessageFields(message: JsonObject, at: string, { context, reportedFields }: ItemScope): void {
  for (const key of Object.keys(message)) {
    if (reportedFields?.includes(key)) continue
    const detail = `a message's ${key} has no counterpart in other formats`
    context.report.add(loss(pointer(at, key), detail, 'unsupported', 'note'))
  }
}

function decodeCall(item: JsonObject, at: string, scope: ItemScope): ToolCallPart {
  const custom = item.type === 'custom_tool_call'
  const fields = unread(item)
  const name = takeString(fields, 'name') ?? ''
  const namespace = takeString(fields, 'namespace')
  const member = namespace === undefined ? undefined : { namespace, name }
  const part: ToolCallPart = {
    type: 'tool-call',
    id:
      takeString(fields, 'call_id') ??
      (typeof item.id === 'string' && item.id !== '' ? item.id : scope.context.newId('call_')),
    name: member === undefined ? (scope.restoreToolName?.(name) ?? name) : memberName(member, scope.tools),
    input: inputText(fields, custom ? 'input' : 'arguments'),
    at,
  }
  if (custom) part.custom = true
  put(part, 'seal', takeCallSeal(fields, 'responses'))
  // A few gateways copy fields of the stream event to the item.
  for (const key of ['item_id', 'output_index']) drop(fields, key)
  const rest: JsonObject = { ...otherItemFields(fields, scope) }
  const known = findMember(part.name, scope.tools)
  if (member !== undefined && known === undefined) rest.namespace = memberExtra(member)
  // A model may write the flattened name itself.
  if (member === undefined && known !== undefined) rest.namespace = false
  if (Object.keys(rest).length > 0) part.extra = { responses: rest }
  return part
}

/** Returns the input as the model wrote it. A few servers send the arguments as an object. */
function inputText(fields: Unread, key: string): string {
  const text = takeString(fields, key)
  if (text !== undefined) return text
  const value = fields[key]
  drop(fields, key)
  return value === undefined ? '' : stringifyExact(value)
}

/** A tool search that the client runs becomes a call. `extra` keeps the item for upstreams of this format. */
const isClientSearch = (item: JsonObject): boolean => item.execution === 'client' && typeof item.call_id === 'string'

const decodeToolSearch = (item: JsonObject, at: string): ToolCallPart => ({
  type: 'tool-call',
  id: String(item.call_id),
  name: toolSearchName,
  input: typeof item.arguments === 'string' ? item.arguments : stringifyExact(item.arguments ?? {}),
  extra: { responses: { native: item } },
  at,
})

/** Decodes a generated image. Returns undefined if the item has no data, so that it is kept as a native part. */
function decodeImage(item: JsonObject, at: string, scope: ItemScope): MediaPart | undefined {
  const fields = unread(item)
  const data = takeString(fields, 'result')
  if (!data) return undefined
  const part: MediaPart = { type: 'media', kind: 'image', source: { type: 'base64', data }, at }
  const format = typeof item.output_format === 'string' ? item.output_format : ''
  if (format !== '') part.mediaType = `image/${format}`
  const rest = otherItemFields(fields, scope)
  if (rest !== undefined) part.extra = { responses: rest }
  return part
}
