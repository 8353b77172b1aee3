import { isObject, type Json, type JsonObject, pointer, put, stringifyExact } from '../../base/json/json.ts'
import type { CodecContext } from '../codec.ts'
import type { Part, ReasoningPart, TextPart, ToolCallPart, ToolResultPart, Turn } from '../ir.ts'
import {
  append,
  drop,
  leftover,
  putBack,
  takeArray,
  takeObject,
  takeString,
  type Unread,
  unread,
} from '../shared/json-fields.ts'
import { decodeMedia, isAddress } from './media.ts'
import { decodeCallSeal, decodeDetails } from './reasoning.ts'
import { decodeCache, legacyCallId } from './tools.ts'

/** Decodes messages as turns. Adjacent tool messages become one user turn. */
export function decodeMessages(messages: readonly Json[], context: CodecContext): Turn[] {
  const turns: Turn[] = []
  let results: Turn | undefined
  let lastLegacyCall = ''
  for (const [index, message] of messages.entries()) {
    if (!isObject(message)) continue // the validator has refused it
    const at = `/messages/${index}`
    const fields = unread(message)
    const role = takeString(fields, 'role')
    if (role === 'tool' || role === 'function') {
      const part = decodeToolMessage(
        fields,
        at,
        role === 'function' ? lastLegacyCall || legacyCallId(index) : undefined,
        context,
      )
      if (results === undefined) {
        results = { role: 'user', parts: [], at }
        turns.push(results)
      }
      results.parts.push(part)
      continue
    }
    results = undefined
    if (isObject(message.function_call)) lastLegacyCall = legacyCallId(index)
    turns.push(decodeTurn(role ?? 'user', fields, index, at, context))
  }
  return turns
}

function decodeTurn(role: string, fields: Unread, index: number, at: string, context: CodecContext): Turn {
  const known = role === 'system' || role === 'developer' || role === 'assistant' ? role : 'user'
  const turn: Turn = { role: known, parts: [], at }
  put(turn, 'name', takeString(fields, 'name'))
  if (fields.cache_control !== undefined) put(turn, 'cache', decodeCache(fields))
  const content = decodeContent(fields, at, context)
  if (role !== 'assistant') turn.parts = content
  else decodeAssistant(turn, content, fields, index, at)
  const rest = leftoverMessage(fields)
  if (rest !== undefined) turn.extra = { chat: rest }
  return turn
}

function decodeAssistant(turn: Turn, content: Part[], fields: Unread, index: number, at: string): void {
  const { parts } = turn
  append(parts, decodeReasoning(fields, at))
  for (const part of content) if (part.type === 'reasoning') parts.push(part)
  for (const part of content) if (part.type !== 'reasoning') parts.push(part)
  const refusal = takeString(fields, 'refusal')
  if (refusal) parts.push({ type: 'refusal', text: refusal, at: pointer(at, 'refusal') })
  const audio = takeObject(fields, 'audio')
  if (audio !== undefined) {
    const inner = unread(audio)
    const id = takeString(inner, 'id')
    if (id === undefined) putBack(fields, 'audio', audio)
    else {
      const rest = leftover(inner)
      parts.push({
        type: 'media',
        kind: 'audio',
        source: { type: 'file', seal: { issuer: 'chat', data: id } },
        at: pointer(at, 'audio'),
        ...(rest === undefined ? {} : { extra: { chat: rest } }),
      })
    }
  }
  const calls = takeArray(fields, 'tool_calls') ?? []
  for (const [position, call] of calls.entries()) {
    const part = decodeToolCall(call, pointer(`${at}/tool_calls`, position))
    if (part !== undefined) parts.push(part)
  }
  const legacy = takeObject(fields, 'function_call')
  if (legacy !== undefined) {
    const inner = unread(legacy)
    const part: ToolCallPart = {
      type: 'tool-call',
      id: legacyCallId(index),
      name: takeString(inner, 'name') ?? '',
      input: takeString(inner, 'arguments') ?? '',
      at: pointer(at, 'function_call'),
    }
    const rest = leftover(inner)
    if (rest !== undefined) part.extra = { chat: rest }
    parts.push(part)
  }
}

/** Reads earlier reasoning. If there is a list of details, the plain text only repeats it. */
function decodeReasoning(fields: Unread, at: string): ReasoningPart[] {
  const details = takeArray(fields, 'reasoning_details')
  const content = takeString(fields, 'reasoning_content')
  const reasoning = takeString(fields, 'reasoning')
  const parts = details === undefined ? [] : decodeDetails(details, pointer(at, 'reasoning_details'))
  const key = content ? 'reasoning_content' : 'reasoning'
  const text = content || reasoning || ''
  if (text !== '' && !parts.some((part) => part.text !== ''))
    parts.unshift({ type: 'reasoning', text, at: pointer(at, key) })
  if (content && reasoning && content !== reasoning) putBack(fields, 'reasoning', reasoning)
  return parts
}

export function decodeToolCall(source: Json, at: string): ToolCallPart | undefined {
  if (!isObject(source)) return undefined
  const fields = unread(source)
  drop(fields, 'index')
  const custom = isObject(source.custom) && (source.type === 'custom' || !isObject(source.function))
  const key = custom ? 'custom' : 'function'
  const inner = unread(isObject(source[key]) ? source[key] : {})
  drop(fields, 'type')
  const part: ToolCallPart = {
    type: 'tool-call',
    id: takeString(fields, 'id') ?? '',
    name: takeString(inner, 'name') ?? '',
    input: decodeInput(inner, custom ? 'input' : 'arguments'),
    at,
  }
  if (custom) part.custom = true
  const content = takeObject(fields, 'extra_content')
  if (content !== undefined) part.seal = decodeCallSeal(content)
  put(part, 'cache', decodeCache(fields))
  const rest = leftover(inner)
  if (rest === undefined) drop(fields, key)
  else fields[key] = rest
  // Some providers write the other kind of call with empty strings.
  const other = fields[custom ? 'function' : 'custom']
  if (isObject(other) && !other.name) drop(fields, custom ? 'function' : 'custom')
  const extra = leftoverMessage(fields)
  if (extra !== undefined) part.extra = { chat: extra }
  return part
}

/** The arguments as text. A few servers send an object. */
function decodeInput(inner: Unread, key: string): string {
  const text = takeString(inner, key)
  if (text !== undefined) return text
  const value = inner[key]
  drop(inner, key)
  return value === undefined ? '' : stringifyExact(value)
}

function decodeToolMessage(
  fields: Unread,
  at: string,
  legacyId: string | undefined,
  context: CodecContext,
): ToolResultPart {
  const part: ToolResultPart = {
    type: 'tool-result',
    callId: takeString(fields, 'tool_call_id') ?? legacyId ?? '',
    parts: decodeContent(fields, at, context),
    at,
  }
  put(part, 'name', takeString(fields, 'name'))
  put(part, 'cache', decodeCache(fields))
  const rest = leftoverMessage(fields)
  if (rest !== undefined) part.extra = { chat: rest }
  return part
}

function decodeContent(fields: Unread, messageAt: string, context: CodecContext): Part[] {
  const { content } = fields
  const at = pointer(messageAt, 'content')
  if (typeof content === 'string') {
    drop(fields, 'content')
    return content === '' ? [] : [{ type: 'text', text: content, at }]
  }
  if (!Array.isArray(content)) {
    if (content === null || content === undefined) drop(fields, 'content')
    return []
  }
  drop(fields, 'content')
  const parts: Part[] = []
  for (const [index, part] of content.entries()) {
    if (isObject(part)) decodeContentPart(part, pointer(at, index), parts, context)
    else if (typeof part === 'string') parts.push({ type: 'text', text: part, at: pointer(at, index) })
  }
  return parts
}

function decodeContentPart(source: JsonObject, at: string, into: Part[], { upstream }: CodecContext): void {
  const fields = unread(source)
  const type = takeString(fields, 'type') ?? ''
  const cache = decodeCache(fields)
  if (type === 'thinking') {
    const { thinking, closed: _closed, ...others } = fields
    if (Array.isArray(thinking) && thinking.every(isThinkingText) && leftover(others) === undefined) {
      into.push({ type: 'reasoning', text: thinkingText(thinking), at })
      return
    }
  }
  const part =
    type === 'text' || type === 'refusal' ? decodeText(type, fields, at, into) : decodeMedia(type, fields, at)
  // Providers differ in documents by URL: a chat upstream gets the part unchanged.
  const asWritten = part?.type === 'media' && (type === 'document_url' || isAddress(part)) && upstream === 'chat'
  if (part === undefined || asWritten) {
    into.push({ type: 'native', format: 'chat', value: source, at })
    return
  }
  if (cache !== undefined) part.cache = cache
  const rest = leftoverMessage(fields)
  if (rest !== undefined) part.extra = { chat: rest }
  into.push(part)
}

function decodeText(type: 'text' | 'refusal', fields: Unread, at: string, into: Part[]): Part | undefined {
  const text = takeString(fields, type)
  if (text === undefined) return undefined
  // The Agents SDK writes the whole response message into the part: role, refusal, annotations, reasoning.
  if (fields.role === 'assistant') drop(fields, 'role')
  const reasoning = takeString(fields, 'reasoning_content')
  if (reasoning) into.push({ type: 'reasoning', text: reasoning, at: pointer(at, 'reasoning_content') })
  return { type, text, at } satisfies TextPart | Part
}

/** Returns whether an entry of `thinking` is only a text. */
export const isThinkingText = (entry: Json): boolean =>
  isObject(entry) &&
  typeof entry.text === 'string' &&
  Object.keys(entry).every((key) => key === 'type' || key === 'text')

/** Decodes Mistral's `thinking` part, a list of texts. */
export const thinkingText = (thinking: readonly Json[]): string =>
  thinking.map((item) => (isObject(item) && typeof item.text === 'string' ? item.text : '')).join('')

/** Removes nulls and empty lists (`annotations: []`), which responses that clients send back contain. */
function leftoverMessage(fields: Unread): JsonObject | undefined {
  for (const key in fields) {
    const value = fields[key]
    if (value === null || (Array.isArray(value) && value.length === 0)) drop(fields, key)
  }
  return leftover(fields)
}
