import { isObject, type Json, type JsonObject, pointer, put, stringifyExact } from '../../base/json/json.ts'
import type { CodecContext } from '../codec.ts'
import type { Citation, Nothing, Part, TextPart } from '../ir.ts'
import { drop, leftover, takeArray, takeNumber, takeString, type Unread, unread } from '../shared/json-fields.ts'
import { decodeBreakpoint, encodeBreakpoint } from '../shared/prompt-cache.ts'
import { cachePlace, loss, ownExtra, shapeOf } from '../shared/report.ts'
import { decodeMedia, encodeMedia, partName } from './media.ts'

/** Decodes the content of a message or of a tool result: a string, or a list of parts. */
export function decodeContent(content: Json | undefined, at: string): Part[] {
  if (typeof content === 'string') return content === '' ? [] : [{ type: 'text', text: content, at }]
  if (!Array.isArray(content)) return []
  return content.map((part, index) => decodePart(part, pointer(at, index)))
}

function decodePart(source: Json, at: string): Part {
  if (typeof source === 'string') return { type: 'text', text: source, at }
  if (!isObject(source)) return { type: 'native', format: 'responses', value: { value: source }, at }
  const fields = unread(source)
  const type = takeString(fields, 'type') ?? ''
  const part = decodeText(type, fields) ?? decodeMedia(type, fields)
  if (part === undefined) return { type: 'native', format: 'responses', value: source, at }
  part.at = at
  put(part, 'cache', decodeBreakpoint(fields))
  const rest = meaningfulFields(fields)
  if (rest !== undefined) part.extra = { responses: rest }
  return part
}

const textTypes: readonly string[] = ['input_text', 'output_text', 'text']

function decodeText(type: string, fields: Unread): Part | undefined {
  if (type === 'refusal') {
    const text = takeString(fields, 'refusal')
    return text === undefined ? undefined : { type, text }
  }
  if (!textTypes.includes(type)) return undefined
  const text = takeString(fields, 'text')
  if (text === undefined) return undefined
  const part: TextPart = { type: 'text', text }
  const citations = decodeAnnotations(takeArray(fields, 'annotations'))
  if (citations.length > 0) part.citations = citations
  return part
}

/** Returns the unread fields that have a value. Clients return responses with many nulls and empty lists. */
export function meaningfulFields(fields: Unread): JsonObject | undefined {
  for (const key in fields) {
    const value = fields[key]
    if (value === null || (Array.isArray(value) && value.length === 0)) drop(fields, key)
  }
  return leftover(fields)
}

/** The members of log probabilities that arrive. The encoder copies those of an output text unchanged. */
export const logprobsShape = shapeOf({ content: true, refusal: true })

/** Reports a cache hint, which the format cannot express. */
export function reportCache(part: Part, context: CodecContext): void {
  if (part.cache !== undefined)
    context.report.add(loss(cachePlace(part), 'responses has no cache hints', 'unsupported', 'note'))
}

/** Encodes a part of a system, developer or user message, or of a tool result. Returns undefined, and reports it, if the format has no form for it. */
export function encodeInputPart(
  part: Part,
  within: 'message' | 'result',
  context: CodecContext,
): JsonObject | undefined {
  const encoded = encodeUnmarkedPart(part, within, context)
  if (part.cache?.isBreakpoint !== true) reportCache(part, context)
  else if (encoded !== undefined) encodeBreakpoint(encoded, part, context.report)
  return encoded
}

function encodeUnmarkedPart(part: Part, within: 'message' | 'result', context: CodecContext): JsonObject | undefined {
  if (part.type === 'text') {
    const { type: _, text, citations, cache: _cache, extra, at = '', ...rest } = part
    rest satisfies Nothing
    if (citations !== undefined && citations.length > 0)
      context.report.add(loss(pointer(at, 'citations'), 'input text has no citations', 'unsupported', 'note'))
    return { ...ownExtra(extra, 'responses', at, context.report), type: 'input_text', text }
  }
  if (part.type === 'media') return encodeMedia(part, within, context)
  if (part.type === 'native' && part.format === 'responses') return part.value
  return omitPart(part, within === 'message' ? 'not allowed in a message' : 'not allowed in a tool result', context)
}

/** Reports a part that is omitted. */
export function omitPart(part: Part, why: string, context: CodecContext): undefined {
  const severity = part.type === 'native' && part.incidental ? 'note' : 'warn'
  context.report.add(loss(part.at ?? '', `${partName(part)} left out: ${why}`, 'unsupported', severity))
  return undefined
}

/** Returns a single plain text as a string, which every server accepts, and other content as a list. */
export function collapseContent(content: JsonObject[]): string | JsonObject[] {
  const [first, second] = content
  if (first === undefined) return ''
  const plain = first.type === 'input_text' && Object.keys(first).length === 2
  return second === undefined && plain && typeof first.text === 'string' ? first.text : content
}

/** Encodes a text or a refusal as content of an assistant message. */
export function encodeOutputPart(part: Part & { type: 'text' | 'refusal' }, context: CodecContext): JsonObject {
  const { at = '' } = part
  const { messageItem: _, ...own } = ownExtra(part.extra, 'responses', at, context.report) ?? {}
  if (part.type === 'refusal') {
    const { type, text, cache: _cache, extra: _extra, at: _at, ...rest } = part
    rest satisfies Nothing
    return { ...own, type, refusal: text }
  }
  const { type: _type, text, citations, cache: _cache, extra: _extra, at: _at, ...rest } = part
  rest satisfies Nothing
  const annotations = (citations ?? []).flatMap((citation) => encodeCitation(citation, text.length, at, context) ?? [])
  return { type: 'output_text', text, ...own, annotations }
}

/** Decodes the annotations of a text. Kinds other than `url_citation` keep their fields in `extra`. */
const decodeAnnotations = (annotations: readonly Json[] | undefined): Citation[] =>
  (annotations ?? []).filter(isObject).map(decodeAnnotation)

/** Decodes one annotation of a text. */
export function decodeAnnotation(annotation: JsonObject): Citation {
  const fields = unread(annotation)
  const citation: Citation = {}
  if (fields.type === 'url_citation') {
    drop(fields, 'type')
    put(citation, 'url', takeString(fields, 'url'))
    put(citation, 'title', takeString(fields, 'title'))
  } else put(citation, 'title', takeString(fields, 'filename'))
  put(citation, 'start', takeNumber(fields, 'start_index'))
  put(citation, 'end', takeNumber(fields, 'end_index'))
  const rest = leftover(fields)
  if (rest !== undefined) citation.extra = { responses: rest }
  return citation
}

/**
 * Encodes a citation as an annotation. Returns undefined, and reports it, if the citation has no URL.
 *
 * @param length of the text that the citation supports, in UTF-16 units
 */
export function encodeCitation(
  citation: Citation,
  length: number,
  at: string,
  context: CodecContext,
): JsonObject | undefined {
  const { url, title, text, start, end, extra, ...rest } = citation
  rest satisfies Nothing
  const own = ownExtra(extra, 'responses', at, context.report)
  if (own?.type !== undefined) {
    const out: JsonObject = { ...own }
    put(out, 'filename', title)
    put(out, 'start_index', start)
    put(out, 'end_index', end)
    return out
  }
  if (url === undefined) {
    context.report.add(loss(at, `a citation without a URL cannot be sent in responses: ${title ?? text ?? ''}`))
    return undefined
  }
  if (text !== undefined)
    context.report.add(loss(at, 'responses does not repeat the cited text', 'approximated', 'note'))
  return { ...own, type: 'url_citation', url, title: title ?? url, start_index: start ?? 0, end_index: end ?? length }
}

/** Returns whether a part is content of an assistant message. */
export const isMessagePart = (part: Part): part is Part & { type: 'text' | 'refusal' } =>
  part.type === 'text' || part.type === 'refusal'

/** Returns whether two adjacent parts belong to one message. */
export const isSameMessage = (a: Part, b: Part): boolean =>
  messageFieldsOf(a) === messageFieldsOf(b) || stringifyExact(messageFieldsOf(a)) === stringifyExact(messageFieldsOf(b))
/** Returns the fields of the part's message, in addition to its content. */
export const messageFieldsOf = (part: Part): JsonObject | undefined => {
  const message = part.extra?.responses?.messageItem
  return isObject(message) ? message : undefined
}
