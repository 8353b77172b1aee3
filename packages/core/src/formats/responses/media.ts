import { isObject, type JsonObject, put } from '../../base/json/json.ts'
import { audioFormat, audioMediaType, partName, sourceOfUrl } from '../chat/media.ts'
import type { CodecContext } from '../codec.ts'
import type { MediaPart, Nothing, Source } from '../ir.ts'
import { drop, leftover, takeString, type Unread, unread } from '../shared/json-fields.ts'
import { reportUrlMediaType } from '../shared/media-types.ts'
import { loss, ownExtra } from '../shared/report.ts'

export { partName }

/** Decodes `input_image`, `input_file` and `input_audio`. Returns undefined for other types and for unknown shapes. */
export function decodeMedia(type: string, part: Unread): MediaPart | undefined {
  const media = decodeKind(type, part)
  if (media === undefined) return undefined
  put(media, 'name', takeString(part, 'filename'))
  put(media, 'detail', takeString(part, 'detail'))
  return media
}

const stored = (id: string): Source => ({ type: 'file', seal: { issuer: 'responses', data: id } })

function decodeKind(type: string, part: Unread): MediaPart | undefined {
  switch (type) {
    case 'input_image': {
      const url = takeString(part, 'image_url')
      if (url !== undefined) return { type: 'media', kind: 'image', ...sourceOfUrl(url) }
      const id = takeString(part, 'file_id')
      return id === undefined ? undefined : { type: 'media', kind: 'image', source: stored(id) }
    }
    case 'input_file': {
      const data = takeString(part, 'file_data')
      if (data !== undefined)
        return {
          type: 'media',
          kind: 'document',
          ...(/^data:/i.test(data.slice(0, 5)) ? sourceOfUrl(data) : { source: { type: 'base64', data } as const }),
        }
      const url = takeString(part, 'file_url')
      if (url !== undefined) return { type: 'media', kind: 'document', source: { type: 'url', url } }
      const id = takeString(part, 'file_id')
      return id === undefined ? undefined : { type: 'media', kind: 'document', source: stored(id) }
    }
    case 'input_audio': {
      if (!isObject(part.input_audio) || typeof part.input_audio.data !== 'string') return undefined
      const inner = unread(part.input_audio)
      const data = takeString(inner, 'data') ?? ''
      const format = takeString(inner, 'format')
      const rest = leftover(inner)
      if (rest !== undefined) part.input_audio = rest
      else drop(part, 'input_audio')
      const media: MediaPart = { type: 'media', kind: 'audio', source: { type: 'base64', data } }
      if (format !== undefined) media.mediaType = audioMediaType(format)
      return media
    }
    default:
      return undefined
  }
}

/** Encodes a media part as input content. Returns undefined, and reports it, if the format has no form for it. */
export function encodeMedia(
  part: MediaPart,
  within: 'message' | 'result',
  context: CodecContext,
): JsonObject | undefined {
  const { type: _, kind, source, mediaType, name, detail, cache: _cache, extra, at = '', ...rest } = part
  rest satisfies Nothing
  const { report } = context
  const refuse = (what: string): undefined => {
    // Without the media that a message asks about, the model would get a different request.
    if (within === 'message')
      report.add(loss(at, `${what} cannot be sent in a responses message`, 'unsupported', 'fatal'))
    else report.add(loss(at, `${what} cannot be sent in the result of a tool call; it was left out`))
    return undefined
  }
  const own = ownExtra(extra, 'responses', at, report)
  reportUrlMediaType(part, report)
  if (source.type === 'file' && source.seal.issuer !== 'responses') return refuse('A file that another provider stores')
  if (source.type === 'text') {
    report.add(loss(at, 'a text document is sent as plain text', 'approximated', 'note'))
    return { ...own, type: 'input_text', text: name === undefined ? source.text : `${name}\n\n${source.text}` }
  }
  const named = name === undefined ? {} : { filename: name }
  const detailed = detail === undefined ? {} : { detail }
  switch (kind) {
    case 'image': {
      if (name !== undefined) report.add(loss(at, 'an image has no name in responses', 'unsupported', 'note'))
      const out: JsonObject = { ...own, type: 'input_image', ...detailed }
      if (source.type === 'file') return { ...out, file_id: source.seal.data }
      if (source.type === 'base64' && mediaType === undefined)
        report.add(loss(at, 'the image has no media type; image/png was assumed', 'approximated'))
      return { ...out, image_url: source.type === 'url' ? source.url : dataUrl(source.data, mediaType ?? 'image/png') }
    }
    case 'document': {
      const out: JsonObject = { ...own, type: 'input_file', ...named, ...detailed }
      if (source.type === 'file') return { ...out, file_id: source.seal.data }
      if (source.type === 'url') return { ...out, file_url: source.url }
      if (name === undefined) {
        // Servers reject data without a name.
        out.filename = nameOf(mediaType)
        report.add(
          loss(at, `a file requires a name; Modelgate set it to '${nameOf(mediaType)}'`, 'approximated', 'note'),
        )
      }
      return { ...out, file_data: mediaType === undefined ? source.data : dataUrl(source.data, mediaType) }
    }
    case 'audio': {
      if (source.type !== 'base64' || within === 'result')
        return refuse(source.type === 'url' ? 'Audio by URL' : 'Audio')
      const inner: JsonObject = { ...(isObject(own?.input_audio) ? own.input_audio : undefined), data: source.data }
      if (mediaType !== undefined) inner.format = audioFormat(mediaType)
      return { ...own, type: 'input_audio', input_audio: inner }
    }
    case 'video':
      return refuse('Video')
    default:
      return kind satisfies never
  }
}

const dataUrl = (data: string, mediaType: string): string => `data:${mediaType};base64,${data}`

const nameOf = (mediaType: string | undefined): string =>
  mediaType === 'application/pdf' ? 'document.pdf' : mediaType?.startsWith('text/') ? 'document.txt' : 'document'
