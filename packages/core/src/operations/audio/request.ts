import { isObject, type JsonObject } from '../../base/json/json.ts'
import type { Usage } from '../../formats/ir.ts'

export interface TranscriptionRequest {
  /** Target language: the spoken one (`transcribe`) or English (`translate`). */
  readonly task: 'transcribe' | 'translate'
  readonly audio: { readonly data: string; readonly mediaType: string }
  /** Response format. `json` if the client set none. */
  readonly format: string
  /** All other fields, as the client wrote them. */
  readonly settings: JsonObject
}
export interface TranscriptionResponse {
  readonly text: string
  readonly usage?: Usage
}

export interface SpeechRequest {
  readonly input: string
  /** Name of a voice. Undefined for a custom voice, which only its provider knows. */
  readonly voice: string | undefined
  /** Undefined if the client left the format to the server. */
  readonly format: string | undefined
  readonly instructions: string | undefined
  readonly settings: JsonObject
}
export interface SpeechResponse {
  /** Signed 16-bit samples of one channel, little-endian. */
  readonly samples: Uint8Array
  /** Samples per second. */
  readonly rate: number
  readonly usage?: Usage
}

const byExtension: { readonly [extension: string]: string } = {
  aac: 'audio/aac',
  aiff: 'audio/aiff',
  flac: 'audio/flac',
  m4a: 'audio/mp4',
  mp3: 'audio/mpeg',
  mp4: 'audio/mp4',
  mpeg: 'audio/mpeg',
  mpga: 'audio/mpeg',
  oga: 'audio/ogg',
  ogg: 'audio/ogg',
  opus: 'audio/ogg',
  wav: 'audio/wav',
  webm: 'audio/webm',
}

/** Returns an upload's media type: the client's, or the one of the file name's extension if the client sent no usable type. */
export function mediaTypeOf(file: unknown): string {
  const { media_type: declared, filename } = isObject(file as never) ? (file as JsonObject) : {}
  const type = typeof declared === 'string' ? (declared.split(';', 1)[0] ?? '').trim().toLowerCase() : ''
  if (type.startsWith('audio/') || type.startsWith('video/')) return type
  const extension = typeof filename === 'string' ? filename.slice(filename.lastIndexOf('.') + 1).toLowerCase() : ''
  return (Object.hasOwn(byExtension, extension) ? byExtension[extension] : undefined) ?? 'audio/wav'
}
