import type { MediaPart } from '../ir.ts'

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
    'audio/x-matroska': 'mka',
  },
}

/** Other format names that Bedrock accepts for the same media types. */
const otherNames: Readonly<Partial<Record<MediaPart['kind'], Readonly<Record<string, string>>>>> = {
  video: { mpg: 'video/mpeg' },
  audio: { mpeg: 'audio/mpeg', mpga: 'audio/mpeg', mkv: 'audio/x-matroska' },
}

/** Returns the media type of one of Bedrock's format names. */
export function mediaTypeOf(kind: MediaPart['kind'], format: string): string | undefined {
  const others = otherNames[kind]
  if (others !== undefined && Object.hasOwn(others, format)) return others[format]
  return Object.entries(formatsByMediaType[kind]).find(([, name]) => name === format)?.[0]
}

/** Returns the format name of a media type. Any type of text is sent as `txt`. */
export function formatOf(kind: MediaPart['kind'], type: string | undefined): string | undefined {
  if (type === undefined) return undefined
  const formats = formatsByMediaType[kind]
  if (Object.hasOwn(formats, type)) return formats[type]
  return kind === 'document' && isText(type) ? 'txt' : undefined
}
const isText = (type: string): boolean => type.startsWith('text/') || type === 'application/json'
