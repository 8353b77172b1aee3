import { stringifyExact } from '../../base/json/exact-number.ts'
import { put } from '../../base/json/object.ts'
import type { JsonObject } from '../../base/json/types.ts'
import type { CodecContext } from '../codec.ts'
import type { MediaPart, ModelRequest, Part, ToolCallPart } from '../ir.ts'
import { takeCallSeal } from '../shared/call-seals.ts'
import { drop, takeString, type Unread, unread } from '../shared/json-fields.ts'
import { pointer } from '../shared/pointers.ts'
import { loss } from '../shared/report.ts'
import { decodeContent, substance } from './content.ts'
import { decodeReasoning } from './reasoning.ts'
import { findMember, keepMember, memberName, searchName } from './tools.ts'

/** What reading an item depends on. */
export interface ItemScope {
  readonly context: CodecContext
  readonly tools: ModelRequest['tools']
  /** Ids of items are kept: whoever reads them can refer to items. */
  readonly keepIds: boolean
  /** The client's own name of a tool that the upstream called; in an answer. */
  readonly raise?: (name: string) => string
  /** States of items are kept. An answer's follow from its own ending. */
  readonly keepStates: boolean
  /** Fields that have been reported for all items at once. */
  readonly told?: readonly string[]
}

/** Items an assistant says or does, as parts: a message's content, reasoning, calls; everything else stays as it is. */
export function decodeAnswerItem(item: JsonObject, at: string, scope: ItemScope): Part[] {
  switch (typeOf(item)) {
    case 'message':
      return decodeMessage(item, at, scope)
    case 'reasoning':
      return withinScope(decodeReasoning(item, at), scope)
    case 'function_call':
    case 'custom_tool_call':
      return [decodeCall(item, at, scope)]
    case 'tool_search_call':
      return [isClientSearch(item) ? decodeSearch(item, at) : nativeItem(item, at)]
    case 'image_generation_call':
      return [decodeImage(item, at, scope) ?? nativeItem(item, at)]
    default:
      return [nativeItem(item, at)]
  }
}

/** Most items have no type: one with a role is a message, one with an id alone refers to a stored item. */
export function typeOf(item: JsonObject): string {
  if (typeof item.type === 'string') return item.type
  return item.role === undefined && typeof item.id === 'string' ? 'item_reference' : 'message'
}

export const nativeItem = (item: JsonObject, at: string): Part => ({
  type: 'native',
  format: 'responses',
  value: item,
  at,
})

/** What an item says beside its content, without what means nothing to whoever reads it. */
export function beside(fields: Unread, { keepIds, keepStates }: ItemScope): JsonObject | undefined {
  drop(fields, 'type')
  if (!keepIds) drop(fields, 'id')
  if (!keepStates) drop(fields, 'status')
  return substance(fields)
}

function withinScope(parts: Part[], scope: ItemScope): Part[] {
  for (const part of parts) {
    if (part.extra?.responses === undefined) continue
    const rest = beside(unread(part.extra.responses), scope)
    if (rest === undefined) delete part.extra
    else part.extra = { responses: rest }
  }
  return parts
}

/** All parts of a message carry what their message says beside its content: by that they are put together again. */
function messageExtra(part: Part, message: JsonObject | undefined): Part {
  if (message === undefined) return part
  return { ...part, extra: { responses: { ...part.extra?.responses, messageItem: message } } }
}

function decodeMessage(item: JsonObject, at: string, scope: ItemScope): Part[] {
  const fields = unread(item)
  drop(fields, 'role')
  const content = decodeContent(fields.content, pointer(at, 'content'))
  drop(fields, 'content')
  const message = beside(fields, scope)
  if (message !== undefined && !scope.keepIds) {
    reportBeside(message, at, scope)
    return content
  }
  // The logprobs of an answer belong to its choice, those of a message sent back to nobody.
  return content.map((part) => messageExtra(part, message))
}

/** What a message says beside its content means nothing in other formats. */
function reportBeside(message: JsonObject, at: string, { context, told }: ItemScope): void {
  for (const key of Object.keys(message)) {
    if (told?.includes(key)) continue
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
    name: member === undefined ? (scope.raise?.(name) ?? name) : memberName(member, scope.tools),
    input: inputText(fields, custom ? 'input' : 'arguments'),
    at,
  }
  if (custom) part.custom = true
  put(part, 'seal', takeCallSeal(fields, 'responses'))
  // A few gateways add the event's own fields to the item.
  for (const key of ['item_id', 'output_index']) drop(fields, key)
  const rest: JsonObject = { ...beside(fields, scope) }
  const known = findMember(part.name, scope.tools)
  if (member !== undefined && known === undefined) rest.namespace = keepMember(member)
  // A model may well write the lowered name itself.
  if (member === undefined && known !== undefined) rest.namespace = false
  if (Object.keys(rest).length > 0) part.extra = { responses: rest }
  return part
}

/** The model's own text; a few servers send the arguments as an object. */
function inputText(fields: Unread, key: string): string {
  const text = takeString(fields, key)
  if (text !== undefined) return text
  const value = fields[key]
  drop(fields, key)
  return value === undefined ? '' : stringifyExact(value)
}

/** A tool search that the client runs is a call like any other; what it was is kept, for its own format. */
const isClientSearch = (item: JsonObject): boolean => item.execution === 'client' && typeof item.call_id === 'string'

const decodeSearch = (item: JsonObject, at: string): ToolCallPart => ({
  type: 'tool-call',
  id: String(item.call_id),
  name: searchName,
  input: typeof item.arguments === 'string' ? item.arguments : stringifyExact(item.arguments ?? {}),
  extra: { responses: { native: item } },
  at,
})

/** A picture that has been drawn; one that is only referred to is kept as it is. */
function decodeImage(item: JsonObject, at: string, scope: ItemScope): MediaPart | undefined {
  const fields = unread(item)
  const data = takeString(fields, 'result')
  if (!data) return undefined
  const part: MediaPart = { type: 'media', kind: 'image', source: { type: 'base64', data }, at }
  const format = typeof item.output_format === 'string' ? item.output_format : ''
  if (format !== '') part.mediaType = `image/${format}`
  const rest = beside(fields, scope)
  if (rest !== undefined) part.extra = { responses: rest }
  return part
}
