import { isObject, type JsonObject, put } from '../../base/json/json.ts'
import type { CodecContext, TargetTraits } from '../codec.ts'
import type { MediaPart, Nothing, Part, Source } from '../ir.ts'
import { drop, leftover, takeString, toText, type Unread, unread } from '../shared/json-fields.ts'
import { reportUrlMediaType } from '../shared/media-types.ts'
import { loss, ownExtra } from '../shared/report.ts'

const dataUrl = /^data:([^;,]*)((?:;[^;,]*)*),/i

/** Converts a URL to a source. Data URLs become inline data. */
export function sourceOfUrl(url: string): { source: Source; mediaType?: string } {
  if (!/^data:/i.test(url.slice(0, 5))) return { source: { type: 'url', url } }
  const match = dataUrl.exec(url.slice(0, 256))
  if (match === null || !match[2]?.toLowerCase().endsWith(';base64')) return { source: { type: 'url', url } }
  const data = url.slice(match[0].length)
  return match[1] ? { source: { type: 'base64', data }, mediaType: match[1] } : { source: { type: 'base64', data } }
}

/** `audio/mpeg` ↔ `mp3`: chat names audio by format, all other formats by media type. */
const audioTypes = new Map([
  ['mp3', 'audio/mpeg'],
  ['wav', 'audio/wav'],
])
const audioFormats = new Map([
  ['audio/mpeg', 'mp3'],
  ['audio/wave', 'wav'],
  ['audio/x-wav', 'wav'],
  ['audio/vnd.wave', 'wav'],
])
export const audioMediaType = (format: string): string => audioTypes.get(format) ?? `audio/${format}`
export const audioFormat = (mediaType: string): string =>
  audioFormats.get(mediaType) ?? (mediaType.startsWith('audio/') ? mediaType.slice(6) : mediaType)

/**
 * Decodes media parts (`image_url`, `input_audio`, `file`, `document_url`). Returns undefined for other or unreadable parts, which the caller
 * keeps verbatim. The caller has taken `type` from `part`; unread fields become `extra`.
 */
export function decodeMedia(type: string, part: Unread, at: string): MediaPart | undefined {
  const payload = part[type]
  if (type === 'image_url' && typeof payload === 'string') {
    drop(part, type) // Mistral's clients write the URL itself
    return { type: 'media', kind: 'image', ...sourceOfUrl(payload), at }
  }
  if (type === 'document_url') {
    const url = isObject(payload) ? payload.url : payload
    if (typeof url !== 'string') return undefined
    drop(part, type) // Mistral's form
    const media: MediaPart = { type: 'media', kind: 'document', ...sourceOfUrl(url), at }
    put(media, 'name', takeString(part, 'document_name'))
    return media
  }
  if (type === 'input_audio' && typeof payload === 'string') {
    drop(part, type) // Mistral's form: data or an address
    return { type: 'media', kind: 'audio', ...audioOf(payload), at }
  }
  if (!isObject(payload)) return undefined
  const inner = unread(payload)
  const media = decodePayload(type, inner)
  if (media === undefined) return undefined
  const rest = leftover(inner)
  if (rest === undefined) drop(part, type)
  else part[type] = rest
  media.at = at
  return media
}

function audioOf(payload: string): { source: Source; mediaType?: string } {
  return /^(data|https?):/i.test(payload.slice(0, 8))
    ? sourceOfUrl(payload)
    : { source: { type: 'base64', data: payload } }
}

/** A document by reference. */
export const isAddress = ({ kind, source }: MediaPart): boolean => kind === 'document' && source.type === 'url'

function decodePayload(type: string, inner: Unread): MediaPart | undefined {
  if (type === 'image_url') {
    const url = takeString(inner, 'url')
    if (url === undefined) return undefined
    const media: MediaPart = { type: 'media', kind: 'image', ...sourceOfUrl(url) }
    put(media, 'detail', takeString(inner, 'detail'))
    return media
  }
  if (type === 'input_audio') {
    const data = takeString(inner, 'data')
    if (data === undefined) return undefined
    const media: MediaPart = { type: 'media', kind: 'audio', source: { type: 'base64', data } }
    const format = takeString(inner, 'format')
    if (format !== undefined) media.mediaType = audioMediaType(format)
    return media
  }
  if (type === 'file') {
    const data = takeString(inner, 'file_data')
    const id = data === undefined ? takeString(inner, 'file_id') : undefined
    if (data === undefined && id === undefined) return undefined
    const media: MediaPart = {
      type: 'media',
      kind: 'document',
      ...(data === undefined
        ? { source: { type: 'file', seal: { issuer: 'chat', data: id ?? '' } } as const }
        : /^(data|https?):/i.test(data.slice(0, 8))
          ? sourceOfUrl(data)
          : { source: { type: 'base64', data } as const }),
    }
    put(media, 'name', takeString(inner, 'filename'))
    return media
  }
  return undefined
}

/** Encodes a media part of a user message, or text in its place. Returns undefined, and rejects the call, if chat has no form for it. */
export function encodeMedia(
  part: MediaPart,
  context: CodecContext & { readonly target: TargetTraits },
): JsonObject | undefined {
  const { type: _, kind, source, mediaType, name, detail, cache: _cache, extra, at = '', ...rest } = part
  rest satisfies Nothing
  const { report } = context
  const refuse = (what: string) => {
    // A question without its subject would be another question.
    report.add(loss(at, `${what} cannot be sent in a chat message`, 'unsupported', 'fatal'))
    return undefined
  }
  const own = ownExtra(extra, 'chat', at, report)
  const wrap = (wireType: string, payload: JsonObject): JsonObject => {
    const inner = own?.[wireType]
    return { ...own, type: wireType, [wireType]: isObject(inner) ? { ...inner, ...payload } : payload }
  }
  /** OpenAI accepts documents only as inline data. */
  const encodeAddress = (url: string): JsonObject | undefined => {
    const { documentUrls } = context.target.quirks
    if (documentUrls === 'file_data') {
      reportUrlMediaType(part, report)
      return wrap('file', { file_data: url, ...(name === undefined ? {} : { filename: name }) })
    }
    if (documentUrls !== 'document_url') return undefined
    reportUrlMediaType(part, report)
    return { ...own, type: 'document_url', document_url: url, ...(name === undefined ? {} : { document_name: name }) }
  }
  if (detail !== undefined && kind !== 'image') report.add(loss(at, 'detail applies to images only'))
  if (source.type === 'file') {
    if (source.seal.issuer !== 'chat') return refuse('A file that another provider stores')
    return wrap('file', { file_id: source.seal.data, ...(name === undefined ? {} : { filename: name }) })
  }
  if (source.type === 'text') {
    report.add(loss(at, 'a text document is sent as plain text', 'approximated', 'note'))
    return { ...own, type: 'text', text: name === undefined ? source.text : `${name}\n\n${source.text}` }
  }
  switch (kind) {
    case 'image': {
      reportUrlMediaType(part, report)
      if (name !== undefined) report.add(loss(at, 'images have no name in chat completions', 'unsupported', 'note'))
      const url = source.type === 'url' ? source.url : `data:${mediaType ?? 'image/png'};base64,${source.data}`
      if (source.type === 'base64' && mediaType === undefined)
        report.add(loss(at, 'the image has no media type; image/png was assumed', 'approximated'))
      return wrap('image_url', detail === undefined ? { url } : { url, detail })
    }
    case 'audio':
      if (source.type === 'url')
        return context.target.quirks.bareAudio
          ? { ...own, type: 'input_audio', input_audio: source.url }
          : refuse('Audio by URL')
      return wrap('input_audio', {
        data: source.data,
        ...(mediaType === undefined ? {} : { format: audioFormat(mediaType) }),
      })
    case 'document': {
      if (source.type === 'url') return encodeAddress(source.url) ?? refuse('A document URL')
      if (context.target.quirks.documentUrls === 'document_url')
        return encodeAddress(`data:${mediaType ?? 'application/pdf'};base64,${source.data}`)
      if (name === undefined)
        report.add(
          loss(at, `a file requires a name; Modelgate set it to '${nameOf(mediaType)}'`, 'approximated', 'note'),
        )
      return wrap('file', { file_data: base64Data(source.data, mediaType), filename: name ?? nameOf(mediaType) })
    }
    case 'video':
      return refuse('Video')
    default:
      kind satisfies never
      return undefined
  }
}

/** File name for documents without one. OpenAI rejects unnamed data with an error about a missing `file_id`. */
const nameOf = (mediaType: string | undefined): string =>
  mediaType === 'application/pdf' ? 'document.pdf' : mediaType?.startsWith('text/') ? 'document.txt' : 'document'

const base64Data = (data: string, mediaType: string | undefined): string =>
  mediaType === undefined ? data : `data:${mediaType};base64,${data}`

/** Describes a part for loss reports. */
export const partName = (part: Part): string =>
  part.type === 'media' ? `${part.kind} part` : part.type === 'native' ? `${toText(part.value.type)} block` : part.type
