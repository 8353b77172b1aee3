import { stringifyExact } from '../../base/json/exact-number.ts'
import { isObject, put } from '../../base/json/object.ts'
import type { Json, JsonObject } from '../../base/json/types.ts'
import type { ModelRequest, Part, ReasoningPart, TextPart, ToolCallPart } from '../ir.ts'
import { pointer } from '../shared/pointer.ts'
import { drop, leftover, putBack, takeObject, takeString, type Unread } from '../shared/reader.ts'
import { customInput, isCustomTool } from '../shared/tool-input.ts'
import { raiseToolName } from '../shared/tool-names.ts'
import { toolNames } from './fields.ts'
import { decodeMedia } from './media.ts'
import { readSignature, signatureOf, unsealThought } from './signature.ts'
import { respell, spelt } from './spelling.ts'
import { decodeResult } from './tool-result.ts'

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
  const name = scope.request === undefined ? written : raiseToolName(written, scope.request, toolNames)
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
