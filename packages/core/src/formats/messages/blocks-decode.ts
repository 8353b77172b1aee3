import { isObject, type Json, type JsonObject, pointer, put, stringifyExact } from '../../base/json/json.ts'
import type { NativePart, Part, ReasoningPart, Sealed, TextPart, ToolCallPart, ToolResultPart } from '../ir.ts'
import { takeCallSeal } from '../shared/call-seals.ts'
import { drop, dropNulls, leftover, takeBoolean, takeString, type Unread, unread } from '../shared/json-fields.ts'
import { readSeal } from '../shared/seals.ts'
import { describeFoundTools } from '../shared/tools.ts'
import { decodeCache } from './cache.ts'
import { decodeCitations } from './citations.ts'
import { decodeMedia } from './media.ts'

/** Decodes content of any kind. A string becomes one text part; an empty string becomes none. */
export function decodeContent(content: Json | undefined, at: string): Part[] {
  if (typeof content === 'string') return content === '' ? [] : [{ type: 'text', text: content, at }]
  if (!Array.isArray(content)) return []
  return content.filter(isObject).map((block, index) => decodeBlock(block, pointer(at, index)))
}

/** Decodes one block of a request or a response. A block without a meaning in other formats becomes a native part. */
export function decodeBlock(source: JsonObject, at: string): Part {
  const block = unread(source)
  const type = takeString(block, 'type') ?? ''
  const cache = block.cache_control === undefined ? undefined : decodeCache(block)
  const part = decodeKnown(type, block, at)
  if (part === undefined) return nativeBlock(source, at)
  part.at = at
  if (cache !== undefined) part.cache = cache
  const rest = meaningfulFields(block)
  if (rest !== undefined) part.extra = { messages: rest }
  return part
}

/** Returns a native part for a block that only messages has. */
export const nativeBlock = (value: JsonObject, at?: string): NativePart => ({
  type: 'native',
  format: 'messages',
  value,
  ...(at === undefined ? {} : { at }),
})

function decodeKnown(type: string, block: Unread, at: string): Exclude<Part, NativePart> | undefined {
  switch (type) {
    case 'text':
      return decodeText(block)
    case 'thinking':
    case 'redacted_thinking':
      return decodeThinking(type, block)
    case 'tool_use':
      return decodeToolUse(block)
    case 'tool_result':
      return decodeToolResult(block, at)
    default:
      return decodeMedia(type, block)
  }
}

function decodeText(block: Unread): TextPart | undefined {
  const text = takeString(block, 'text')
  if (text === undefined) return undefined
  const part: TextPart = { type: 'text', text }
  const citations = block.citations === undefined ? undefined : decodeCitations(block.citations)
  if (citations !== undefined) {
    part.citations = citations
    drop(block, 'citations')
  }
  return part
}

function decodeThinking(type: 'thinking' | 'redacted_thinking', block: Unread): ReasoningPart {
  const part: ReasoningPart = { type: 'reasoning', text: takeString(block, 'thinking') ?? '' }
  const sealed = takeString(block, type === 'thinking' ? 'signature' : 'data')
  if (type === 'redacted_thinking') part.redacted = true
  if (sealed !== undefined) put(part, 'seal', decodeSeal(sealed))
  return part
}

function decodeToolUse(block: Unread): ToolCallPart | undefined {
  const id = takeString(block, 'id')
  const name = takeString(block, 'name')
  if (id === undefined || name === undefined) return undefined
  const { input } = block
  drop(block, 'input')
  const part: ToolCallPart = { type: 'tool-call', id, name, input: writeInput(input) }
  put(part, 'seal', takeCallSeal(block, 'messages'))
  return part
}

/** Returns a call's input as JSON text. A few servers send the text instead of the object. */
export const writeInput = (input: Json | undefined): string =>
  typeof input === 'string' ? input : stringifyExact(input ?? {})

function decodeToolResult(block: Unread, at: string): ToolResultPart | undefined {
  const callId = takeString(block, 'tool_use_id')
  if (callId === undefined) return undefined
  const part: ToolResultPart = {
    type: 'tool-result',
    callId,
    parts: mergeReferences(decodeContent(block.content, pointer(at, 'content'))),
  }
  drop(block, 'content')
  put(part, 'isError', takeBoolean(block, 'is_error'))
  return part
}

const isReference = (part: Part): part is NativePart =>
  part.type === 'native' && part.value.type === 'tool_reference' && typeof part.value.tool_name === 'string'

/**
 * Replaces neighbouring `tool_reference` blocks (the tools that a client-side search found) by one text part that names the tools. The
 * blocks stay in its `extra`, so that this format can send them back.
 */
function mergeReferences(parts: Part[]): Part[] {
  const joined: Part[] = []
  let blocks: JsonObject[] = []
  for (const [index, part] of parts.entries()) {
    if (!isReference(part)) {
      joined.push(part)
      continue
    }
    blocks.push(part.value)
    const { type: _type, tool_name: _name, ...otherFields } = part.value
    const cache = decodeCache(otherFields)
    const rest = meaningfulFields(otherFields)
    const next = parts[index + 1]
    // A block with a cache hint or unknown fields ends the group, so that these stay with its own text.
    if (next !== undefined && isReference(next) && cache === undefined && rest === undefined) continue
    const text = describeFoundTools(blocks.map(({ tool_name }) => String(tool_name)))
    const found: TextPart = { type: 'text', text, extra: { messages: { ...rest, references: blocks } } }
    put(found, 'at', (rest === undefined ? parts[index + 1 - blocks.length] : part)?.at)
    put(found, 'cache', cache)
    joined.push(found)
    blocks = []
  }
  return joined
}

/** Returns the fields that are left and carry information. The SDKs write nulls and empty lists of citations for "none". */
export function meaningfulFields(fields: Unread): JsonObject | undefined {
  dropNulls(fields)
  if (Array.isArray(fields.citations) && fields.citations.length === 0) drop(fields, 'citations')
  return leftover(fields)
}

/** Decodes a `signature` or `data`. Returns undefined for reasoning of another format that was never sealed. */
export function decodeSeal(text: string): Sealed | undefined {
  const seal = readSeal(text, 'messages')
  return seal.issuer !== 'messages' && seal.data === '' ? undefined : seal
}
