import { toBase64 } from '../../base/bytes.ts'
import type { JsonObject } from '../../base/json/json.ts'
import type { CodecContext } from '../codec.ts'
import type { MediaPart, Nothing } from '../ir.ts'
import { createUniqueNames } from '../shared/names.ts'
import { loss, ownExtra } from '../shared/report.ts'

/** Bedrock's format names by media type. */
const formatsByMediaType: Readonly<Record<MediaPart['kind'], Readonly<Record<string, string>>>> = {
  image: {
    'image/png': 'png',
    'image/jpeg': 'jpeg',
    'image/jpg': 'jpeg',
    'image/pjpeg': 'jpeg',
    'image/gif': 'gif',
    'image/webp': 'webp',
  },
  document: {
    'application/pdf': 'pdf',
    'text/csv': 'csv',
    'text/html': 'html',
    'text/plain': 'txt',
    'text/markdown': 'md',
    'text/x-markdown': 'md',
    'application/msword': 'doc',
    'application/vnd.openxmlformats-officedocument.wordprocessingml.document': 'docx',
    'application/vnd.ms-excel': 'xls',
    'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet': 'xlsx',
  },
  video: {
    'video/mp4': 'mp4',
    'video/quicktime': 'mov',
    'video/x-matroska': 'mkv',
    'video/webm': 'webm',
    'video/x-flv': 'flv',
    'video/mpeg': 'mpeg',
    'video/x-ms-wmv': 'wmv',
    'video/3gpp': 'three_gp',
  },
  audio: {
    'audio/mpeg': 'mp3',
    'audio/mp3': 'mp3',
    'audio/wav': 'wav',
    'audio/x-wav': 'wav',
    'audio/wave': 'wav',
    'audio/aac': 'aac',
    'audio/x-aac': 'x-aac',
    'audio/flac': 'flac',
    'audio/x-flac': 'flac',
    'audio/mp4': 'mp4',
    'audio/x-m4a': 'm4a',
    'audio/ogg': 'ogg',
    'audio/opus': 'opus',
    'audio/webm': 'webm',
    'audio/pcm': 'pcm',
  },
}

/** Returns the media type of one of Bedrock's format names. */
export function mediaTypeOf(kind: MediaPart['kind'], format: string): string | undefined {
  return Object.entries(formatsByMediaType[kind]).find(([, name]) => name === format)?.[0]
}

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

/** Encodes a media part, or reports it and returns undefined if Converse cannot carry it. */
export function encodeMedia(
  part: MediaPart,
  role: MessageRole,
  names: DocumentNames,
  context: CodecContext,
): JsonObject | undefined {
  const { type: _, kind, source, mediaType, name, detail, cache: _cache, extra, at = '', ...rest } = part
  rest satisfies Nothing
  const { report } = context
  const reportUnsupported = (what: string): undefined => {
    report.add(loss(at, `${what} cannot be sent to Bedrock`, 'unsupported', role === 'user' ? 'fatal' : 'warn'))
  }
  if (role === 'assistant') return reportUnsupported(`${kind} of an earlier response`)
  const extraFields = ownExtra(extra, 'converse', at, report)
  if (detail !== undefined) report.add(loss(at, 'Bedrock has no `detail` for images', 'unsupported', 'note'))

  let type = mediaType?.replace(/;.*$/s, '').trim().toLowerCase()
  let encodedSource: JsonObject
  switch (source.type) {
    case 'file':
      return reportUnsupported('a file that a provider stores')
    case 'url':
      if (!source.url.startsWith('s3://')) return reportUnsupported(`${withArticle(kind)} by a URL that is not in S3`)
      encodedSource = { s3Location: { uri: source.url } }
      type ??= typeOfExtension(kind, source.url)
      break
    case 'text':
      encodedSource = { bytes: toBase64(new TextEncoder().encode(source.text)) }
      type ??= 'text/plain'
      break
    case 'base64':
      encodedSource = { bytes: source.data }
      if (type === undefined) {
        type = base64Prefixes.find(([start]) => source.data.startsWith(start))?.[1]
        report.add(loss(at, `the media type is missing; detected: ${type ?? 'none'}`, 'approximated', 'note'))
      }
      break
    default:
      return source satisfies never
  }
  const format = formatOf(kind, type)
  if (format === undefined) return reportUnsupported(`${withArticle(kind)} of the type ${type ?? 'unknown'}`)
  const block: JsonObject = { ...extraFields, format, source: encodedSource }
  if (kind === 'document') block.name = names.next(name, at, context)
  else if (name !== undefined)
    report.add(loss(at, `${withArticle(kind)} has no name at Bedrock`, 'unsupported', 'note'))
  return { [kind]: block }
}

const withArticle = (kind: MediaPart['kind']): string =>
  kind === 'image' || kind === 'audio' ? `an ${kind}` : `a ${kind}`

/** Returns the format name of a media type. Any type of text is sent as `txt`. */
function formatOf(kind: MediaPart['kind'], type: string | undefined): string | undefined {
  if (type === undefined) return undefined
  const formats = formatsByMediaType[kind]
  if (Object.hasOwn(formats, type)) return formats[type]
  return kind === 'document' && isText(type) ? 'txt' : undefined
}
const isText = (type: string): boolean => type.startsWith('text/') || type === 'application/json'

function typeOfExtension(kind: MediaPart['kind'], url: string): string | undefined {
  const ending = /\.([a-z0-9]+)$/i.exec(url)?.[1]?.toLowerCase()
  return ending === undefined ? undefined : mediaTypeOf(kind, ending === 'jpg' ? 'jpeg' : ending)
}
