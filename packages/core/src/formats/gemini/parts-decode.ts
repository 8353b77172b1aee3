import { stringifyExact } from '../../base/json/exact-number.ts'
import { isObject, put } from '../../base/json/object.ts'
import type { Json, JsonObject } from '../../base/json/types.ts'
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
import { objectIn } from '../shared/json-text.ts'
import { restoreToolName } from '../shared/names.ts'
import { pointer } from '../shared/pointers.ts'
import { customInput, isCustomTool } from '../shared/tools.ts'
import { toolNames } from './fields.ts'
import { decodeMedia } from './media.ts'
import { readSignature, signatureOf, unsealThought } from './seals.ts'
import { respell, spelt } from './spelling.ts'
/** Who names calls and their responses, and in an answer, what the asker's tools are. */
export interface PartScope {
  callId(id: string | undefined, name: string, part: number): string
  responseId(id: string | undefined, name: string, part: number): string
  readonly request?: ModelRequest
}

/** All parts of a content. A part may become two: what it says, and the signature that Google wants back on it. */
export function decodeParts(parts: Json | undefined, at: string, scope: PartScope): Part[] {
  if (typeof parts === 'string') return [{ type: 'text', text: parts, at }]
  const list = Array.isArray(parts) ? parts : isObject(parts) ? [parts] : []
  return list.flatMap((part, index) => {
    const place = Array.isArray(parts) ? pointer(at, index) : at
    if (typeof part === 'string') return [{ type: 'text', text: part, at: place }]
    return isObject(part) ? decodePart(part, place, index, scope) : []
  })
}

export function decodePart(source: JsonObject, at: string, index: number, scope: PartScope): Part[] {
  const fields = respell(source)
  if (fields.thought === true && fields.functionCall === undefined && !hasPayload(fields))
    return [decodeThought(fields, at)]
  if (typeof fields.text === 'string') return decodeText(fields, at)
  if (isObject(fields.functionCall)) return [decodeCall(fields, at, index, scope)]
  if (isObject(fields.functionResponse)) {
    const response = takeObject(fields, 'functionResponse') ?? {}
    const part = decodeResult(response, pointer(at, spelt(source, 'functionResponse')), (id, name) =>
      scope.responseId(id, name, index),
    )
    return [withRest(part, fields)]
  }
  const media = decodeMedia(fields, at)
  if (media === undefined) return [{ type: 'native', format: 'gemini', value: respell(source), at }]
  const signature = takeString(fields, 'thoughtSignature')
  const part = withRest(media, fields)
  return signature === undefined ? [part] : [part, signatureOf('media', signature, at)]
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
  if (signature !== undefined && signature !== '') unsealThought(part, signature)
  return withRest(part, fields)
}

function decodeText(fields: Unread, at: string): Part[] {
  const text = takeString(fields, 'text') ?? ''
  const signature = takeString(fields, 'thoughtSignature')
  if (fields.thought === false) drop(fields, 'thought')
  const part: TextPart = withRest({ type: 'text', text, at }, fields)
  if (signature === undefined || signature === '') return [part]
  if (text === '' && part.extra === undefined) return [signatureOf('empty', signature, at)]
  return [part, signatureOf('text', signature, at)]
}

function decodeCall(fields: Unread, at: string, index: number, scope: PartScope): ToolCallPart {
  const payload = takeObject(fields, 'functionCall') ?? {}
  const inner = respell(payload)
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
  return withRest(part, fields)
}

function withRest<P extends Part>(part: P, fields: Unread): P {
  const rest = leftover(fields)
  if (rest !== undefined) part.extra = { ...part.extra, gemini: { ...part.extra?.gemini, ...rest } }
  return part
}

/**
 * A function's response is an object here and text elsewhere. An object's text is its JSON; `output` and `error` are the
 * keys that the format documents for plain text, and are put on and taken off again.
 */
export function decodeResult(
  source: JsonObject,
  at: string,
  idOf: (id: string | undefined, name: string) => string,
): ToolResultPart {
  const fields = respell(source)
  const name = takeString(fields, 'name')
  const id = takeString(fields, 'id')
  const part: ToolResultPart = { type: 'tool-result', callId: idOf(id, name ?? ''), parts: [], at }
  put(part, 'name', name)
  if (isObject(fields.response)) {
    const { text, isError } = textOf(fields.response)
    drop(fields, 'response')
    if (isError) part.isError = true
    if (text !== '') part.parts.push({ type: 'text', text, at: pointer(at, 'response') })
  }
  append(part.parts, decodeInner(fields, pointer(at, spelt(source, 'parts'))))
  const rest = leftover(fields)
  if (rest !== undefined) part.extra = { gemini: rest }
  return part
}

function textOf(response: JsonObject): { text: string; isError: boolean } {
  const [key, second] = Object.keys(response)
  if (second === undefined && (key === 'output' || key === 'error')) {
    const value = response[key]
    // Only what will be wrapped again in the same way may be unwrapped.
    if (typeof value === 'string' && objectIn(value) === undefined) return { text: value, isError: key === 'error' }
    if (key === 'error' && isObject(value)) return { text: stringifyExact(value), isError: true }
  }
  return { text: stringifyExact(response), isError: false }
}

/** Pictures and files that belong to the response. */
function decodeInner(fields: Unread, at: string): Part[] {
  return (takeArray(fields, 'parts') ?? []).flatMap((item, index): Part[] => {
    if (!isObject(item)) return []
    const inner = respell(item)
    const place = pointer(at, index)
    const media = decodeMedia(inner, place)
    if (media === undefined) return [{ type: 'native', format: 'gemini', value: respell(item), at: place }]
    const rest = leftover(inner)
    if (rest !== undefined) media.extra = { gemini: rest }
    return [media]
  })
}
