import type { Meaning } from './field-arrival.ts'

/** Formats of media that Bedrock names, with their media types. */
const mediaFormats: readonly (readonly [kind: string, type: string, ...formats: string[]])[] = [
  ['image', 'image/gif', 'gif'],
  ['image', 'image/jpeg', 'jpeg'],
  ['image', 'image/png', 'png'],
  ['image', 'image/webp', 'webp'],
  ['document', 'application/pdf', 'pdf'],
  ['document', 'text/csv', 'csv'],
  ['document', 'text/html', 'html'],
  ['document', 'text/plain', 'txt'],
  ['document', 'text/markdown', 'md'],
  ['document', 'application/msword', 'doc'],
  ['document', 'application/vnd.openxmlformats-officedocument.wordprocessingml.document', 'docx'],
  ['document', 'application/vnd.ms-excel', 'xls'],
  ['document', 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet', 'xlsx'],
  ['video', 'video/mp4', 'mp4'],
  ['video', 'video/quicktime', 'mov'],
  ['video', 'video/x-matroska', 'mkv'],
  ['video', 'video/webm', 'webm'],
  ['video', 'video/x-flv', 'flv'],
  ['video', 'video/mpeg', 'mpeg', 'mpg'],
  ['video', 'video/x-ms-wmv', 'wmv'],
  ['video', 'video/3gpp', 'three_gp'],
  ['audio', 'audio/mpeg', 'mp3', 'mpeg', 'mpga'],
  ['audio', 'audio/wav', 'wav'],
  ['audio', 'audio/aac', 'aac'],
  ['audio', 'audio/x-aac', 'x-aac'],
  ['audio', 'audio/flac', 'flac'],
  ['audio', 'audio/mp4', 'mp4'],
  ['audio', 'audio/x-m4a', 'm4a'],
  ['audio', 'audio/ogg', 'ogg'],
  ['audio', 'audio/opus', 'opus'],
  ['audio', 'audio/webm', 'webm'],
  ['audio', 'audio/pcm', 'pcm'],
  ['audio', 'audio/x-matroska', 'mka', 'mkv'],
]

/** A format of Bedrock means the media type. @param kinds of media */
export const formatMeanings = (...kinds: readonly string[]): Meaning[] =>
  mediaFormats
    .filter(([kind]) => kinds.includes(kind))
    .flatMap(([kind, type, ...formats]) =>
      formats.map(
        (value): Meaning => ({
          at: new RegExp(`/${kind}/format$`),
          value,
          as: [type, type.slice(type.indexOf('/') + 1), ...formats],
        }),
      ),
    )

/** A media type means Bedrock's format. @param types pattern of the types */
export const typeMeanings = (types: RegExp): Meaning[] =>
  mediaFormats
    .filter(([, type]) => types.test(type))
    .map(([, value, format = '']): Meaning => ({ at: /(media_type|mimeType)$/, value, as: [format] }))
