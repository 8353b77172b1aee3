import { isObject, put } from '../../base/json/object.ts'
import type { JsonObject } from '../../base/json/types.ts'
import type { CodecContext } from '../codec.ts'
import type { MediaPart, Nothing, Source } from '../ir.ts'
import { drop, leftover, putBack, takeString, type Unread, unread } from '../shared/json-fields.ts'
import { reportAddressType } from '../shared/media-types.ts'
import { loss, ownExtra } from '../shared/report.ts'
import { cacheControl } from './cache.ts'

/**
 * Reads `image`, `document` and `search_result`. Undefined: not in a shape that has a meaning elsewhere; the caller keeps
 * the block whole. `block` has lost its `type`; what is left in it becomes `extra`.
 */
export function decodeMedia(type: string, block: Unread): MediaPart | undefined {
  if (type === 'search_result') return decodeSearchResult(block)
  if (type !== 'image' && type !== 'document') return undefined
  if (!isObject(block.source)) return undefined
  const inner = unread(block.source)
  const read = decodeSource(inner)
  if (read === undefined) return undefined
  const part: MediaPart = { type: 'media', kind: type, source: read.source }
  if (read.whole) {
    // Read by its text, kept in its own form: this format writes back what the client wrote.
    block.source = read.whole
  } else {
    const rest = leftover(inner)
    if (rest === undefined) drop(block, 'source')
    else block.source = rest
  }
  put(part, 'mediaType', read.mediaType)
  if (type === 'document') put(part, 'name', takeString(block, 'title'))
  return part
}

interface ReadSource {
  source: Source
  mediaType?: string | undefined
  whole?: JsonObject
}

function decodeSource(inner: Unread): ReadSource | undefined {
  const type = takeString(inner, 'type')
  if (type === 'content') {
    const text = textOf(inner.content)
    return text === undefined
      ? undefined
      : { source: { type: 'text', text }, mediaType: 'text/plain', whole: { type, ...leftover(inner) } }
  }
  const key = type === 'url' ? 'url' : type === 'file' ? 'file_id' : 'data'
  const value = takeString(inner, key)
  if (value === undefined) return undefined
  switch (type) {
    case 'base64':
      return { source: { type: 'base64', data: value }, mediaType: takeString(inner, 'media_type') }
    case 'text':
      return { source: { type: 'text', text: value }, mediaType: takeString(inner, 'media_type') }
    case 'url':
      return { source: { type: 'url', url: value } }
    case 'file':
      return { source: { type: 'file', seal: { issuer: 'messages', data: value } } }
    default:
      return undefined
  }
}

/** A search result that the client brought along: its text has a meaning everywhere. */
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

/** Where a part will stand: what cannot be sent of a question changes it; of an old answer, it is only forgotten. */
type Place = 'user' | 'assistant'

/** A media block; undefined (and reported) where this format has none for it. */
export function encodeMedia(part: MediaPart, place: Place, context: CodecContext): JsonObject | undefined {
  const { type: _, kind, source, mediaType, name, detail, cache, extra, at = '', ...rest } = part
  rest satisfies Nothing
  const { report } = context
  const refuse = (what: string): undefined => {
    report.add(
      loss(at, `${what} cannot be sent in a messages request`, 'unsupported', place === 'user' ? 'fatal' : 'warn'),
    )
  }
  if (kind === 'audio' || kind === 'video') return refuse(kind)
  if (place === 'assistant') return refuse(`${kind} of an earlier answer`)
  const own = ownExtra(extra, 'messages', at, report)
  reportAddressType(part, report)
  if (detail !== undefined) report.add(loss(at, 'messages has no `detail` for images', 'unsupported', 'note'))
  const out: JsonObject = { ...own }
  if (own?.type === 'search_result') put(out, 'title', name)
  else {
    const wire = encodeSource(kind, source, mediaType, at, context)
    if (typeof wire === 'string') return refuse(wire)
    out.type = kind
    const kept = own?.source
    out.source = isObject(kept) ? (kept.type === undefined ? { ...kept, ...wire } : kept) : wire
    if (kind === 'document') put(out, 'title', name)
    else if (name !== undefined) report.add(loss(at, 'an image has no name in messages', 'unsupported', 'note'))
  }
  if (cache !== undefined) out.cache_control = cacheControl(cache)
  return out
}

/** The source as the wire has it, or what cannot be sent. */
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
        : `${kind === 'image' ? 'an image' : 'a document'} by the address '${source.url.slice(0, 40)}'`
    case 'file':
      return source.seal.issuer === 'messages'
        ? { type: 'file', file_id: source.seal.data }
        : 'a file that another provider stores'
    case 'text':
      return { type: 'text', media_type: 'text/plain', data: source.text }
    case 'base64': {
      const type = imageNames.get(mediaType ?? '') ?? mediaType ?? sniff(source.data)
      if (mediaType === undefined)
        context.report.add(
          loss(at, `it came without its media type; ${type ?? 'none'} was found`, 'approximated', 'note'),
        )
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

/** All that Anthropic looks at, and what clients call one of them by mistake. */
const imageTypes: ReadonlySet<string> = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp'])
const imageNames: ReadonlyMap<string, string> = new Map([
  ['image/jpg', 'image/jpeg'],
  ['image/pjpeg', 'image/jpeg'],
])

/** First characters of base64 data, by what they decode to. */
const magic: readonly (readonly [start: string, mediaType: string])[] = [
  ['iVBORw', 'image/png'],
  ['/9j/', 'image/jpeg'],
  ['R0lGOD', 'image/gif'],
  ['UklGR', 'image/webp'],
  ['JVBERi', 'application/pdf'],
]
const sniff = (data: string): string | undefined => magic.find(([start]) => data.startsWith(start))?.[1]

function decodeText(data: string): string | undefined {
  try {
    const bytes = Uint8Array.from(atob(data), (char) => char.charCodeAt(0))
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return undefined
  }
}
