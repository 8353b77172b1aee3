import { toBase64 } from '../../base/bytes.ts'
import { isObject, type JsonObject } from '../../base/json/json.ts'
import type { CodecContext } from '../codec.ts'
import type { MediaPart, Nothing } from '../ir.ts'
import { createUniqueNames } from '../shared/names.ts'
import { loss, ownExtra } from '../shared/report.ts'
import { formatOf, mediaTypeOf } from './media-formats.ts'

/** Prefixes of base64 data and the media types they reveal. */
const base64Prefixes: readonly (readonly [start: string, mediaType: string])[] = [
  ['iVBORw', 'image/png'],
  ['/9j/', 'image/jpeg'],
  ['R0lGOD', 'image/gif'],
  ['UklGR', 'image/webp'],
  ['JVBERi', 'application/pdf'],
]

/** Names the documents of a request. Bedrock requires a unique name for each. */
export interface DocumentNames {
  next(given: string | undefined, at: string, context: CodecContext): string
}

const longestName = 200

/** Creates the document names of one request. */
export function createDocumentNames(): DocumentNames {
  let free: ((wanted: string) => string) | undefined
  return {
    next(given, at, { report }) {
      // Bedrock allows letters, digits, single blanks, hyphens, parentheses and square brackets.
      const cleaned = (given ?? '')
        .replace(/[^A-Za-z0-9()[\] -]+/g, ' ')
        .replace(/ +/g, ' ')
        .trim()
        .slice(0, longestName - 5)
      free ??= createUniqueNames(' ', [])
      const name = free(cleaned === '' ? 'Document' : cleaned)
      if (name !== given)
        report.add(
          loss(
            at,
            given === undefined
              ? `Bedrock requires a name for a document: '${name}' is sent`
              : `its name is sent as '${name}'`,
            'approximated',
            'note',
          ),
        )
      return name
    },
  }
}

/** The role of the message. Media lost from a request changes the question; media lost from an earlier response is only forgotten. */
type MessageRole = 'user' | 'assistant'

/** Context for encoding the media of a request. */
export interface MediaContext extends CodecContext {
  readonly names: DocumentNames
  /** The client speaks this format itself: its values are sent unchanged. */
  readonly isOwn: boolean
}

/** Encodes a media part of a request, or reports it and returns undefined if Converse cannot carry it. */
export function encodeMedia(part: MediaPart, role: MessageRole, context: MediaContext): JsonObject | undefined {
  const { kind, source, name, detail, extra, at = '' } = part
  const { report, names, isOwn } = context
  const reportUnsupported = (what: string): undefined => {
    report.add(loss(at, `${what} cannot be sent to Bedrock`, 'unsupported', role === 'user' ? 'fatal' : 'warn'))
  }
  if (role === 'assistant' && !isOwn) return reportUnsupported(`${kind} of an earlier response`)
  const fields = ownExtra(extra, 'converse', at, report) ?? {}
  if (isObject(fields.searchResult) && source.type === 'text')
    return searchResult(fields.searchResult, source.text, name)
  if (detail !== undefined) report.add(loss(at, 'Bedrock has no `detail` for images', 'unsupported', 'note'))
  if (source.type === 'file') return reportUnsupported('a file that a provider stores')
  if (source.type === 'url' && !source.url.startsWith('s3://'))
    return reportUnsupported(`${withArticle(kind)} by a URL that is not in S3`)
  const block = mediaBlock(part, fields, context)
  if (typeof block === 'string') return reportUnsupported(block)
  if (kind === 'document') block.name = isOwn && name !== undefined ? name : names.next(name, at, context)
  else if (name !== undefined)
    report.add(loss(at, `${withArticle(kind)} has no name at Bedrock`, 'unsupported', 'note'))
  const { guardContent } = fields
  return isObject(guardContent) ? { guardContent: { [kind]: block } } : { [kind]: block }
}

/** Encodes a media part of a response for a client, or reports it and returns undefined. Streams have images only, so that whole responses have no others. */
export function encodeResponseMedia(part: MediaPart, context: CodecContext): JsonObject | undefined {
  const { kind, source, name, detail, extra, at = '' } = part
  const { report } = context
  const fields = ownExtra(extra, 'converse', at, report) ?? {}
  if (detail !== undefined) report.add(loss(at, 'Converse has no `detail` for images', 'unsupported', 'note'))
  const block =
    kind === 'image' && source.type === 'base64'
      ? mediaBlock(part, fields, { report, isOwn: false })
      : withArticle(kind)
  if (typeof block === 'string') {
    report.add(loss(at, `${block} cannot be part of a Converse response and is left out`))
    return undefined
  }
  if (name !== undefined) report.add(loss(at, 'an image has no name in Converse', 'unsupported', 'note'))
  return { image: block }
}

/** Returns the fields of a media block, without its name; a description of the part if Converse has no form for its type. */
function mediaBlock(
  {
    type: _,
    kind,
    source,
    mediaType,
    name: _name,
    detail: _detail,
    cache: _cache,
    extra: _extra,
    at = '',
    ...rest
  }: MediaPart,
  extraFields: JsonObject,
  { report, isOwn }: Pick<MediaContext, 'report' | 'isOwn'>,
): JsonObject | string {
  rest satisfies Nothing
  const nested = extraFields[kind] ?? (isObject(extraFields.guardContent) ? extraFields.guardContent[kind] : undefined)
  const { source: ownSource, ...own } = isObject(nested) ? nested : {}
  const sourceFields = isObject(ownSource) ? ownSource : {}
  let type = mediaType?.replace(/;.*$/s, '').trim().toLowerCase()
  let encoded: JsonObject
  switch (source.type) {
    case 'file':
      return 'a file that a provider stores'
    case 'url': {
      const { s3Location } = sourceFields
      encoded = { s3Location: { ...(isObject(s3Location) ? s3Location : {}), uri: source.url } }
      type ??= typeOfExtension(kind, source.url)
      break
    }
    case 'text':
      // Not all models accept text, but all accept it as a file.
      if (isOwn)
        encoded = sourceFields.content === undefined ? { text: source.text } : { content: sourceFields.content }
      else encoded = { bytes: toBase64(new TextEncoder().encode(source.text)) }
      if (!isOwn) type ??= 'text/plain'
      break
    case 'base64':
      encoded = { bytes: source.data }
      if (type === undefined && own.format === undefined && !isOwn) {
        type = base64Prefixes.find(([start]) => source.data.startsWith(start))?.[1]
        report.add(loss(at, `the media type is missing; detected: ${type ?? 'none'}`, 'approximated', 'note'))
      }
      break
    default:
      return source satisfies never
  }
  // A format name that the decoder did not know comes back unchanged.
  const format = own.format ?? formatOf(kind, type)
  if (isOwn && type === undefined && format === undefined) return { ...own, source: { ...sourceFields, ...encoded } }
  if (format === undefined) return `${withArticle(kind)} of the type ${type ?? 'unknown'}`
  return { ...own, format, source: { ...sourceFields, ...encoded } }
}

function searchResult(fields: JsonObject, text: string, title: string | undefined): JsonObject {
  return { searchResult: { content: [{ text }], ...(title === undefined ? {} : { title }), ...fields } }
}

const withArticle = (kind: MediaPart['kind']): string =>
  kind === 'image' || kind === 'audio' ? `an ${kind}` : `a ${kind}`

function typeOfExtension(kind: MediaPart['kind'], url: string): string | undefined {
  const ending = /\.([a-z0-9]+)$/i.exec(url)?.[1]?.toLowerCase()
  return ending === undefined ? undefined : mediaTypeOf(kind, ending === 'jpg' ? 'jpeg' : ending)
}
