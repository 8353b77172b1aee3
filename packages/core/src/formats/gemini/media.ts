import { toBase64 } from '../../base/bytes.ts'
import { isObject, type JsonObject, pointer, put } from '../../base/json/json.ts'
import type { CodecContext } from '../codec.ts'
import type { MediaPart, Nothing, Source } from '../ir.ts'
import { drop, leftover, takeString, type Unread } from '../shared/json-fields.ts'
import { mediaTypeOfUrl } from '../shared/media-types.ts'
import { loss, ownExtra } from '../shared/report.ts'
import { copyInCamelCase } from './spelling.ts'

type Kind = MediaPart['kind']

function kindOf(mediaType: string | undefined, uri: string): Kind {
  const type = mediaType ?? mediaTypeOfUrl(uri)
  const main = type?.slice(0, type.indexOf('/'))
  if (main === 'image' || main === 'audio' || main === 'video') return main
  return type === undefined && /^https?:\/\/(www\.)?(youtube\.com|youtu\.be)\//.test(uri) ? 'video' : 'document'
}

/** URLs of files that Google stores, which no other provider can read. */
const storedFile = /^(gs:|files\/|https?:\/\/generativelanguage\.googleapis\.com\/)/
const sourceOfUri = (uri: string): Source =>
  /^https?:/.test(uri) && !storedFile.test(uri)
    ? { type: 'url', url: uri }
    : { type: 'file', seal: { issuer: 'gemini', data: uri } }

/** Converts to standard base64 with padding, which other formats require. Google also accepts URL-safe base64 without padding. */
function standardBase64(data: string): string {
  // A regular expression would take as long for an image as the rest of the decoding.
  const plain = data.includes('-') || data.includes('_') ? data.replaceAll('-', '+').replaceAll('_', '/') : data
  return plain.padEnd(Math.ceil(plain.length / 4) * 4, '=')
}

/**
 * Decodes `inlineData` or `fileData` of a part. Returns undefined if it has neither, or in an unknown shape. The remaining
 * `fields` belong to the part's `extra`.
 */
export function decodeMedia(fields: Unread, at: string): MediaPart | undefined {
  for (const key of ['inlineData', 'fileData'] as const) {
    const payload = fields[key]
    if (!isObject(payload)) continue
    const inner = copyInCamelCase(payload)
    const data = takeString(inner, key === 'inlineData' ? 'data' : 'fileUri')
    if (data === undefined) continue
    const mediaType = takeString(inner, 'mimeType')
    const inline = key === 'inlineData'
    const part: MediaPart = {
      type: 'media',
      kind: kindOf(mediaType, inline ? '' : data),
      source: inline ? { type: 'base64', data: standardBase64(data) } : sourceOfUri(data),
      at,
    }
    put(part, 'mediaType', mediaType)
    const rest = leftover(inner)
    if (rest === undefined) drop(fields, key)
    else fields[key] = rest
    return part
  }
  return undefined
}

const assumedTypes: Readonly<Record<Kind, string>> = {
  image: 'image/png',
  audio: 'audio/wav',
  video: 'video/mp4',
  document: 'application/pdf',
}

/**
 * Encodes a media part as `inlineData` or `fileData`. Returns undefined, and reports it, if the format has no form for it.
 * In a request that loss is fatal: the model would get a different request.
 */
export function encodeMedia(
  part: MediaPart,
  context: CodecContext,
  towards: 'client' | 'upstream',
): JsonObject | undefined {
  const { type: _, kind, source, mediaType, name, detail, cache: _cache, extra, at = '', ...rest } = part
  rest satisfies Nothing
  const { report } = context
  const severity = towards === 'upstream' ? 'fatal' : 'warn'
  const own = ownExtra(extra, 'gemini', at, report)
  const wrap = (key: 'inlineData' | 'fileData', payload: JsonObject): JsonObject => {
    const inner = own?.[key]
    return { ...own, [key]: isObject(inner) ? { ...inner, ...payload } : payload }
  }
  if (name !== undefined)
    report.add(loss(pointer(at, 'name'), 'a file has no name in generateContent', 'unsupported', 'note'))
  if (detail !== undefined)
    report.add(loss(at, 'the image `detail` cannot be set in generateContent', 'unsupported', 'note'))
  switch (source.type) {
    case 'base64': {
      if (mediaType === undefined)
        report.add(loss(at, `it has no media type; ${assumedTypes[kind]} was assumed`, 'approximated'))
      return wrap('inlineData', { mimeType: mediaType ?? assumedTypes[kind], data: source.data })
    }
    case 'text':
      return wrap('inlineData', { mimeType: 'text/plain', data: toBase64(new TextEncoder().encode(source.text)) })
    case 'url': {
      if (source.url.startsWith('data:') && source.url.includes(',')) {
        report.add(loss(at, 'a data URL of this kind cannot be sent; it was left out', 'unsupported', severity))
        return undefined
      }
      if (!storedFile.test(source.url) && kind !== 'video')
        report.add(loss(at, 'sent as a URL, which not every model fetches', 'approximated', 'note'))
      const payload: JsonObject = { fileUri: source.url }
      put(payload, 'mimeType', mediaType ?? mediaTypeOfUrl(source.url))
      return wrap('fileData', payload)
    }
    case 'file': {
      if (source.seal.issuer !== 'gemini') {
        report.add(
          loss(at, 'a file that another provider stores cannot be sent; it was left out', 'unsupported', severity),
        )
        return undefined
      }
      const payload: JsonObject = { fileUri: source.seal.data }
      put(payload, 'mimeType', mediaType)
      return wrap('fileData', payload)
    }
    default:
      return source satisfies never
  }
}
