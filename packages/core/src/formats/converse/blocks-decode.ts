import { isObject, type JsonObject, pointer, stringifyExact } from '../../base/json/json.ts'
import type { ModelRequest, NativePart, Part, ToolCallPart, ToolResultPart } from '../ir.ts'
import { drop, leftover, putBack, takeString, toText, type Unread, unread } from '../shared/json-fields.ts'
import { restoreToolName } from '../shared/names.ts'
import { readSeal, readSealBase64 } from '../shared/seals.ts'
import { customInput, isCustomTool } from '../shared/tools.ts'
import { decodeCitation, isText, textsIn } from './citations.ts'
import { toolNames } from './fields.ts'
import { type BlockOrigin, decodeMedia, decodeSearchResult, isMediaKind } from './media-decode.ts'

/**
 * Decodes one block. A block is a union: its one field names its kind. A block without a meaning in other formats becomes a native part.
 */
export function decodeBlock(block: JsonObject, at: string, origin: BlockOrigin): Part {
  const part = decodeKnown(block, at, origin) ?? nativeBlock(block)
  part.at ??= at
  return part
}

/**
 * Decodes a list of blocks in a request. A cache point belongs to the block in front of it.
 *
 * @param decode decodes a block that is no cache point
 */
export function withCachePoints<T extends Pick<Part, 'cache'>>(
  list: readonly JsonObject[],
  at: string,
  decode: (block: JsonObject, at: string) => T,
): T[] {
  const out: T[] = []
  for (const [index, block] of list.entries()) {
    const place = pointer(at, index)
    const hint = cacheHintIn(block)
    const last = out.at(-1)
    if (hint === undefined || last === undefined || last.cache !== undefined) out.push(decode(block, place))
    else last.cache = { ...hint, at: pointer(place, 'cachePoint') }
  }
  return out
}

/** Returns the hint of a cache point; undefined for any other block, and for a cache point of a kind or lifetime that is not known. */
function cacheHintIn(block: JsonObject): { ttl?: '5m' | '1h' } | undefined {
  const { cachePoint, ...others } = block
  if (!isObject(cachePoint) || Object.keys(others).length > 0) return undefined
  const { type, ttl, ...rest } = cachePoint
  if (type !== 'default' || Object.keys(rest).length > 0) return undefined
  if (ttl === '5m' || ttl === '1h') return { ttl }
  return ttl === undefined || ttl === null ? {} : undefined
}

/** Returns a native part for a block that only Converse has. A cache point that follows no block only saves costs. */
export const nativeBlock = (value: JsonObject): NativePart =>
  value.cachePoint === undefined
    ? { type: 'native', format: 'converse', value }
    : { type: 'native', format: 'converse', value, incidental: true }

/** Returns undefined for a shape without a meaning in other formats. */
function decodeKnown(block: JsonObject, at: string, origin: BlockOrigin): Part | undefined {
  const [kind, ...more] = Object.keys(block)
  const value = kind === undefined ? undefined : block[kind]
  if (kind === undefined || more.length > 0) return undefined
  if (kind === 'text') return typeof value === 'string' ? { type: 'text', text: value, at } : undefined
  if (!isObject(value)) return undefined
  const { request } = origin
  if (isMediaKind(kind)) return decodeMedia(kind, value, origin)
  switch (kind) {
    case 'toolUse':
      return decodeCall(value, request)
    case 'toolResult':
      return request === undefined ? decodeResult(value, at, origin) : undefined
    case 'reasoningContent':
      return decodeReasoning(value)
    case 'citationsContent':
      return decodeCitedText(value, pointer(at, kind))
    case 'guardContent':
      return request === undefined ? decodeGuarded(value, origin) : undefined
    case 'searchResult':
      return decodeSearchResult(value)
    default:
      return undefined
  }
}

/** Keeps the unread fields of a block under its kind, as in the block. */
function withExtra<T extends Part>(part: T, kind: string, fields: Unread): T {
  const rest = leftover(fields)
  if (rest !== undefined) part.extra = { converse: { [kind]: rest } }
  return part
}

/** Returns whether Bedrock itself makes the call. Calls for the client have the type `tool_use` or none. */
export const isServerCall = ({ type }: JsonObject): boolean => type === 'server_tool_use'

function decodeCall(value: JsonObject, request: ModelRequest | undefined): ToolCallPart | undefined {
  const fields = unread(value)
  const id = takeString(fields, 'toolUseId')
  const name = takeString(fields, 'name')
  if (id === undefined || name === undefined || isServerCall(value)) return undefined
  const { input = {} } = fields
  drop(fields, 'input')
  if (fields.type === 'tool_use') drop(fields, 'type')
  const part: ToolCallPart = { type: 'tool-call', id, name, input: toText(input) }
  const call = request === undefined ? part : restoreCall(part, request)
  return withExtra(call.custom === true ? { ...call, input: customInput(call.input) } : call, 'toolUse', fields)
}

/** Restores the client's name of the tool. `custom` is set where a function replaced a custom tool. */
export function restoreCall(call: ToolCallPart, request: ModelRequest): ToolCallPart {
  const name = restoreToolName(call.name, request, toolNames)
  const renamed = name === call.name ? call : { ...call, name }
  return isCustomTool(name, request) ? { ...renamed, custom: true } : renamed
}

/** Decodes the result of a client's tool. Results of Bedrock's own tools have a type. */
function decodeResult(value: JsonObject, at: string, origin: BlockOrigin): ToolResultPart | undefined {
  const fields = unread(value)
  const callId = takeString(fields, 'toolUseId')
  if (callId === undefined || !Array.isArray(fields.content) || fields.type !== undefined) return undefined
  const place = pointer(pointer(at, 'toolResult'), 'content')
  const part: ToolResultPart = {
    type: 'tool-result',
    callId,
    parts: fields.content
      .filter(isObject)
      .map((block, index) => decodeResultBlock(block, pointer(place, index), origin)),
  }
  drop(fields, 'content')
  if (fields.status === 'error') part.isError = true
  if (fields.status === 'error' || fields.status === 'success') drop(fields, 'status')
  return withExtra(part, 'toolResult', fields)
}

function decodeResultBlock(block: JsonObject, at: string, origin: BlockOrigin): Part {
  const { json, ...others } = block
  if (json === undefined || Object.keys(others).length > 0) return decodeBlock(block, at, origin)
  return { type: 'text', text: stringifyExact(json), at, extra: { converse: { jsonBlock: true } } }
}

function decodeReasoning(value: JsonObject): Part | undefined {
  const fields = unread(value)
  const redacted = takeString(fields, 'redactedContent')
  if (redacted !== undefined) {
    const seal = readSealBase64(redacted, 'converse')
    return withExtra({ type: 'reasoning', text: '', redacted: true, seal }, 'reasoningContent', fields)
  }
  if (!isObject(fields.reasoningText)) return undefined
  const inner = unread(fields.reasoningText)
  drop(fields, 'reasoningText')
  const text = takeString(inner, 'text') ?? ''
  const signature = takeString(inner, 'signature')
  const part: Part = { type: 'reasoning', text }
  if (signature !== undefined) part.seal = readSeal(signature, 'converse')
  const rest = leftover(inner)
  if (rest !== undefined) putBack(fields, 'reasoningText', rest)
  return withExtra(part, 'reasoningContent', fields)
}

/** Decodes text with its sources. */
function decodeCitedText(value: JsonObject, at: string): Part | undefined {
  const fields = unread(value)
  if (!Array.isArray(fields.content)) return undefined
  const text = textsIn(fields.content)
  const citations = Array.isArray(fields.citations) ? fields.citations.filter(isObject).map(decodeCitation) : []
  const nonText = fields.content.filter((item) => !isText(item))
  drop(fields, 'content')
  drop(fields, 'citations')
  if (nonText.length > 0) putBack(fields, 'content', nonText)
  return withExtra(
    { type: 'text', text, at, ...(citations.length > 0 ? { citations } : {}) },
    'citationsContent',
    fields,
  )
}

/** Decodes content that the request's guardrail checks. Its mark has no form in other formats, and is reported there. */
function decodeGuarded(value: JsonObject, origin: BlockOrigin): Part | undefined {
  const [kind, ...more] = Object.keys(value)
  const inner = kind === undefined ? undefined : value[kind]
  if (!isObject(inner) || more.length > 0) return undefined
  if (kind === 'image') {
    const part = decodeMedia('image', inner, origin)
    if (part === undefined) return undefined
    const { image = {} } = part.extra?.converse ?? {}
    part.extra = { converse: { guardContent: { image } } }
    return part
  }
  const fields = unread(inner)
  const text = kind === 'text' ? takeString(fields, 'text') : undefined
  if (text === undefined) return undefined
  return { type: 'text', text, extra: { converse: { guardContent: { text: leftover(fields) ?? {} } } } }
}
