import { stringifyExact } from '../../base/json/exact-number.ts'
import { isObject, put } from '../../base/json/object.ts'
import type { JsonObject } from '../../base/json/types.ts'
import type { CodecContext } from '../codec.ts'
import type { MediaPart, Part, ToolResultPart } from '../ir.ts'
import { append } from '../shared/append.ts'
import { objectIn } from '../shared/json-text.ts'
import { pointer } from '../shared/pointer.ts'
import { drop, leftover, takeArray, takeString, type Unread } from '../shared/reader.ts'
import { loss, ownExtra } from '../shared/report.ts'
import type { Nothing } from '../shared/strict.ts'
import { reportCache } from './cache.ts'
import { isMinted } from './call-ids.ts'
import { decodeMedia, encodeMedia } from './media.ts'
import { respell, spelt } from './spelling.ts'

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

export interface ResultScope {
  readonly context: CodecContext
  readonly towards: 'client' | 'upstream'
  /** Whether the model takes media within a response; else they follow it. */
  readonly mediaInside: boolean
  /** The name of the function that the call of this id called. */
  readonly nameOf: (callId: string) => string | undefined
}

/** A response, and the media that had to leave it. */
export function encodeResult(part: ToolResultPart, scope: ResultScope): { response: JsonObject; moved: JsonObject[] } {
  const { type: _, callId, name, parts, isError, cache: _cache, extra, at = '', ...rest } = part
  rest satisfies Nothing
  const { report } = scope.context
  const texts: string[] = []
  const inside: JsonObject[] = []
  const moved: JsonObject[] = []
  for (const inner of parts) {
    if (inner.type === 'text') texts.push(inner.text)
    else if (inner.type === 'media') {
      const encoded = encodeMedia(inner, scope.context, scope.towards)
      if (encoded === undefined) continue
      if (scope.mediaInside) inside.push(encoded)
      else {
        moved.push(encoded)
        report.add(
          loss(inner.at ?? at, `the model takes no media in a response: the ${inner.kind} follows it`, 'moved'),
        )
      }
    } else if (inner.type === 'native' && inner.format === 'gemini') inside.push(inner.value)
    else report.add(loss(inner.at ?? at, `a function response cannot hold ${nameOfPart(inner)}; it was left out`))
    reportInner(inner, at, scope.context)
  }
  if (texts.length > 1)
    report.add(loss(at, 'the texts of a tool result are sent as one, a line each', 'approximated', 'note'))
  const called = name ?? scope.nameOf(callId)
  if (called === undefined)
    report.add(
      loss(at, 'no call of this id is in the conversation: the response is named after the id', 'approximated'),
    )
  const response: JsonObject = { ...ownExtra(extra, 'gemini', at, report) }
  if (callId !== '' && !isMinted(callId)) response.id = callId
  response.name = called ?? (callId === '' ? 'unknown' : callId)
  response.response = wrap(texts.join('\n'), isError === true)
  if (inside.length > 0) response.parts = inside
  return { response, moved }
}

function wrap(text: string, isError: boolean): JsonObject {
  const object = objectIn(text)
  if (isError) return { error: object ?? text }
  return object ?? { output: text }
}

function reportInner(part: Part, at: string, context: CodecContext): void {
  if (part.cache !== undefined) reportCache(part.at ?? at, context)
  if (part.type === 'media') return
  ownExtra(part.extra, 'gemini', part.at ?? at, context.report)
  if (part.type === 'text' && part.citations !== undefined && part.citations.length > 0)
    context.report.add(loss(part.at ?? at, 'citations have no place in a function response', 'unsupported', 'note'))
}

/** For reports: what a part is, in words. */
export function nameOfPart(part: Part | MediaPart): string {
  if (part.type === 'media') return `a part of ${part.kind}`
  if (part.type !== 'native') return `a ${part.type}`
  const type = part.value.type
  return typeof type === 'string' ? `a ${type} block` : 'a block of another format'
}
