import { isObject, type JsonObject, put } from '../../base/json/json.ts'
import type { CodecContext } from '../codec.ts'
import type { MediaPart, Nothing, Source } from '../ir.ts'
import { drop, leftover, putBack, takeString, type Unread, unread } from '../shared/json-fields.ts'
import { reportUrlMediaType } from '../shared/media-types.ts'
import { loss, ownExtra } from '../shared/report.ts'
import { cacheControl } from './cache.ts'

/**
 * Decodes `image`, `document` and `search_result`. Returns undefined for a shape without a meaning in other formats; the caller then
 * keeps the whole block. `block` comes without its `type`. The fields left in it become `extra`.
 */
export function decodeMedia(type: string, block: Unread): MediaPart | undefined {
  if (type === 'search_result') return decodeSearchResult(block)
  if (type !== 'image' && type !== 'document') return undefined
  if (!isObject(block.source)) return undefined
  const sourceFields = unread(block.source)
  const decoded = decodeSource(sourceFields)
  if (decoded === undefined) return undefined
  const part: MediaPart = { type: 'media', kind: type, source: decoded.source }
  if (decoded.originalSource) {
    // The part carries the text; the source keeps its original form, which is sent back in this format.
    block.source = decoded.originalSource
  } else {
    const rest = leftover(sourceFields)
    if (rest === undefined) drop(block, 'source')
    else block.source = rest
  }
  put(part, 'mediaType', decoded.mediaType)
  if (type === 'document') put(part, 'name', takeString(block, 'title'))
  return part
}

interface DecodedSource {
  source: Source
  mediaType?: string | undefined
  originalSource?: JsonObject
}

function decodeSource(sourceFields: Unread): DecodedSource | undefined {
  const type = takeString(sourceFields, 'type')
  if (type === 'content') {
    const text = textOf(sourceFields.content)
    return text === undefined
      ? undefined
      : { source: { type: 'text', text }, mediaType: 'text/plain', originalSource: { type, ...leftover(sourceFields) } }
  }
  const key = type === 'url' ? 'url' : type === 'file' ? 'file_id' : 'data'
  const value = takeString(sourceFields, key)
  if (value === undefined) return undefined
  switch (type) {
    case 'base64':
      return { source: { type: 'base64', data: value }, mediaType: takeString(sourceFields, 'media_type') }
    case 'text':
      return { source: { type: 'text', text: value }, mediaType: takeString(sourceFields, 'media_type') }
    case 'url':
      return { source: { type: 'url', url: value } }
    case 'file':
      return { source: { type: 'file', seal: { issuer: 'messages', data: value } } }
    default:
      return undefined
  }
}

/** Decodes a search result that the client sent. Its text has a meaning in every format. */
function decodeSearchResult(block: Unread): MediaPart | undefined {
  const text = textOf(block.content)
  if (text === undefined) return undefined
  const part: MediaPart = { type: 'media', kind: 'document', source: { type: 'text', text } }
  put(part, 'name', takeString(block, 'title'))
  putBack(block, 'type', 'search_result')
  return part
}

function textOf(content: JsonObject[string] | undefined): string | undefined {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return undefined
  return content
    .map((item) => (isObject(item) && typeof item.text === 'string' ? item.text : ''))
    .filter((text) => text !== '')
    .join('\n\n')
}

/** The role of the message. Media lost from a request changes the question; media lost from an earlier response is only forgotten. */
type MessageRole = 'user' | 'assistant'

/** Encodes a media part, or reports it and returns undefined if this format cannot carry it. */
export function encodeMedia(part: MediaPart, role: MessageRole, context: CodecContext): JsonObject | undefined {
  const { type: _, kind, source, mediaType, name, detail, cache, extra, at = '', ...rest } = part
  rest satisfies Nothing
  const { report } = context
  const reportUnsupported = (what: string): undefined => {
    report.add(
      loss(at, `${what} cannot be sent in a messages request`, 'unsupported', role === 'user' ? 'fatal' : 'warn'),
    )
  }
  if (kind === 'audio' || kind === 'video') return reportUnsupported(kind)
  if (role === 'assistant') return reportUnsupported(`${kind} of an earlier response`)
  const extraFields = ownExtra(extra, 'messages', at, report)
  reportUrlMediaType(part, report)
  if (detail !== undefined) report.add(loss(at, 'messages has no `detail` for images', 'unsupported', 'note'))
  const out: JsonObject = { ...extraFields }
  if (extraFields?.type === 'search_result') put(out, 'title', name)
  else {
    const encodedSource = encodeSource(kind, source, mediaType, at, context)
    if (typeof encodedSource === 'string') return reportUnsupported(encodedSource)
    out.type = kind
    const originalSource = extraFields?.source
    out.source = isObject(originalSource)
      ? originalSource.type === undefined
        ? { ...originalSource, ...encodedSource }
        : originalSource
      : encodedSource
    if (kind === 'document') put(out, 'title', name)
    else if (name !== undefined) report.add(loss(at, 'an image has no name in messages', 'unsupported', 'note'))
  }
  if (cache !== undefined) out.cache_control = cacheControl(cache)
  return out
}

/** Returns the encoded source, or a description of what cannot be sent. */
function encodeSource(
  kind: 'image' | 'document',
  source: Source,
  mediaType: string | undefined,
  at: string,
  context: CodecContext,
): JsonObject | string {
  switch (source.type) {
    case 'url':
      return /^https?:/i.test(source.url)
        ? { type: 'url', url: source.url }
        : `${kind === 'image' ? 'an image' : 'a document'} by the URL '${source.url.slice(0, 40)}'`
    case 'file':
      return source.seal.issuer === 'messages'
        ? { type: 'file', file_id: source.seal.data }
        : 'a file that another provider stores'
    case 'text':
      return { type: 'text', media_type: 'text/plain', data: source.text }
    case 'base64': {
      const type = imageTypeAliases.get(mediaType ?? '') ?? mediaType ?? detectMediaType(source.data)
      if (mediaType === undefined)
        context.report.add(loss(at, `the media type is missing; detected: ${type ?? 'none'}`, 'approximated', 'note'))
      if (kind === 'document' && type !== undefined && type.startsWith('text/')) {
        const text = decodeText(source.data)
        return text === undefined
          ? 'a text document that is not UTF-8'
          : { type: 'text', media_type: 'text/plain', data: text }
      }
      if (kind === 'document' && type !== 'application/pdf') return `a document of the type ${type ?? 'unknown'}`
      if (type === undefined || (kind === 'image' && !imageTypes.has(type)))
        return `an image of the type ${type ?? 'unknown'}`
      return { type: 'base64', media_type: type, data: source.data }
    }
    default:
      return source satisfies never
  }
}

/** Image types that Anthropic accepts, and the aliases that clients send for them. */
const imageTypes: ReadonlySet<string> = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp'])
const imageTypeAliases: ReadonlyMap<string, string> = new Map([
  ['image/jpg', 'image/jpeg'],
  ['image/pjpeg', 'image/jpeg'],
])

/** Prefixes of base64 data and the media types they reveal. */
const base64Prefixes: readonly (readonly [start: string, mediaType: string])[] = [
  ['iVBORw', 'image/png'],
  ['/9j/', 'image/jpeg'],
  ['R0lGOD', 'image/gif'],
  ['UklGR', 'image/webp'],
  ['JVBERi', 'application/pdf'],
]
const detectMediaType = (data: string): string | undefined =>
  base64Prefixes.find(([start]) => data.startsWith(start))?.[1]

function decodeText(data: string): string | undefined {
  try {
    const bytes = Uint8Array.from(atob(data), (char) => char.charCodeAt(0))
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return undefined
  }
}
