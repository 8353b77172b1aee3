import { toBase64 } from '../../base/base64.ts'
import type { JsonObject } from '../../base/json/types.ts'
import type { CodecContext } from '../codec.ts'
import type { MediaPart, Nothing } from '../ir.ts'
import { createUniqueNames } from '../shared/names.ts'
import { loss, ownExtra } from '../shared/report.ts'

/** Bedrock's words for the types of what a message may hold. */
const formats: Readonly<Record<MediaPart['kind'], Readonly<Record<string, string>>>> = {
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

/** The media type of one of Bedrock's words, for what comes back. */
export function mediaTypeOf(kind: MediaPart['kind'], format: string): string | undefined {
  return Object.entries(formats[kind]).find(([, word]) => word === format)?.[0]
}

/** First characters of base64 data, by what they decode to. */
const magic: readonly (readonly [start: string, mediaType: string])[] = [
  ['iVBORw', 'image/png'],
  ['/9j/', 'image/jpeg'],
  ['R0lGOD', 'image/gif'],
  ['UklGR', 'image/webp'],
  ['JVBERi', 'application/pdf'],
]

/** Gives the documents of a request names: each needs one, and no two may have the same. */
export interface DocumentNames {
  next(given: string | undefined, at: string, context: CodecContext): string
}

const longestName = 200

export function createDocumentNames(): DocumentNames {
  let free: ((wanted: string) => string) | undefined
  return {
    next(given, at, { report }) {
      // Letters and digits, single blanks, hyphens, round and square brackets.
      const fit = (given ?? '')
        .replace(/[^A-Za-z0-9()[\] -]+/g, ' ')
        .replace(/ +/g, ' ')
        .trim()
        .slice(0, longestName - 5)
      free ??= createUniqueNames(' ', [])
      const name = free(fit === '' ? 'Document' : fit)
      if (name !== given)
        report.add(
          loss(
            at,
            given === undefined ? `a document needs a name: '${name}' was made up` : `its name is sent as '${name}'`,
            'approximated',
            'note',
          ),
        )
      return name
    },
  }
}

/** Where a part will stand: what cannot be sent of a question changes it; of an old answer, it is only forgotten. */
type Place = 'user' | 'assistant'

/** A media block; undefined (and reported) where Converse has none for it. */
export function encodeMedia(
  part: MediaPart,
  place: Place,
  names: DocumentNames,
  context: CodecContext,
): JsonObject | undefined {
  const { type: _, kind, source, mediaType, name, detail, cache: _cache, extra, at = '', ...rest } = part
  rest satisfies Nothing
  const { report } = context
  const refuse = (what: string): undefined => {
    report.add(loss(at, `${what} cannot be sent to Bedrock`, 'unsupported', place === 'user' ? 'fatal' : 'warn'))
  }
  if (place === 'assistant') return refuse(`${kind} of an earlier answer`)
  const own = ownExtra(extra, 'converse', at, report)
  if (detail !== undefined) report.add(loss(at, 'Bedrock has no `detail` for images', 'unsupported', 'note'))

  let type = mediaType?.replace(/;.*$/s, '').trim().toLowerCase()
  let wire: JsonObject
  switch (source.type) {
    case 'file':
      return refuse('a file that a provider stores')
    case 'url':
      if (!source.url.startsWith('s3://')) return refuse(`${anA(kind)} by an address that is not in S3`)
      wire = { s3Location: { uri: source.url } }
      type ??= typeOfEnding(kind, source.url)
      break
    case 'text':
      wire = { bytes: toBase64(new TextEncoder().encode(source.text)) }
      type ??= 'text/plain'
      break
    case 'base64':
      wire = { bytes: source.data }
      if (type === undefined) {
        type = magic.find(([start]) => source.data.startsWith(start))?.[1]
        report.add(loss(at, `it came without its media type; ${type ?? 'none'} was found`, 'approximated', 'note'))
      }
      break
    default:
      return source satisfies never
  }
  const word = formatOf(kind, type)
  if (word === undefined) return refuse(`${anA(kind)} of the type ${type ?? 'unknown'}`)
  const block: JsonObject = { ...own, format: word, source: wire }
  if (kind === 'document') block.name = names.next(name, at, context)
  else if (name !== undefined) report.add(loss(at, `${anA(kind)} has no name at Bedrock`, 'unsupported', 'note'))
  return { [kind]: block }
}

const anA = (kind: MediaPart['kind']): string => (kind === 'image' || kind === 'audio' ? `an ${kind}` : `a ${kind}`)

/** Text of whatever kind is text. */
const formatOf = (kind: MediaPart['kind'], type: string | undefined): string | undefined =>
  type === undefined ? undefined : (formats[kind][type] ?? (kind === 'document' && isText(type) ? 'txt' : undefined))
const isText = (type: string): boolean => type.startsWith('text/') || type === 'application/json'

function typeOfEnding(kind: MediaPart['kind'], url: string): string | undefined {
  const ending = /\.([a-z0-9]+)$/i.exec(url)?.[1]?.toLowerCase()
  return ending === undefined ? undefined : mediaTypeOf(kind, ending === 'jpg' ? 'jpeg' : ending)
}
