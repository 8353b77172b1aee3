import { isObject } from '../../base/json/object.ts'
import type { JsonObject } from '../../base/json/types.ts'
import type { Usage } from '../../formats/ir.ts'

export interface TranscriptionRequest {
  /** Into the language that is spoken, or into English. */
  readonly task: 'transcribe' | 'translate'
  readonly audio: { readonly data: string; readonly mediaType: string }
  /** `json` where the client named none. */
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
  /** A name; anything else is a voice that only its provider knows. */
  readonly voice: string | undefined
  /** Undefined where the client left it to the server. */
  readonly format: string | undefined
  readonly instructions: string | undefined
  readonly settings: JsonObject
}
export interface SpeechResponse {
  /** Signed 16-bit samples of one channel, little-endian. */
  readonly samples: Uint8Array
  readonly rate: number
  readonly usage?: Usage
}

const byEnding: { readonly [ending: string]: string } = {
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

/** An upload's media type: as the client said, or by the file's name where it said nothing of use. */
export function mediaTypeOf(file: unknown): string {
  const { media_type: said, filename } = isObject(file as never) ? (file as JsonObject) : {}
  const type = typeof said === 'string' ? (said.split(';', 1)[0] ?? '').trim().toLowerCase() : ''
  if (type.startsWith('audio/') || type.startsWith('video/')) return type
  const ending = typeof filename === 'string' ? filename.slice(filename.lastIndexOf('.') + 1).toLowerCase() : ''
  return (Object.hasOwn(byEnding, ending) ? byEnding[ending] : undefined) ?? 'audio/wav'
}
