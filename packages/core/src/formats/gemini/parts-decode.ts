import { isObject, type Json, type JsonObject, pointer, put, stringifyExact } from '../../base/json/json.ts'
import { objectIn } from '../../base/json/parse.ts'
import type { ModelRequest, Part, ReasoningPart, TextPart, ToolCallPart, ToolResultPart } from '../ir.ts'
import {
  append,
  drop,
  leftover,
  putBack,
  takeArray,
  takeObject,
  takeString,
  type Unread,
} from '../shared/json-fields.ts'
import { restoreToolName } from '../shared/names.ts'
import { customInput, isCustomTool } from '../shared/tools.ts'
import { toolNames } from './fields.ts'
import { decodeMedia } from './media.ts'
import { applyThoughtSignature, createSignaturePart, readSignature } from './seals.ts'
import { copyInCamelCase, spellingOf } from './spelling.ts'

/** Assigns ids to calls and responses, and holds the client's request when a response is decoded. */
export interface PartScope {
  callId(id: string | undefined, name: string, part: number): string
  responseId(id: string | undefined, name: string, part: number): string
  readonly request?: ModelRequest
}

/** Decodes all parts of a content. A part may become two: its content, and the signature that Google requires back on it. */
export function decodeParts(parts: Json | undefined, at: string, scope: PartScope): Part[] {
  if (typeof parts === 'string') return [{ type: 'text', text: parts, at }]
  const list = Array.isArray(parts) ? parts : isObject(parts) ? [parts] : []
  return list.flatMap((part, index) => {
    const place = Array.isArray(parts) ? pointer(at, index) : at
    if (typeof part === 'string') return [{ type: 'text', text: part, at: place }]
    return isObject(part) ? decodePart(part, place, index, scope) : []
  })
}

/** Decodes one part, at an index of its content. */
export function decodePart(source: JsonObject, at: string, index: number, scope: PartScope): Part[] {
  const fields = copyInCamelCase(source)
  if (fields.thought === true && fields.functionCall === undefined && !hasPayload(fields))
    return [decodeThought(fields, at)]
  if (typeof fields.text === 'string') return decodeText(fields, at)
  if (isObject(fields.functionCall)) return [decodeCall(fields, at, index, scope)]
  if (isObject(fields.functionResponse)) {
    const response = takeObject(fields, 'functionResponse') ?? {}
    const part = decodeResult(response, pointer(at, spellingOf(source, 'functionResponse')), (id, name) =>
      scope.responseId(id, name, index),
    )
    return [withLeftover(part, fields)]
  }
  const media = decodeMedia(fields, at)
  if (media === undefined) return [{ type: 'native', format: 'gemini', value: copyInCamelCase(source), at }]
  const signature = takeString(fields, 'thoughtSignature')
  const part = withLeftover(media, fields)
  return signature === undefined ? [part] : [part, createSignaturePart('media', signature, at)]
}

const payloads = [
  'inlineData',
  'fileData',
  'functionResponse',
  'executableCode',
  'codeExecutionResult',
  'toolCall',
  'toolResponse',
] as const
const hasPayload = (fields: Unread): boolean => payloads.some((key) => fields[key] !== undefined)

function decodeThought(fields: Unread, at: string): ReasoningPart {
  drop(fields, 'thought')
  const part: ReasoningPart = { type: 'reasoning', text: takeString(fields, 'text') ?? '', at }
  const signature = takeString(fields, 'thoughtSignature')
  if (signature !== undefined && signature !== '') applyThoughtSignature(part, signature)
  return withLeftover(part, fields)
}

function decodeText(fields: Unread, at: string): Part[] {
  const text = takeString(fields, 'text') ?? ''
  const signature = takeString(fields, 'thoughtSignature')
  if (fields.thought === false) drop(fields, 'thought')
  const part: TextPart = withLeftover({ type: 'text', text, at }, fields)
  if (signature === undefined || signature === '') return [part]
  if (text === '' && part.extra === undefined) return [createSignaturePart('empty', signature, at)]
  return [part, createSignaturePart('text', signature, at)]
}

function decodeCall(fields: Unread, at: string, index: number, scope: PartScope): ToolCallPart {
  const payload = takeObject(fields, 'functionCall') ?? {}
  const inner = copyInCamelCase(payload)
  const written = takeString(inner, 'name') ?? ''
  const name = scope.request === undefined ? written : restoreToolName(written, scope.request, toolNames)
  const id = scope.callId(takeString(inner, 'id') || undefined, name, index)
  const args = takeObject(inner, 'args')
  const part: ToolCallPart = { type: 'tool-call', id, name, input: '', at }
  if (args !== undefined && isCustomTool(name, scope.request)) {
    part.custom = true
    part.input = customInput(stringifyExact(args))
  } else if (args !== undefined) part.input = stringifyExact(args)
  const signature = takeString(fields, 'thoughtSignature')
  if (signature !== undefined && signature !== '') put(part, 'seal', readSignature(signature))
  const rest = leftover(inner)
  if (rest !== undefined) putBack(fields, 'functionCall', rest)
  return withLeftover(part, fields)
}

function withLeftover<P extends Part>(part: P, fields: Unread): P {
  const rest = leftover(fields)
  if (rest !== undefined) part.extra = { ...part.extra, gemini: { ...part.extra?.gemini, ...rest } }
  return part
}

/**
 * Decodes a function response, which is an object here and text in the IR. The text is the object's JSON. Plain text stands
 * under `output` or `error`, the keys that the format documents; the encoder adds the key again.
 */
function decodeResult(
  source: JsonObject,
  at: string,
  idOf: (id: string | undefined, name: string) => string,
): ToolResultPart {
  const fields = copyInCamelCase(source)
  const name = takeString(fields, 'name')
  const id = takeString(fields, 'id')
  const part: ToolResultPart = { type: 'tool-result', callId: idOf(id, name ?? ''), parts: [], at }
  put(part, 'name', name)
  if (isObject(fields.response)) {
    const { text, isError } = textOfResponse(fields.response)
    drop(fields, 'response')
    if (isError) part.isError = true
    if (text !== '') part.parts.push({ type: 'text', text, at: pointer(at, 'response') })
  }
  append(part.parts, decodeInnerParts(fields, pointer(at, spellingOf(source, 'parts'))))
  const rest = leftover(fields)
  if (rest !== undefined) part.extra = { gemini: rest }
  return part
}

function textOfResponse(response: JsonObject): { text: string; isError: boolean } {
  const [key, second] = Object.keys(response)
  if (second === undefined && (key === 'output' || key === 'error')) {
    const value = response[key]
    // Only text that the encoder wraps in the same way is unwrapped.
    if (typeof value === 'string' && objectIn(value) === undefined) return { text: value, isError: key === 'error' }
    if (key === 'error' && isObject(value)) return { text: stringifyExact(value), isError: true }
  }
  return { text: stringifyExact(response), isError: false }
}

/** Decodes images and files of a function response. */
function decodeInnerParts(fields: Unread, at: string): Part[] {
  return (takeArray(fields, 'parts') ?? []).flatMap((item, index): Part[] => {
    if (!isObject(item)) return []
    const inner = copyInCamelCase(item)
    const place = pointer(at, index)
    const media = decodeMedia(inner, place)
    if (media === undefined) return [{ type: 'native', format: 'gemini', value: copyInCamelCase(item), at: place }]
    const rest = leftover(inner)
    if (rest !== undefined) media.extra = { gemini: rest }
    return [media]
  })
}
