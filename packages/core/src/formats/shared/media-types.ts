import type { MediaPart, Report } from '../ir.ts'
import { loss } from './report.ts'

const types: Readonly<Record<string, string>> = {
  png: 'image/png',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  webp: 'image/webp',
  gif: 'image/gif',
  heic: 'image/heic',
  mp3: 'audio/mpeg',
  wav: 'audio/wav',
  ogg: 'audio/ogg',
  flac: 'audio/flac',
  mp4: 'video/mp4',
  mov: 'video/quicktime',
  webm: 'video/webm',
  pdf: 'application/pdf',
  txt: 'text/plain',
}

/** Returns the media type of a URL's file extension. */
export function mediaTypeOfUrl(uri: string): string | undefined {
  const ending = /\.([a-z0-9]+)(?:[?#]|$)/i.exec(uri)?.[1]?.toLowerCase()
  return ending === undefined || !Object.hasOwn(types, ending) ? undefined : types[ending]
}

/** Reports the media type of a file by URL for formats without a field for it, unless the file extension implies it. */
export function reportUrlMediaType({ source, mediaType, at = '' }: MediaPart, report: Report): void {
  if (source.type !== 'url' || mediaType === undefined || mediaTypeOfUrl(source.url) === mediaType) return
  report.add(loss(at, `the media type '${mediaType}' of a file URL is not sent`, 'unsupported', 'note'))
}
